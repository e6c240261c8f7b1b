"""What `experiments.cego_lessons` counts, beside tricks that are looked at plainly, card by card."""

from pathlib import Path

import pyspiel
import pytest

from cardtable.match import play_games
from cardtable.player import find_player
from experiments.cego.lessons import LESSONS, Deal, hand_rows, lead_rows, only_trick_rows, read_deal
from tests.commands import run


def random_deals(subgame: str, count: int) -> list[Deal]:
    game = pyspiel.load_game(f"python_cego(subgame={subgame})")
    games = play_games(game, [find_player("random", game)] * 4, count, seed=5)
    assert games.states is not None
    deals = [read_deal(game.rules, state) for state in games.states]
    assert [list(deal.returns) for deal in deals] == games.returns.tolist()
    return deals


def suit(card: int) -> int:
    return min(card // 8, 4)


@pytest.mark.parametrize("subgame", ["standard", "piccolo"])
def test_deals_are_read_back_card_by_card(subgame: str) -> None:
    for deal in random_deals(subgame, 20):
        hands = [{card for card in range(54) if hand >> card & 1} for hand in deal.hands]
        for first in range(0, len(deal.cards), 4):
            trick = deal.cards[first : first + 4]
            assert [card.place for card in trick] == list(range(len(trick)))
            best = -1
            for card in trick:
                hand = hands[card.seat]
                follow = {c for c in hand if suit(c) == suit(trick[0].card)} or {c for c in hand if suit(c) == 4}
                choices = hand if card.place == 0 else follow or hand
                assert {c for c in range(54) if card.choices >> c & 1} == choices
                assert {c for c in range(54) if card.hand >> c & 1} == hand
                assert card.winning == best
                hand.remove(card.card)
                before = trick[: card.place + 1]
                ranked = [c for c in before if suit(c.card) == 4] or [
                    c for c in before if suit(c.card) == suit(before[0].card)
                ]
                best = max(ranked, key=lambda c: c.card).seat
            if len(trick) == 4:
                assert deal.takers[first // 4] == best
        if subgame == "piccolo":
            assert deal.is_won == (deal.takers.count(0) == 1)
        else:
            assert deal.is_won == (deal.returns[0] >= 40)


def test_lessons_count_what_they_speak_of() -> None:
    deals = random_deals("ultimo", 60)
    assert sum(row["deals"] for row in hand_rows(deals)) == len(deals)
    mixed = [
        card
        for deal in deals
        for card in deal.cards
        if card.place == 0 and card.hand >= 1 << 32 and card.hand % (1 << 32)
    ]
    assert sum(row["leads"] for row in lead_rows(deals)) == len(mixed)
    shares = [float(row["deals"].split()[0]) for row in only_trick_rows(random_deals("piccolo", 60))]
    assert sum(shares) == pytest.approx(100, abs=3)


def test_the_command(tmp_path: Path) -> None:
    flags = ["--quick", "--players=random", f"--out={tmp_path / 'run'}"]
    done = run("experiments.cego_lessons", *flags)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "run" / "report.md").read_text()
    assert all(f"{subgame}: {title}" in report for subgame, own in LESSONS.items() for title in own)
    assert (tmp_path / "run" / "leads.png").stat().st_size > 10_000
    assert run("experiments.cego_lessons", "--subgames=bridge").returncode == 1
    assert run("experiments.cego_lessons", "--subgames=").returncode == 1
    assert "--only names ''" in run("experiments.cego_ablation", "--only=").stderr
