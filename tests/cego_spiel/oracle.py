"""Cego again, as plainly as the rules read: the judge of the compiled rules.

Cards are (suit, strength): suits C S H D with strengths 0 to 7, and T with strengths 1 to 22 (22 is the Gstieß). A
position is the deal and the list of cards played.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

Card = tuple[str, int]

DECK: list[Card] = [(suit, strength) for suit in "CSHD" for strength in range(8)] + [("T", n) for n in range(1, 23)]
FACE_VALUES = {4: 1.5, 5: 2.5, 6: 3.5, 7: 4.5}


def value(card: Card) -> float:
    suit, strength = card
    if suit == "T":
        return 4.5 if strength in (1, 21, 22) else 0.5
    return FACE_VALUES.get(strength, 0.5)


def is_low(card: Card) -> bool:
    suit, strength = card
    return strength <= 6 if suit == "T" else strength <= 5


def is_valid_hand(subgame: str, hand: set[Card]) -> bool:
    """What the single player must be dealt for the sub-game to be announced."""
    trumps = [strength for suit, strength in hand if suit == "T"]
    top = sum(strength >= 17 for strength in trumps)
    plain_suits = {suit for suit, _ in hand if suit != "T"}
    if subgame == "standard":
        return sum(map(value, hand)) >= 15
    if subgame == "solo":
        return len(trumps) >= 8 or (len(trumps) == 7 and top >= 2 and len(plain_suits) <= 2)
    if subgame == "ultimo":
        return 1 in trumps and len(trumps) >= 8 and top >= 2
    if subgame == "bettel":
        return all(map(is_low, hand))
    if subgame == "piccolo":
        return sum(map(is_low, hand)) == 10
    return True


def exchange_order(card: Card) -> tuple:
    suit, strength = card
    return (suit == "T", strength, "CSHDT".index(suit))


def exchange(dealt: set[Card], blind: set[Card]) -> tuple[set[Card], set[Card]]:
    """(new hand, Legage) of Standard-Cego."""
    dealt_down = sorted(dealt, key=exchange_order, reverse=True)
    blind_down = sorted(blind, key=exchange_order, reverse=True)
    return set(dealt_down[:2] + blind_down[:9]), set(dealt_down[2:] + blind_down[9:])


class Position(NamedTuple):
    player: int | None  # None: the game is over
    legal: set[Card]
    holding: list[set[Card]]
    tricks: list[list[tuple[int, Card]]]  # complete ones: (seat, card) in order
    table: list[tuple[int, Card]]
    winners: list[int]
    points: list[float]  # of tricks
    rewards: list[float] | None


def winner_of(trick: list[tuple[int, Card]]) -> int:
    led = trick[0][1][0]
    return max(trick, key=lambda play: (play[1][0] == "T", play[1][0] == led, play[1][1]))[0]


def look(subgame: str, hands: list[set[Card]], blind: set[Card], plays: list[Card]) -> Position:
    holding = [set(hand) for hand in hands]
    legage: set[Card] = set()
    if subgame == "standard":
        holding[0], legage = exchange(hands[0], blind)
    bonus = sum(map(value, legage if subgame == "standard" else blind if subgame == "solo" else ()))
    tricks: list[list[tuple[int, Card]]] = []
    table: list[tuple[int, Card]] = []
    winners: list[int] = []
    points = [0.0] * 4
    player = 0
    single_wins = None
    for card in plays:
        holding[player].remove(card)
        table.append((player, card))
        player = (player + 1) % 4
        if subgame == "ultimo" and card == ("T", 1) and len(tricks) < 10:
            single_wins = False
        if len(table) == 4:
            player = winner_of(table)
            winners.append(player)
            points[player] += sum(value(card) for _, card in table)
            tricks.append(table)
            table = []
        if subgame == "bettel" and winners.count(0) == 1:
            single_wins = False
        if subgame == "piccolo" and winners.count(0) == 2:
            single_wins = False
    if len(tricks) == 11:
        if subgame in ("standard", "solo"):
            single_wins = points[0] + bonus >= 40
        elif subgame == "ultimo":
            last = tricks[-1]
            single_wins = ("T", 1) in [card for seat, card in last if seat == winners[-1]]
        elif subgame == "bettel":
            single_wins = 0 not in winners
        elif subgame == "piccolo":
            single_wins = winners.count(0) == 1
        else:
            loser = points.index(max(points))
            rewards = [0.0 if seat == loser else 1.0 for seat in range(4)]
            return Position(None, set(), holding, tricks, table, winners, points, rewards)
    if single_wins is not None:
        if subgame in ("standard", "solo"):
            rewards = [points[0] + bonus] + [79 - points[0] - bonus] * 3
        else:
            rewards = [1.0, 0.0, 0.0, 0.0] if single_wins else [0.0, 1.0, 1.0, 1.0]
        return Position(None, set(), holding, tricks, table, winners, points, rewards)

    hand = holding[player]
    legal = hand
    if table:
        follow = {card for card in hand if card[0] == table[0][1][0]}
        trump = {card for card in hand if card[0] == "T"}
        legal = follow or trump or hand
    return Position(player, legal, holding, tricks, table, winners, points, None)


def observation(position: Position, observer: int, subgame: str, legage: set[Card], leader: int) -> list[float]:
    """The 336 numbers of the paper's Table II, for a game that is not over."""

    def marks(cards: Collection[Card]) -> list[float]:
        return [float(card in cards) for card in DECK]

    played = {card for trick in [*position.tricks, position.table] for _, card in trick}
    gone = played | position.holding[observer] | (legage if observer == 0 else set())
    table = [card for _, card in position.table]
    if subgame == "raeuber":
        team = [seat == observer for seat in range(4)]
    else:
        team = [(seat == 0) == (observer == 0) for seat in range(4)]
    winning_seat = winner_of(position.table) if table else None
    winning = {card for seat, card in position.table if seat == winning_seat}
    numbers = marks(position.holding[observer]) + marks(set(DECK) - gone) + marks(winning)
    for place in range(3):
        numbers += marks(table[place : place + 1])
    numbers += map(float, team)
    numbers += [float(seat == winning_seat) for seat in range(4)]
    numbers += [float(seat == leader) for seat in range(4)]
    return numbers
