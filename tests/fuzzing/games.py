"""Every game beside the plain rules that were written a second time: a random variant, and a random game of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cardtable import deck
from cardtable.randomness import generator
from cardtable.rules import CHANCE, TERMINAL, Rules
from cego_spiel.state import SUBGAMES
from coinche_spiel.match import DEALS_PLAYED, SCORE
from tests.cego_spiel import oracle as cego_oracle
from tests.coinche_spiel.oracle import RANKS, SUITS, OracleDeal
from tests.gongzhu_spiel import oracle as gongzhu_oracle
from tests.kuhn_collab.test_rules import LETTERS, hand_strength, plain_betting
from tests.toepen_spiel import oracle as toepen_oracle

Draw = random.Random


class Table:
    """A position of the compiled rules."""

    def __init__(self, rules: Rules, draw: Draw) -> None:
        self.rules = rules
        self.kernel = rules.kernel
        self.array = rules.new_state()
        self._out = np.empty(max(rules.num_distinct_actions, rules.max_chance_outcomes), np.int64)
        self._chances = np.empty(rules.max_chance_outcomes)
        self._returns = np.empty(rules.num_players)
        self.kernel.deal(self.array, generator(draw.getrandbits(32)))

    def player(self) -> int:
        return int(self.kernel.current_player(self.array))

    def legal(self) -> list[int]:
        return self._out[: self.kernel.legal_actions(self.array, self._out)].tolist()

    def chances(self) -> dict[int, float]:
        n = self.kernel.chance_outcomes(self.array, self._out, self._chances)
        return dict(zip(self._out[:n].tolist(), self._chances[:n].tolist(), strict=True))

    def apply(self, action: int) -> None:
        self.kernel.apply_action(self.array, action)

    def returns(self) -> list[float]:
        self.kernel.returns(self.array, self._returns)
        return self._returns.tolist()

    def hand(self, seat: int) -> list[int]:
        """The cards that were dealt to a seat."""
        cards = int(self.array[deck.DEALT + seat])
        return [card for card in range(cards.bit_length()) if cards >> card & 1]

    def require_end(self, expected: list[float]) -> None:
        assert self.player() == TERMINAL
        assert np.allclose(self.returns(), expected), (self.returns(), expected)
        assert self.rules.min_utility - 1e-9 <= min(expected)
        assert max(expected) <= self.rules.max_utility + 1e-9


def close(found: list[float], expected: list[float]) -> bool:
    return len(found) == len(expected) and bool(np.allclose(found, expected))


# ------------------------------------------------------------------------------------------------ the games


def toepen_variant(draw: Draw) -> dict[str, Any]:
    return {
        "suits": draw.randint(0, 5),
        "ranks": draw.randint(0, 9),
        "hand_size": draw.randint(0, 7),
        "betting": draw.random() < 0.7,
        "follow_suit": draw.random() < 0.7,
    }


WORDS = ("check", "bet", "call", "fold")


def toepen_options(table: Table, events: tuple, variant: dict[str, Any]) -> toepen_oracle.Turn | toepen_oracle.End:
    ranks = variant["ranks"]
    first, second = (frozenset(divmod(card, ranks) for card in table.hand(seat)) for seat in (0, 1))
    return toepen_oracle.look((first, second), events, variant["betting"], variant["follow_suit"])


def toepen_ids(options: list, variant: dict[str, Any]) -> dict[int, Any]:
    cards, ranks = variant["suits"] * variant["ranks"], variant["ranks"]
    return {cards + WORDS.index(o) if isinstance(o, str) else o[0] * ranks + o[1]: o for o in options}


def play_toepen(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    table, events = Table(rules, draw), ()  # type: tuple[Table, tuple]
    while isinstance(here := toepen_options(table, events, variant), toepen_oracle.Turn):
        options = toepen_ids(here.options, variant)
        assert (table.player(), table.legal()) == (here.player, sorted(options))
        action = draw.choice(sorted(options))
        table.apply(action)
        events = (*events, options[action])
    table.require_end([here.payoff_of_first_player, -here.payoff_of_first_player])
    return len(events)


def kuhn_variant(draw: Draw) -> dict[str, Any]:
    return {"fold_topup": draw.random() < 0.5}


def kuhn_returns(letters: str, cards: list[int], fold_topup: bool) -> list[float]:
    """What the pot is and who gets it, from the words of the rules."""
    paid, level = [1.0] * 4, 1.0
    for number, letter in enumerate(letters):
        level += letter in "br"
        if letter in "brc":
            paid[number % 4] = level
    if letters[-1] == "f":
        losers = ((len(letters) - 1) % 4) % 2
        lost = sum(paid[seat] for seat in range(4) if seat % 2 == losers)
        shares = [lost / 2 if fold_topup else sum(paid) / 2 - paid[seat] for seat in range(4)]
        return [-paid[seat] if seat % 2 == losers else shares[seat] for seat in range(4)]
    first, second = hand_strength(cards[0], cards[2]), hand_strength(cards[1], cards[3])
    won = level * (int(first > second) - int(first < second))
    return [won, -won, won, -won]


def follow_kuhn(table: Table, draw: Draw, hear: Callable[[int, int], None] = lambda seat, number: None) -> str:
    """Plays to the end as the plain rules do and returns the letters; `hear` comes before decisions but the first."""
    names, letters = {number: letter for letter, number in LETTERS.items()}, ""
    while (here := plain_betting(letters)) is not None:
        if letters:
            hear(here[1], len(letters))
        assert (table.player(), table.legal()) == (here[1], sorted(LETTERS[letter] for letter in here[0]))
        action = draw.choice(table.legal())
        table.apply(action)
        letters += names[action]
    return letters


def kuhn_cards(table: Table) -> list[int]:
    return [table.hand(seat)[0] for seat in range(4)]


def play_kuhn(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    table = Table(rules, draw)
    letters = follow_kuhn(table, draw)
    table.require_end(kuhn_returns(letters, kuhn_cards(table), variant["fold_topup"]))
    return len(letters)


def gongzhu_variant(draw: Draw) -> dict[str, Any]:
    return {"suits": draw.randint(0, 5), "ranks": draw.randint(0, 14), "leader": draw.randint(-1, 4)}


def follow_plays(table: Table, look: Callable[[list], Any], cards: Sequence, draw: Draw) -> tuple[Any, int]:
    """Plays cards to the end beside `look`, the plain rules' view of those played; its last view, and how many."""
    plays: list = []
    while (position := look(plays)).player is not None:
        legal = table.legal()
        assert (table.player(), {cards[action] for action in legal}) == (position.player, position.legal)
        action = draw.choice(legal)
        table.apply(action)
        plays.append(cards[action])
    return position, len(plays)


def play_gongzhu(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    table = Table(rules, draw)
    cards = gongzhu_oracle.full_deck(variant["suits"], variant["ranks"])
    hands = [{cards[card] for card in table.hand(seat)} for seat in range(4)]
    position, plays = follow_plays(
        table, lambda played: gongzhu_oracle.look(hands, played, variant["leader"]), cards, draw
    )
    result = float(gongzhu_oracle.team_result(position, cards))
    table.require_end([result, -result, result, -result])
    return plays


def cego_variant(draw: Draw) -> dict[str, Any]:
    return {"subgame": draw.choice(SUBGAMES), "restrict": draw.random() < 0.5}


def play_cego(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    table, cards, subgame = Table(rules, draw), cego_oracle.DECK, variant["subgame"]
    piles = [{cards[card] for card in table.hand(pile)} for pile in range(5)]
    if variant["restrict"]:
        assert cego_oracle.is_valid_hand(subgame, piles[0])
    position, plays = follow_plays(
        table, lambda played: cego_oracle.look(subgame, piles[:4], piles[4], played), cards, draw
    )
    table.require_end(position.rewards)
    return plays


def coinche_variant(draw: Draw) -> dict[str, Any]:
    low = draw.randint(0, 90)
    high = low + 10 * draw.randint(0, 9)
    players = draw.choice((2, 4))
    return {
        "players": players,
        "suits": draw.randint(1, 4),
        "ranks": "".join(rank for rank in "789JQKTA" if draw.random() < 0.7),
        "hand_size": draw.randint(1, 8),
        "min_bid": low,
        "max_bid": high,
        "capot_value": draw.choice((0, high + draw.randint(0, 50))),
        "coinche": draw.random() < 0.7,
        "surcoinche_factor": draw.randint(2, 5),
        "fall_points": draw.randint(0, 200),
        "coinched_fall": draw.choice(("fixed", "value")),
        "coinche_takes_over": draw.random() < 0.5,
        "der": draw.choice((0, 10)),
        "belote": draw.random() < 0.3,
        "pisser": draw.choice(("free", "forced")),
        "under_partner": draw.choice(("free", "no_under")),
        "reward": draw.choice(("mirror", "classic", "good", "no_defense", "points")),
        "trick_reward": draw.choice((0.0, 0.25)),
        "dealer": draw.randint(-1, players),
    }


def choose_call(actions: list[int], draw: Draw) -> int:
    """Mostly modest auctions: a uniform choice among the calls jumps to capot nearly always."""
    if 32 in actions and draw.random() < 0.85:
        actions = [action for action in actions if action == 32 or action >= 73] + actions[1:6]
    return draw.choice(actions)


def coinche_hands(table: Table) -> list[list[tuple[str, str]]]:
    return [
        [(SUITS[card // 8], RANKS[card % 8]) for card in table.hand(seat)] for seat in range(table.rules.num_players)
    ]


def play_coinche_deal(table: Table, oracle: OracleDeal, draw: Draw) -> int:
    decisions = 0
    while not oracle.over():
        moves, actions = oracle.legal(), table.legal()
        assert (table.player(), actions) == (oracle.turn(), sorted(moves))
        action = choose_call(actions, draw)
        table.apply(action)
        oracle.apply(moves[action])
        decisions += 1
    return decisions


def play_coinche(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    table = Table(rules, draw)
    oracle = OracleDeal(coinche_hands(table), **variant)
    decisions = play_coinche_deal(table, oracle, draw)
    table.require_end(oracle.returns())
    return decisions


def match_variant(draw: Draw) -> dict[str, Any]:
    variant = {name: value for name, value in coinche_variant(draw).items() if name not in ("reward", "trick_reward")}
    return variant | {"target": draw.randint(1, 600), "max_deals": draw.randint(0, 12)}


def play_coinche_match(rules: Rules, variant: dict[str, Any], draw: Draw) -> int:
    table = Table(rules, draw)
    of_deal = {name: value for name, value in variant.items() if name not in ("target", "max_deals")}
    players, score, decisions = rules.num_players, [0.0, 0.0], 0
    dealer = variant["dealer"] if variant["dealer"] >= 0 else players - 1
    for number in range(1, variant["max_deals"] + 1):
        while table.player() == CHANCE:
            table.apply(draw.choice([*table.chances()]))
        oracle = OracleDeal(coinche_hands(table), **of_deal | {"dealer": dealer, "reward": "classic"})
        decisions += play_coinche_deal(table, oracle, draw)
        result = oracle.returns()
        score = [score[0] + result[0], score[1] + result[1]]
        assert table.array[SCORE : SCORE + 2].tolist() == score
        assert table.array[DEALS_PLAYED] == number
        dealer = (dealer + 1) % players
        if max(score) >= variant["target"]:
            break
    won = (int(score[0] > score[1]) - int(score[0] < score[1])) if max(score) >= variant["target"] else 0
    table.require_end([won, -won] * (players // 2))
    return decisions
