"""What lies on a table as one seat sees it: the structure from which a page or a terminal draws a game.

A game's wording may have `table(state, seat)`, which returns a dict of plain JSON values, made with `new_table` and
made only of what the seat knows: never a full state with parts taken out. Whoever deals the hidden cards again
(`resample`) must get the same dict, byte for byte; `tests/playroom/test_views.py` does so.

Cards and calls are named as `Wording.card` and `Wording.action` name them (`10♥`, `T21`, `pass`, `80♠`), everything
else by short English keys, which the faces translate.

    phase        "deal", "auction", "bet", "play", "over"
    turn         the seat to act, or None
    dealer       who dealt, where it matters
    hand         the seat's own cards, in the order a player would hold them
    seats        for each seat: `cards`, how many it holds; `tags`, what it is at this table ("declarer", "single");
                 `figures`, numbers such as {"tricks": 2}; `taken`, cards that count; `shown`, cards this seat may see
    teams        for each team: `seats` and `figures`
    trick        [seat, card] in the order they were played; `winning`, whose card wins so far
    last_trick   {"cards": [[seat, card], ...], "winner": seat}, or None
    calls        [seat, call] in order
    facts        [key, value] pairs that everybody knows: the contract, the stake, what wins
    piles        cards beside the table that this seat knows: {"legage": [...]}; or their number: {"blind": 10}
    trump        the suit sign of the trumps, or None
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from cardtable import tricks

Table = dict[str, Any]


def new_table(num_seats: int, phase: str, turn: int, teams: Sequence[Sequence[int]] = ()) -> Table:
    """An empty table; `turn` is negative when nobody acts."""
    return {
        "phase": phase,
        "turn": turn if turn >= 0 else None,
        "dealer": None,
        "hand": [],
        "seats": [{"cards": 0, "tags": [], "figures": {}, "taken": [], "shown": []} for _ in range(num_seats)],
        "teams": [{"seats": list(team), "figures": {}} for team in teams],
        "trick": [],
        "winning": None,
        "last_trick": None,
        "calls": [],
        "facts": [],
        "piles": {},
        "trump": None,
    }


def cards_of(cards: int) -> list[int]:
    """The ids of a card set, ascending."""
    return [card for card in range(int(cards).bit_length()) if int(cards) >> card & 1]


def held(cards: int, name: Callable[[int], str], strength: Callable[[int], Any]) -> list[str]:
    """The names of a card set in the order of `strength`, the strongest first."""
    return [name(card) for card in sorted(cards_of(cards), key=strength, reverse=True)]


def lay_tricks(table: Table, plays: Sequence[tuple[int, str]], winners: Sequence[int], per_trick: int) -> None:
    """Fills in the trick on the table and the one before, from all cards so far and the winners of full tricks."""
    full = len(winners)
    table["trick"] = [list(play) for play in plays[full * per_trick :]]
    if full:
        cards = plays[(full - 1) * per_trick : full * per_trick]
        table["last_trick"] = {"cards": [list(play) for play in cards], "winner": winners[-1]}


def lay_trick_block(table: Table, state: np.ndarray, block: int, name: Callable[[int], str]) -> None:
    """The same for games with the trick block of `cardtable.tricks`: the winner of a trick leads the next one."""
    count = int(state[block + tricks.CARDS_PLAYED])
    played = [tricks.played_card(state, block, index) for index in range(count)]
    plays = [(int(seat), name(int(card))) for seat, card in played]
    per_trick = tricks.NUM_SEATS
    winners = [seat for seat, _ in plays[per_trick::per_trick]]
    if count and count % per_trick == 0:
        winners.append(int(state[block + tricks.BEST_SEAT]))
    lay_tricks(table, plays, winners, per_trick)
    if count % per_trick:
        table["winning"] = int(state[block + tricks.BEST_SEAT])
    for seat in range(per_trick):
        table["seats"][seat]["cards"] = int(state[block + tricks.HAND + seat]).bit_count()


def tag(table: Table, seat: int, tags: Iterable[str]) -> None:
    table["seats"][seat]["tags"] += list(tags)
