"""Double dummy: what each side takes when all cards are open and everybody plays perfectly.

`solve_value`, `solve_cards`, `solve_trumps` and `can_make` answer for one position; `solve_batch`, `solve_cards_batch`
and `can_make_batch` for many, on several threads. Answers are exact. A position is given by

* `hands`: four card sets (`coinche_spiel.cards`), the cards not yet played, by seat;
* `trump`, the trump suit, and `leader`, the seat that led or leads the current trick;
* `trick`: the cards already played to it, in order, none to three; they are no longer in the hands.

Points are those of North and South from the beginning of the current trick on, the last trick's ten included; the rest
of the points left goes to East and West. Legal cards are those of the default rules.

`sweep_bonus` counts the last trick as 100 instead of 10 if one side takes every trick; `tricks_taken` says how many
tricks each side has already. With it a value of 252 means that North and South can take all tricks, and 0 points may
mean that they take none.

>>> from coinche_spiel.cards import parse_cards
>>> hands = [parse_cards(cards) for cards in ("JS 9S", "AS AH", "10S KH", "KS 10H")]
>>> solve_value(hands, trump=0)
94
>>> solve_value(hands, trump=1)
0
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cardtable.parameters import bad_value, refusal, require_whole, require_whole_numbers
from coinche_spiel.cards import ALL_CARDS, NUM_CARDS, NUM_RANKS, NUM_SUITS
from coinche_spiel.double_dummy.positions import ILLEGAL, NO_CARD, solve_all_cards, solve_questions, solve_values
from coinche_spiel.double_dummy.search import CHOICES, HITS, NODES, Workspace, new_workspace

__all__ = [
    "ILLEGAL",
    "can_make",
    "can_make_batch",
    "search_counts",
    "solve_batch",
    "solve_cards",
    "solve_cards_batch",
    "solve_trumps",
    "solve_value",
]

SEATS = 4
CHUNK = 8  # positions a thread takes at a time

_of_thread = threading.local()


def solve_value(
    hands: Sequence[int],
    trump: int,
    leader: int = 0,
    trick: Sequence[int] = (),
    sweep_bonus: bool = False,
    tricks_taken: tuple[int, int] = (0, 0),
) -> int:
    """Points of North and South under perfect play."""
    position = _one(hands, trump, leader, trick, sweep_bonus, tricks_taken)
    return int(_values(position)[0])


def solve_cards(
    hands: Sequence[int],
    trump: int,
    leader: int = 0,
    trick: Sequence[int] = (),
    sweep_bonus: bool = False,
    tricks_taken: tuple[int, int] = (0, 0),
) -> dict[int, int]:
    """For every legal card of the player to move: points of North and South if it is played, and perfect play after."""
    position = _one(hands, trump, leader, trick, sweep_bonus, tricks_taken)
    values = np.empty((1, NUM_CARDS), np.int64)
    solve_all_cards(_workspace(), *position, values)
    return {card: int(value) for card, value in enumerate(values[0]) if value != ILLEGAL}


def solve_trumps(hands: Sequence[int], leader: int = 0, sweep_bonus: bool = False) -> list[int]:
    """Points of North and South with each of the four suits as trump, at the beginning of a trick."""
    return [int(value) for value in solve_batch([hands] * NUM_SUITS, range(NUM_SUITS), leader, None, sweep_bonus)]


def can_make(
    points: int,
    hands: Sequence[int],
    trump: int,
    leader: int = 0,
    trick: Sequence[int] = (),
    sweep_bonus: bool = False,
    tricks_taken: tuple[int, int] = (0, 0),
) -> bool:
    """Whether North and South can take at least so many points. Several times faster than the exact value."""
    position = _one(hands, trump, leader, trick, sweep_bonus, tricks_taken)
    answer = np.empty(1, np.bool_)
    solve_questions(_workspace(), *position, np.array([points], np.int64), answer)
    return bool(answer[0])


def solve_batch(
    hands: np.ndarray | Sequence[Sequence[int]],
    trump: int | Sequence[int] | np.ndarray,
    leader: int | Sequence[int] | np.ndarray = 0,
    trick: np.ndarray | Sequence[Sequence[int]] | None = None,
    sweep_bonus: bool = False,
    tricks_taken: tuple[int, int] = (0, 0),
    threads: int = 1,
) -> np.ndarray:
    """`solve_value` for many positions: hands are (positions, 4), the rest one number or one per position.

    `trick` is (positions, up to 3) card ids with -1 where no card has been played.
    """
    positions = _many(hands, trump, leader, trick, sweep_bonus, tricks_taken)
    return _values(positions, threads)


def solve_cards_batch(
    hands: np.ndarray | Sequence[Sequence[int]],
    trump: int | Sequence[int] | np.ndarray,
    leader: int | Sequence[int] | np.ndarray = 0,
    trick: np.ndarray | Sequence[Sequence[int]] | None = None,
    sweep_bonus: bool = False,
    tricks_taken: tuple[int, int] = (0, 0),
    threads: int = 1,
) -> np.ndarray:
    """`solve_cards` for many positions: a (positions, 32) array by card id, ILLEGAL where a card cannot be played."""
    positions = _many(hands, trump, leader, trick, sweep_bonus, tricks_taken)
    out = np.empty((len(positions[0]), NUM_CARDS), np.int64)
    _spread(lambda part: solve_all_cards(_workspace(), *(row[part] for row in positions), out[part]), len(out), threads)
    return out


def can_make_batch(
    points: int | Sequence[int] | np.ndarray,
    hands: np.ndarray | Sequence[Sequence[int]],
    trump: int | Sequence[int] | np.ndarray,
    leader: int | Sequence[int] | np.ndarray = 0,
    trick: np.ndarray | Sequence[Sequence[int]] | None = None,
    sweep_bonus: bool = False,
    tricks_taken: tuple[int, int] = (0, 0),
    threads: int = 1,
) -> np.ndarray:
    """`can_make` for many positions."""
    positions = _many(hands, trump, leader, trick, sweep_bonus, tricks_taken)
    count = len(positions[0])
    wanted = np.ascontiguousarray(np.broadcast_to(np.asarray(points, np.int64), count))
    out = np.empty(count, np.bool_)

    def solve(part: slice) -> None:
        solve_questions(_workspace(), *(row[part] for row in positions), wanted[part], out[part])

    _spread(solve, count, threads)
    return out


def search_counts() -> dict[str, int]:
    """What the searches of this thread have counted: positions between tricks, those already known, other choices."""
    counts = _workspace().counts
    return {"nodes": int(counts[NODES]), "hits": int(counts[HITS]), "choices": int(counts[CHOICES])}


def _values(positions: tuple[np.ndarray, ...], threads: int = 1) -> np.ndarray:
    out = np.empty(len(positions[0]), np.int64)
    _spread(lambda part: solve_values(_workspace(), *(row[part] for row in positions), out[part]), len(out), threads)
    return out


def _workspace() -> Workspace:
    """The workspace of the calling thread."""
    if not hasattr(_of_thread, "workspace"):
        _of_thread.workspace = new_workspace()
    return _of_thread.workspace


def _spread(solve: Callable[[slice], None], count: int, threads: int) -> None:
    """Solves all positions; with several threads each takes the next few until none are left."""
    require_whole("threads", threads, 1)
    if threads == 1:
        solve(slice(0, count))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(solve, (slice(start, start + CHUNK) for start in range(0, count, CHUNK))))


_NO_CARDS = [NO_CARD] * (SEATS - 1)


def _one(
    hands: Sequence[int],
    trump: int,
    leader: int,
    trick: Sequence[int],
    sweep_bonus: bool,
    tricks_taken: tuple[int, int],
) -> tuple[np.ndarray, ...]:
    """One position as arrays. Checks in plain Python what is right, which is quicker; `_many` says what is wrong."""
    if not _is_possible(hands, trump, leader, trick):
        return _many([hands], trump, leader, [list(trick)], sweep_bonus, tricks_taken)
    return (
        np.array([hands], np.int64),
        np.array([trump], np.int64),
        np.array([leader], np.int64),
        np.array([[*trick, *_NO_CARDS[len(trick) :]]], np.int64),
        np.array([_sweepers(tricks_taken) if sweep_bonus else 0], np.int64),
    )


def _is_possible(hands: Sequence[int], trump: int, leader: int, trick: Sequence[int]) -> bool:
    if len(hands) != SEATS or len(trick) >= SEATS or not (0 <= trump < NUM_SUITS and 0 <= leader < SEATS):
        return False
    everything = total = 0
    sizes = set()
    for seat in range(SEATS):
        size = int(hands[seat]).bit_count()
        everything |= int(hands[seat])
        total += size
        sizes.add(size + ((seat - leader) % SEATS < len(trick)))
    for card in trick:
        if not 0 <= card < NUM_CARDS:
            return False
        everything |= 1 << int(card)
    in_one_place = everything.bit_count() == total + len(trick) and 0 <= everything <= ALL_CARDS
    return in_one_place and len(sizes) == 1 and 1 <= sizes.pop() <= NUM_RANKS


def _many(
    hands: np.ndarray | Sequence[Sequence[int]],
    trump: int | Sequence[int] | np.ndarray,
    leader: int | Sequence[int] | np.ndarray,
    trick: np.ndarray | Sequence[Sequence[int]] | None,
    sweep_bonus: bool,
    tricks_taken: tuple[int, int],
) -> tuple[np.ndarray, ...]:
    """Checks positions and lays them out as arrays: hands, trumps, leaders, tricks, sweepers."""
    sets = np.ascontiguousarray(np.asarray(hands, np.int64))
    if sets.ndim != 2 or sets.shape[1] != SEATS:
        raise refusal(f"hands has the shape {sets.shape}", f"{SEATS} card sets for each position")
    count = len(sets)
    trumps = require_whole_numbers("trump", trump, 0, NUM_SUITS - 1, count)
    leaders = require_whole_numbers("leader", leader, 0, SEATS - 1, count)
    tricks = np.full((count, SEATS - 1), NO_CARD, np.int64)
    if trick is not None:
        played = np.asarray(trick, np.int64).reshape(count, -1)
        if played.shape[1] >= SEATS:
            raise refusal(f"trick has {played.shape[1]} cards", f"at most {SEATS - 1}, as the fourth ends it")
        tricks[:, : played.shape[1]] = played
    _check_positions(sets, leaders, tricks)
    sweepers = np.full(count, _sweepers(tricks_taken) if sweep_bonus else 0, np.int64)
    return sets, trumps, leaders, tricks, sweepers


def _check_positions(hands: np.ndarray, leaders: np.ndarray, tricks: np.ndarray) -> None:
    if ((hands < 0) | (hands > ALL_CARDS)).any():
        raise refusal("hands has other numbers than card sets", f"sets of the {NUM_CARDS} cards")
    if ((tricks < NO_CARD) | (tricks >= NUM_CARDS)).any() or ((tricks[:, 1:] >= 0) & (tricks[:, :-1] < 0)).any():
        raise refusal(
            "trick has other numbers than cards", f"card ids, 0 to {NUM_CARDS - 1}, in the order they were played"
        )
    sizes = np.bitwise_count(hands).astype(np.int64)
    played = np.where(tricks >= 0, 1 << np.maximum(tricks, 0), 0)
    everything = np.bitwise_or.reduce(hands, axis=1) | np.bitwise_or.reduce(played, axis=1)
    if (np.bitwise_count(everything) != sizes.sum(axis=1) + (tricks >= 0).sum(axis=1)).any():
        raise refusal("a card is in two places", "one place only, a hand or the trick")
    turn = (np.arange(SEATS) - leaders[:, None]) % SEATS  # when each seat plays to the trick
    before = sizes + (turn < (tricks >= 0).sum(axis=1)[:, None])
    if (before != before[:, :1]).any() or (before < 1).any() or (before > NUM_RANKS).any():
        raise refusal(
            f"hands have {sizes.tolist()[0]} cards",
            f"the same number of cards for every player when the trick began, 1 to {NUM_RANKS}",
        )


def _sweepers(tricks_taken: tuple[int, int]) -> int:
    """Bit s: side s may still take all tricks."""
    north_south, east_west = tricks_taken
    if north_south < 0 or east_west < 0:
        raise bad_value("tricks_taken", tricks_taken, "two numbers, 0 or more")
    return (1 if east_west == 0 else 0) | (2 if north_south == 0 else 0)
