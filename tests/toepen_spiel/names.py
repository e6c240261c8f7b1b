"""Suit renamings and abstractions of Toepen on the plain positions of the oracle: judges of the transforms."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from tests.toepen_spiel.oracle import Card, Turn, deals, information, look


def decisions(suits: int, ranks: int, hand_size: int, betting: bool, follow_suit: bool) -> Iterator[tuple]:
    """(hands, events, player, options) of every position with two or more options."""
    for hands in deals(suits, ranks, hand_size):
        stack: list[tuple] = [()]
        while stack:
            events = stack.pop()
            here = look(hands, events, betting, follow_suit)
            if isinstance(here, Turn):
                if len(here.options) > 1:
                    yield hands, events, here.player, here.options
                stack += [(*events, option) for option in here.options]


def rename(thing: Any, names: Sequence[int]) -> Any:
    """Cards (suit, rank) anywhere in a thing made of sets and tuples, with suits renamed."""
    if isinstance(thing, frozenset | set):
        return frozenset(rename(part, names) for part in thing)
    if isinstance(thing, tuple) and len(thing) == 2 and all(isinstance(part, int) for part in thing):
        return names[thing[0]], thing[1]
    if isinstance(thing, tuple | list):
        return tuple(rename(part, names) for part in thing)
    return thing


def in_order(thing: Any) -> tuple:
    """Something that can be compared: sets sorted, words and cards apart."""
    if isinstance(thing, frozenset):
        return tuple(sorted(thing))
    if isinstance(thing, tuple):
        return tuple(in_order(part) for part in thing)
    return (str(thing),)


def orbit(thing: Any, suits: int) -> tuple:
    """The same for things that differ in the names of suits only."""
    return min(in_order(rename(thing, names)) for names in itertools.permutations(range(suits)))


def orbit_of_decision(hands: tuple, events: tuple, player: int, suits: int) -> tuple:
    _, hand, history = information(hands, events, player)
    return player, orbit((hand, history), suits)


def thesis_names(hand: frozenset[Card], suits: int) -> list[int]:
    """The thesis's dictionary, from the cards sorted by rank and then suit."""
    seen = dict.fromkeys(suit for _, suit in sorted((rank, suit) for suit, rank in hand))
    order = [*seen, *(suit for suit in range(suits) if suit not in seen)]
    return [order.index(suit) for suit in range(suits)]


def bucket(hand: frozenset[Card], ranks: int) -> tuple:
    """Average rank, different suits, cards above the mean rank of the deck; 10 is the highest rank."""
    if not hand:
        return Fraction(0), 0, 0
    numbers = [10 - (ranks - 1) + rank for _, rank in hand]
    mean = Fraction(sum(10 - (ranks - 1) + rank for rank in range(ranks)), ranks)
    return Fraction(sum(numbers), len(hand)), len({suit for suit, _ in hand}), sum(number > mean for number in numbers)


def kept(hand: frozenset[Card], events: tuple, keep_hand: str, keep_history: str, ranks: int) -> tuple:
    """What is left of hand and history."""
    hands = {"exact": hand, "bucket": bucket(hand, ranks), "none": ()}
    cards = tuple(event for event in events if not isinstance(event, str))
    histories = {"exact": events, "ante": (cards, Counter(events)["call"]), "none": ()}
    return hands[keep_hand], histories[keep_history]


def places(hand: frozenset[Card], events: tuple, player: int, ranks: int) -> tuple:
    """Per suit that is held or was just led: who has which of the cards that are still there, from the lowest."""
    cards = [event for event in events if not isinstance(event, str)]
    leader, lead, out = 0, None, set()
    for card in cards:
        if lead is None:
            lead = card
            continue
        if card[0] != lead[0] and leader == player:
            out.add(lead[0])
        if card[0] == lead[0] and card[1] > lead[1]:
            leader = 1 - leader
        lead = None
    kept = []
    for suit in range(4):
        own = {rank for held, rank in hand if held == suit}
        led = lead[1] if lead is not None and lead[0] == suit else None
        if not own and not (led is not None and leader == player):
            continue
        there = own if suit in out else {rank for rank in range(ranks) if (suit, rank) not in cards}
        line = sorted(there | ({led} if led is not None else set()))
        kept.append((suit in out, *("own" if rank in own else "led" if rank == led else "" for rank in line)))
    return tuple(sorted(kept))


def stakes(events: tuple, player: int, options: list) -> tuple:
    """Cards played, what is to be decided, calls, and whether the player, the other or nobody was the last to bet."""
    played = sum(not isinstance(event, str) for event in events)
    bettor, turn, lead = None, 0, None
    for event in events:
        if event == "bet":
            bettor = turn
        elif not isinstance(event, str):
            if lead is None:
                lead, turn = event, 1 - turn
            else:
                turn = turn if event[0] == lead[0] and event[1] > lead[1] else 1 - turn
                lead = None
    asked = options[0] if isinstance(options[0], str) else "card"
    return played, asked, Counter(events)["call"], None if bettor is None else bettor == player
