"""Two-player Toepen again, as slowly and plainly as the rules read: the judge of the compiled rules.

A position is the two dealt hands and the list of everything that was said and played; nothing is kept between calls.
Cards are (suit, rank) with rank 0 the weakest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

Card = tuple[int, int]


class Turn(NamedTuple):
    player: int
    options: list  # cards, or words: check bet call fold


class End(NamedTuple):
    payoff_of_first_player: int


def deals(suits: int, ranks: int, hand_size: int) -> Iterator[tuple[frozenset, frozenset]]:
    cards = list(itertools.product(range(suits), range(ranks)))
    for first in itertools.combinations(cards, hand_size):
        rest = [card for card in cards if card not in first]
        for second in itertools.combinations(rest, hand_size):
            yield frozenset(first), frozenset(second)


def look(hands: tuple[frozenset, frozenset], events: tuple, betting: bool, follow_suit: bool) -> Turn | End:
    """Who must do what now, after these events."""
    left = [set(hands[0]), set(hands[1])]
    ante, last_bettor, player = 1, None, 0
    lead = None
    spoken = None  # what the player about to play a card has said
    for event in events:
        if event in ("check", "bet"):
            spoken = event
            if event == "bet":
                last_bettor = player
        elif event == "call":
            ante += 1
            spoken = "called"
        elif event == "fold":
            return End(ante if player == 0 else -ante)
        else:
            left[player].remove(event)
            spoken = None
            if lead is None:
                lead, player = event, 1 - player
            else:
                follower_wins = event[0] == lead[0] and event[1] > lead[1]
                player, lead = (player if follower_wins else 1 - player), None
    if not left[0] and not left[1]:
        return End(ante if player == 0 else -ante)
    if spoken == "bet":
        return Turn(1 - player, ["call", "fold"])
    if betting and spoken is None and last_bettor != player:
        return Turn(player, ["check", "bet"])
    cards = left[player]
    if lead is not None and follow_suit:
        cards = {card for card in cards if card[0] == lead[0]} or cards
    return Turn(player, sorted(cards))


def information(hands: tuple[frozenset, frozenset], events: tuple, player: int) -> tuple:
    played = {event for event in events if not isinstance(event, str)}
    return player, hands[player] - played, events


class Size(NamedTuple):
    nodes: int  # player nodes, forced ones included
    choices: int  # player nodes with two or more actions
    terminals: int
    information_sets: tuple[int, int]  # with two or more actions, per player
    all_information_sets: int  # of both players, forced ones included


def size(suits: int, ranks: int, hand_size: int, betting: bool, follow_suit: bool) -> Size:
    nodes = choices = terminals = 0
    sets: tuple[set, set] = (set(), set())
    all_sets = set()
    for hands in deals(suits, ranks, hand_size):
        stack: list[tuple] = [()]
        while stack:
            events = stack.pop()
            here = look(hands, events, betting, follow_suit)
            if isinstance(here, End):
                terminals += 1
                continue
            nodes += 1
            all_sets.add(information(hands, events, here.player))
            if len(here.options) > 1:
                choices += 1
                sets[here.player].add(information(hands, events, here.player))
            stack += [(*events, option) for option in here.options]
    return Size(nodes, choices, terminals, (len(sets[0]), len(sets[1])), len(all_sets))
