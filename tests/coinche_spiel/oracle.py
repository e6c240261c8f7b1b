"""Coinche once more, in plain Python, straight from the written rules and without a look at the kernel.

Cards are pairs (suit, rank) such as ("♠", "10"); calls are tuples such as ("bid", 80, "♠"), ("pass",), ("coinche",).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

SUITS = ["♠", "♥", "♣", "♦"]
RANKS = ["7", "8", "9", "J", "Q", "K", "10", "A"]
TRUMP_ORDER = ["7", "8", "Q", "K", "10", "A", "9", "J"]
POINTS = {"7": 0, "8": 0, "9": 0, "J": 2, "Q": 3, "K": 4, "10": 10, "A": 11}
TRUMP_POINTS = POINTS | {"J": 20, "9": 14}

Card = tuple[str, str]
Call = tuple[Any, ...]  # a word, and with a bid its value and suit
Play = tuple[int, Card]

DEFAULTS: dict[str, Any] = {
    "players": 4,
    "suits": 4,
    "ranks": "789JQKTA",
    "hand_size": 8,
    "min_bid": 80,
    "max_bid": 160,
    "capot_value": 250,
    "coinche": True,
    "surcoinche_factor": 4,
    "fall_points": 160,
    "coinched_fall": "fixed",
    "coinche_takes_over": False,
    "der": 10,
    "belote": False,
    "pisser": "free",
    "under_partner": "free",
    "reward": "mirror",
    "trick_reward": 0.0,
    "dealer": -1,
}


def action_of_card(card: Card) -> int:
    return SUITS.index(card[0]) * 8 + RANKS.index(card[1])


class OracleDeal:
    def __init__(self, hands: Sequence[Iterable[Card]], **parameters: Any) -> None:
        self.p = DEFAULTS | parameters
        self.n: int = self.p["players"]
        self.dealt = [list(hand) for hand in hands]
        self.hands = [list(hand) for hand in hands]
        dealer = self.p["dealer"] if self.p["dealer"] >= 0 else self.n - 1
        self.first = (dealer + 1) % self.n
        self.calls: list[tuple[int, Call]] = []
        self.tricks: list[list[Play]] = []  # finished
        self.trick: list[Play] = []
        self.leader = self.first
        self.trump: str | None = None

    # The auction.

    def contracts(self) -> list[tuple[int, Call]]:
        return [(seat, call) for seat, call in self.calls if call[0] == "bid"]

    def caller_of(self, word: str) -> int | None:
        return next((seat for seat, call in self.calls if call[0] == word), None)

    def rank_of_value(self, value: int | str) -> int:
        return 10_000 if isinstance(value, str) else value

    def auction_over(self) -> bool:
        words = [call[0] for _, call in self.calls]
        if "surcoinche" in words:
            return True
        if not self.contracts():
            return len(words) == self.n
        return words[-(self.n - 1) :] == ["pass"] * (self.n - 1)

    def void(self) -> bool:
        return self.auction_over() and not self.contracts()

    def over(self) -> bool:
        return self.void() or len(self.tricks) == self.p["hand_size"]

    def turn(self) -> int:
        if not self.auction_over():
            return (self.first + len(self.calls)) % self.n
        return (self.leader + len(self.trick)) % self.n

    def legal_calls(self) -> list[Call]:
        seat = self.turn()
        calls: list[Call] = [("pass",)]
        contracts = self.contracts()
        if self.caller_of("coinche") is None:
            values: list[int | str] = list(range(self.p["min_bid"], self.p["max_bid"] + 1, 10))
            if self.p["capot_value"]:
                values.append("capot")
            best = self.rank_of_value(contracts[-1][1][1]) if contracts else 0
            for value in values:
                if self.rank_of_value(value) > best:
                    calls += [("bid", value, suit) for suit in SUITS[: self.p["suits"]]]
            if contracts and self.p["coinche"] and (contracts[-1][0] - seat) % 2 == 1:
                calls.append(("coinche",))
        elif (contracts[-1][0] - seat) % 2 == 0:
            calls.append(("surcoinche",))
        return calls

    def action_of_call(self, call: Call) -> int:
        if call == ("pass",):
            return 32
        if call == ("coinche",):
            return 73
        if call == ("surcoinche",):
            return 74
        _, value, suit = call
        if value == "capot":
            return 32 + 37 + SUITS.index(suit)
        return 32 + 1 + 4 * ((value - self.p["min_bid"]) // 10) + SUITS.index(suit)

    # The play.

    def strength(self, card: Card) -> int:
        return TRUMP_ORDER.index(card[1]) if card[0] == self.trump else RANKS.index(card[1])

    def best(self) -> Play:
        """(seat, card) that holds the trick."""
        trumps = [play for play in self.trick if play[1][0] == self.trump]
        led = [play for play in self.trick if play[1][0] == self.trick[0][1][0]]
        return max(trumps or led, key=lambda play: self.strength(play[1]))

    def legal_cards(self) -> list[Card]:
        seat = self.turn()
        hand = self.hands[seat]
        if not self.trick:
            return hand
        led = self.trick[0][1][0]
        holder, best = self.best()
        trumps = [card for card in hand if card[0] == self.trump]
        if best[0] == self.trump:
            over = [card for card in trumps if self.strength(card) > self.strength(best)]
        else:
            over = trumps
        in_suit = [card for card in hand if card[0] == led]
        if in_suit and led != self.trump:
            return in_suit
        if led == self.trump:
            return over or in_suit or hand
        if not trumps:
            return hand
        partner_holds = (holder - seat) % 2 == 0
        ruffed = best[0] == self.trump
        if partner_holds and not ruffed:
            return hand
        if partner_holds:
            if self.p["under_partner"] == "no_under" and over:
                return [card for card in hand if card not in trumps or card in over]
            return hand
        if not ruffed:
            return trumps
        if over:
            return over
        return trumps if self.p["pisser"] == "forced" else hand

    # Both.

    def legal(self) -> dict[int, Any]:
        """{action: move}"""
        if self.over():
            return {}
        if self.auction_over():
            return {action_of_card(card): card for card in self.legal_cards()}
        return {self.action_of_call(call): call for call in self.legal_calls()}

    def apply(self, move: Any) -> None:
        seat = self.turn()
        if not self.auction_over():
            self.calls.append((seat, move))
            if self.auction_over() and self.contracts():
                self.trump = self.contracts()[-1][1][2]
            return
        self.hands[seat].remove(move)
        self.trick.append((seat, move))
        if len(self.trick) == self.n:
            self.leader = self.best()[0]
            self.tricks.append(self.trick)
            self.trick = []

    # The score.

    def winner_of(self, trick: list[Play]) -> int:
        trumps = [play for play in trick if play[1][0] == self.trump]
        led = [play for play in trick if play[1][0] == trick[0][1][0]]
        return max(trumps or led, key=lambda play: self.strength(play[1]))[0]

    def points_of(self, trick: list[Play]) -> int:
        return sum(TRUMP_POINTS[r] if s == self.trump else POINTS[r] for _, (s, r) in trick)

    def points(self) -> list[int]:
        totals = [0, 0]
        for number, trick in enumerate(self.tricks):
            der = self.p["der"] if number == self.p["hand_size"] - 1 else 0
            totals[self.winner_of(trick) % 2] += self.points_of(trick) + der
        return totals

    def attack(self) -> int:
        coincher = self.caller_of("coinche")
        if self.p["coinche_takes_over"] and coincher is not None:
            return coincher % 2
        return self.contracts()[-1][0] % 2

    def made(self) -> bool:
        attack = self.attack()
        value = self.contracts()[-1][1][1]
        if value == "capot":
            return all(self.winner_of(trick) % 2 == attack for trick in self.tricks)
        return self.points()[attack] + self.belote(attack) >= value

    def belote(self, team: int) -> int:
        pair = {(self.trump, "K"), (self.trump, "Q")}
        has_pair = any(pair <= set(self.dealt[seat]) for seat in range(team, self.n, 2))
        return 20 if self.p["belote"] and has_pair else 0

    def sheet_with_points(self, worth: int, m: int) -> tuple[int, int]:
        """(attack, defence) as people write it down who score card points beside the contract."""
        attack = self.attack()
        points, belotes = self.points(), [self.belote(0), self.belote(1)]
        swept = all(self.winner_of(trick) % 2 == attack for trick in self.tricks)
        if self.made() and m == 1:
            ours = worth + points[attack] + belotes[attack] + (90 if swept else 0)
            return ours, points[1 - attack] + belotes[1 - attack]
        everything = sum(points) + sum(belotes) + m * worth
        if self.made():
            return everything + (90 if swept else 0), 0
        return 0, everything

    def returns(self) -> list[float]:
        if not self.over() or self.void():
            return [0.0] * self.n
        value = self.contracts()[-1][1][1]
        is_capot = value == "capot"
        worth = self.p["capot_value"] if is_capot else value
        if self.caller_of("surcoinche") is not None:
            m = self.p["surcoinche_factor"]
        elif self.caller_of("coinche") is not None:
            m = 2
        else:
            m = 1
        fall = self.p["capot_value"] if is_capot else self.p["fall_points"]
        if m > 1 and self.p["coinched_fall"] == "value":
            fall = worth
        table = {
            ("classic", True): (m * worth, 0),
            ("classic", False): (0, m * fall),
            ("mirror", True): (m * worth, -m * worth),
            ("mirror", False): (-m * fall, m * fall),
            ("no_defense", True): (m * worth, -m * worth),
            ("no_defense", False): (-m * fall, 0),
            ("good", True): (m * worth, -m * worth),
            ("good", False): (-m * worth, m * fall),
        }
        if self.p["reward"] == "points":
            ours, theirs = self.sheet_with_points(worth, m)
            attack_score, defence_score = ours - theirs, theirs - ours
        else:
            attack_score, defence_score = table[self.p["reward"], self.made()]
        points = self.points()
        result = []
        for seat in range(self.n):
            team = seat % 2
            score = attack_score if team == self.attack() else defence_score
            result.append(score + self.p["trick_reward"] * (points[team] - points[1 - team]))
        return result
