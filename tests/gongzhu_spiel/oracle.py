"""Gongzhu again, as plainly as the rules read: the judge of the compiled rules.

Cards are (suit letter, rank name). A position is the four dealt hands and the list of cards played.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

SUITS = "SHDC"
RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
HEART_POINTS = {"A": -50, "K": -40, "Q": -30, "J": -20, "4": 0, "3": 0, "2": 0}  # 5 to 10: -10 each

Card = tuple[str, str]


class Position(NamedTuple):
    player: int | None  # None: the game is over
    legal: set[Card]
    taken: list[set[Card]]
    holding: list[set[Card]]
    table: list[Card]


def full_deck(suits: int = 4, ranks: int = 13) -> list[Card]:
    return [(suit, rank) for suit in SUITS[:suits] for rank in RANKS[13 - ranks :]]


def look(hands: list[set[Card]], plays: list[Card], leader: int = 0) -> Position:
    holding = [set(hand) for hand in hands]
    taken: list[set[Card]] = [set() for _ in range(4)]
    table: list[Card] = []
    player = leader
    for card in plays:
        holding[player].remove(card)
        table.append(card)
        player = (player + 1) % 4
        if len(table) == 4:
            followed = [RANKS.index(rank) if suit == table[0][0] else -1 for suit, rank in table]
            player = (player + followed.index(max(followed))) % 4  # after four cards it is the leader's turn again
            taken[player] |= set(table)
            table = []
    if not any(holding):
        return Position(None, set(), taken, holding, table)
    same_suit = {card for card in holding[player] if table and card[0] == table[0][0]}
    return Position(player, same_suit or holding[player], taken, holding, table)


def shown_voids(plays: list[Card], leader: int = 0) -> list[set[str]]:
    """The suits each seat has failed to follow."""
    voids: list[set[str]] = [set() for _ in range(4)]
    player = leader
    for start in range(0, len(plays), 4):
        trick = plays[start : start + 4]
        for place, card in enumerate(trick):
            if card[0] != trick[0][0]:
                voids[(player + place) % 4].add(trick[0][0])
        followed = [RANKS.index(rank) if suit == trick[0][0] else -1 for suit, rank in trick]
        player = (player + followed.index(max(followed))) % 4
    return voids


def score(taken: set[Card], deck: list[Card]) -> int:
    hearts = {card for card in taken if card[0] == "H"}
    points = sum(HEART_POINTS.get(rank, -10) for _, rank in hearts)
    if hearts and len(hearts) == sum(suit == "H" for suit, _ in deck):
        points = -points
    others = set(hearts)
    if ("S", "Q") in taken:
        points -= 100
        others.add(("S", "Q"))
    if ("D", "J") in taken:
        points += 100
        others.add(("D", "J"))
    if ("C", "10") in taken:
        points = 2 * points if others else 50
    return points


def team_result(position: Position, deck: list[Card]) -> int:
    scores = [score(taken, deck) for taken in position.taken]
    return scores[0] + scores[2] - scores[1] - scores[3]


def deals(suits: int, ranks: int) -> Iterator[list[set[Card]]]:
    """All ways to deal the whole deck to four hands of the same size."""

    def fill(cards: list[Card], hands: list[set[Card]]) -> Iterator[list[set[Card]]]:
        if len(hands) == 3:
            yield [*hands, set(cards)]
            return
        for hand in itertools.combinations(cards, suits * ranks // 4):
            yield from fill([card for card in cards if card not in hand], [*hands, set(hand)])

    return fill(full_deck(suits, ranks), [])


class Size(NamedTuple):
    nodes: int  # player nodes, forced ones included
    terminals: int
    information_sets: int  # of all players, forced ones included
    uniform_value: Fraction  # what the first team wins on average if everybody plays at random


def size(suits: int, ranks: int) -> Size:
    nodes = terminals = number_of_deals = 0
    information = set()
    total = Fraction()
    deck = full_deck(suits, ranks)
    for hands in deals(suits, ranks):
        number_of_deals += 1
        stack: list[tuple[tuple[Card, ...], int]] = [((), 1)]  # plays, and the number of choices there were to make
        while stack:
            plays, choices = stack.pop()
            position = look(hands, list(plays))
            if position.player is None:
                terminals += 1
                total += Fraction(team_result(position, deck), choices)
                continue
            nodes += 1
            information.add((position.player, frozenset(position.holding[position.player]), plays))
            stack += [((*plays, card), choices * len(position.legal)) for card in position.legal]
    return Size(nodes, terminals, len(information), total / number_of_deals)
