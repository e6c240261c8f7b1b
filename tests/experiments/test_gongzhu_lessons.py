"""What `experiments.gongzhu_lessons` counts, beside tricks that are looked at plainly, card by card."""

from pathlib import Path

import numpy as np
import pyspiel

from cardtable.match import play_games
from cardtable.player import find_player
from experiments.gongzhu.lessons import LESSONS, PIG, SHEEP, TRANSFORMER, Deal, read_deal
from tests.commands import run


def random_deals(count: int) -> tuple[list[Deal], np.ndarray]:
    game = pyspiel.load_game("python_gongzhu")
    games = play_games(game, [find_player("random", game)] * 4, count, seed=5)
    assert games.states is not None
    return [read_deal(game.rules, state) for state in games.states], games.returns


def test_deals_are_read_back_card_by_card() -> None:
    for deal, returns in zip(*random_deals(30), strict=True):
        assert sorted(card.card for card in deal.cards) == list(range(52))
        piles = [0] * 4
        for trick in range(13):
            cards = deal.cards[4 * trick : 4 * trick + 4]
            assert [card.place for card in cards] == [0, 1, 2, 3]
            led = cards[0].card // 13
            winner = max((card for card in cards if card.card // 13 == led), key=lambda card: card.card).seat
            piles[winner] |= sum(1 << card.card for card in cards)
            for card in cards:
                followers = [c for c in range(52) if card.hand >> c & 1 and c // 13 == led]
                choices = followers if followers and card.place else [c for c in range(52) if card.hand >> c & 1]
                assert card.free == (len(choices) > 1)
                assert deal.hands[card.seat] >> card.card & 1
        assert tuple(piles) == deal.taken
        assert deal.points(0) == returns[0] == -deal.points(1)
        assert deal.taken[deal.taker(PIG)] >> PIG & 1
        assert deal.hands[deal.holder(SHEEP)] >> SHEEP & 1


def test_what_the_transformer_doubled() -> None:
    """Counted in the plain values of the cards: pig -100, sheep 100, hearts by rank."""
    hearts = dict(zip(range(13, 26), (0, 0, 0, 10, 10, 10, 10, 10, 10, 20, 30, 40, 50), strict=True))
    values = {PIG: -100, SHEEP: 100, **{card: -cost for card, cost in hearts.items()}}
    seen = set()
    for deal in random_deals(200)[0]:
        pile = deal.taken[deal.taker(TRANSFORMER)]
        if all(pile >> card & 1 for card in hearts):
            continue
        expected = sum(value for card, value in values.items() if pile >> card & 1)
        assert deal.doubled == expected
        seen.add(np.sign(expected))
    assert seen == {-1, 0, 1}


def test_every_lesson_counts_every_deal_it_speaks_of() -> None:
    deals = random_deals(60)[0]
    for title in ("The pig, by the spades beside it", "The sheep, by the diamonds above it", "All hearts"):
        assert sum(row["deals"] for row in LESSONS[title](deals)) == len(deals)


def test_the_command(tmp_path: Path) -> None:
    done = run("experiments.gongzhu_lessons", "--quick", "--executor=serial", f"--out={tmp_path / 'run'}")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "run" / "report.md").read_text()
    assert all(title in report for title in LESSONS)
    assert (tmp_path / "run" / "fates.png").stat().st_size > 10_000
