"""Gongzhu again, as plainly as the rules read: the judge of the compiled rules.

Cards are (suit letter, rank name). A position is the four dealt hands and the list of cards played.
"""

from __future__ import annotations

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
