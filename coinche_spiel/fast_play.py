"""Random deals and random play, many at once: `random_plays` and `random_deals`.

128 deals advance in lock step, one *lane* each: every step is a loop over the lanes without branches on 32-bit words,
which LLVM turns into vector instructions of whatever width the processor has. All lanes live in one flat array of rows
(`HAND`, `LED`, ...), so that the compiler sees at once that rows do not overlap. Cards are boards
(`coinche_spiel.bitboards`) and legal cards come from the same rule as everywhere. Calls follow the auction of
`coinche_spiel.auction`; that module decides one deal at a time with loops and lists, which no vector unit can, so the
few facts of the default auction are written again here as arithmetic, and the tests replay every recorded call and card
through the rules.

Each lane has its own generator, xoshiro128+ (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
2021), seeded from one `numpy.random.SeedSequence`. A choice among n <= 41 takes the product of a random word and n, so
that probabilities are off by less than 2**-26. Results depend on the seed only, not on threads or processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.parameters import bad_value, refusal, require_whole, require_whole_numbers
from cardtable.randomness import generators, next_word
from coinche_spiel import state as slots
from coinche_spiel.bitboards import TRUMP_BYTE, TRUMPS, board_points, from_board
from coinche_spiel.cards import (
    ALL_CARDS,
    DER_POINTS,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    ONE_SUIT,
    TOTAL_POINTS,
    TRUMP_STRENGTH,
)
from coinche_spiel.play import playable
from coinche_spiel.rules import DEFAULTS, coinche_rules
from coinche_spiel.scoring import returns

LANES = 128
SEATS = 4
LONGEST_AUCTION = 37

# Rows of the lane array. In the play seats are counted from the leader of the trick.
HAND = 0  # HAND + k: the hand of the k-th to play
GENERATOR = 4  # four words
LED, BEST, HOLDER, TRICK = range(8, 12)  # the trick: led suit, best card, who played it, all its cards
LEADER = 12
WON, TRICKS = 13, 14  # what North and South have taken: cards, and the number of tricks
MINE, LEGAL, PICK, CARD = range(15, 19)  # the choice at hand: hand, legal cards, the number of the one drawn, that card
ROOM = 19  # ROOM + seat: how many more cards the seat takes in the deal
TRUMP, DECLARER, VALUE, LEVEL, PASSES, TURN, LIVE = range(23, 30)  # the auction; LIVE is 1 until it ends
CALLS = 30  # CALLS + i: the i-th call, NO_CALL after the auction
PLAYED = CALLS + LONGEST_AUCTION  # PLAYED + i: the i-th card
ROWS = PLAYED + NUM_CARDS
NO_CALL = 255
NUM_VALUES = slots.MAX_VALUES + 1  # VALUE is 0 before the first contract, then 1 to 10: 80, ... 160, capot

CHUNK = 32 * LANES  # deals that share generators: results do not depend on the number of threads

u32 = np.uint32


def _trump_moves() -> tuple[tuple[int, int, int], ...]:
    """Which ranks move by how many places, up or down, when the trump suit is arranged by strength."""
    moves: dict[int, int] = {}
    for rank, strength in enumerate(TRUMP_STRENGTH):
        moves[strength - rank] = moves.get(strength - rank, 0) | 1 << rank
    return tuple((ranks, max(places, 0), max(-places, 0)) for places, ranks in sorted(moves.items()))


_TRUMP_MOVES = _trump_moves()


@compiled
def _draw(lanes, lane, n):
    """A random number below n from the generator of a lane."""
    a = lanes[GENERATOR * LANES + lane]
    b = lanes[(GENERATOR + 1) * LANES + lane]
    c = u32(lanes[(GENERATOR + 2) * LANES + lane] ^ a)
    d = u32(lanes[(GENERATOR + 3) * LANES + lane] ^ b)
    word = u32(a + u32(d ^ b))
    lanes[(GENERATOR + 1) * LANES + lane] = u32(b ^ c)
    lanes[GENERATOR * LANES + lane] = u32(a ^ d)
    lanes[(GENERATOR + 2) * LANES + lane] = u32(c ^ u32(b << u32(9)))
    lanes[(GENERATOR + 3) * LANES + lane] = u32(u32(d << u32(11)) | (d >> u32(21)))
    return u32(u32((word >> u32(6)) * n) >> u32(26))


@compiled
def _copy_row(lanes, source, target):
    """Copies a row. Loops over rows whose numbers are constants are the fast ones, so others are copied there first."""
    from_row = lanes[source * LANES : (source + 1) * LANES]
    to_row = lanes[target * LANES : (target + 1) * LANES]
    for lane in range(LANES):
        to_row[lane] = from_row[lane]


@compiled
def _play_lanes(lanes, tricks):
    """Plays all cards of all lanes: hands hold `tricks` cards each, LEADER leads."""
    for lane in range(LANES):
        lanes[WON * LANES + lane] = 0
        lanes[TRICKS * LANES + lane] = 0
    for size in range(tricks, 0, -1):
        for lane in range(LANES):
            lanes[LED * LANES + lane] = 0
            lanes[BEST * LANES + lane] = 0
            lanes[HOLDER * LANES + lane] = 0
            lanes[TRICK * LANES + lane] = 0
        for ply in range(SEATS):
            _choose_cards(lanes, ply, size)
            if ply == 0:
                _open_trick(lanes)
            _put_cards(lanes, ply, SEATS * (tricks - size) + ply)
        _take_tricks(lanes)


@compiled
def _choose_cards(lanes, ply, size):
    """Leaves in CARD a random legal card of the hand that is `ply`-th to play and has `size` cards."""
    _copy_row(lanes, HAND + ply, MINE)
    if ply == 0:
        _copy_row(lanes, MINE, LEGAL)
    else:
        _find_legal(lanes, u32(ply & 1))
    if size > 1:
        _draw_numbers(lanes)
        for step in range(size - 1):  # drop the lowest card, as often as was drawn
            for lane in range(LANES):
                legal = lanes[LEGAL * LANES + lane]
                fewer = u32(legal & u32(legal - u32(1)))
                lanes[LEGAL * LANES + lane] = fewer if lanes[PICK * LANES + lane] > u32(step) else legal
    for lane in range(LANES):
        legal = lanes[LEGAL * LANES + lane]
        lanes[CARD * LANES + lane] = u32(legal & u32(~legal + u32(1)))


@compiled
def _find_legal(lanes, side):
    for lane in range(LANES):
        best = lanes[BEST * LANES + lane]
        higher = u32(u32(TRUMPS) & u32(~u32(best << u32(1)) + u32(1)))
        partner_holds = (lanes[HOLDER * LANES + lane] ^ side) & u32(1) == u32(0)
        hand = lanes[MINE * LANES + lane]
        led = lanes[LED * LANES + lane]
        lanes[LEGAL * LANES + lane] = u32(playable(hand, led, u32(TRUMPS), higher, partner_holds, False, False))


@compiled
def _draw_numbers(lanes):
    for lane in range(LANES):
        count = u32(bits.count(np.int64(lanes[LEGAL * LANES + lane])))
        lanes[PICK * LANES + lane] = _draw(lanes, lane, count)


@compiled
def _open_trick(lanes):
    """Notes the suit of the leader's card."""
    for lane in range(LANES):
        card = lanes[CARD * LANES + lane]
        led = u32(0xFF) if card <= u32(0xFF) else u32(0xFF00)
        led = u32(0xFF0000) if card > u32(0xFFFF) else led
        lanes[LED * LANES + lane] = u32(TRUMPS) if card > u32(0xFFFFFF) else led


@compiled
def _put_cards(lanes, ply, number):
    """Moves CARD from the hand that is `ply`-th to play into the trick, as the `number`-th card of the play."""
    _copy_row(lanes, CARD, PLAYED + number)
    for lane in range(LANES):
        card = lanes[CARD * LANES + lane]
        lanes[MINE * LANES + lane] ^= card
        lanes[TRICK * LANES + lane] |= card
        best = lanes[BEST * LANES + lane]
        takes = u32(card & u32(lanes[LED * LANES + lane] | u32(TRUMPS))) > best
        lanes[BEST * LANES + lane] = card if takes else best
        lanes[HOLDER * LANES + lane] = u32(ply) if takes else lanes[HOLDER * LANES + lane]
    _copy_row(lanes, MINE, HAND + ply)


@compiled
def _take_tricks(lanes):
    """Gives the trick to its winner, who becomes the leader; turns the hands so that they count from the new leader."""
    for lane in range(LANES):
        winner = lanes[HOLDER * LANES + lane]
        leader = u32(u32(lanes[LEADER * LANES + lane] + winner) & u32(3))
        lanes[LEADER * LANES + lane] = leader
        north_south = (leader & u32(1)) == u32(0)
        lanes[WON * LANES + lane] |= lanes[TRICK * LANES + lane] if north_south else u32(0)
        lanes[TRICKS * LANES + lane] += u32(1) if north_south else u32(0)
        a = lanes[HAND * LANES + lane]
        b = lanes[(HAND + 1) * LANES + lane]
        c = lanes[(HAND + 2) * LANES + lane]
        d = lanes[(HAND + 3) * LANES + lane]
        by_one = (winner & u32(1)) != u32(0)
        a, b, c, d = (b if by_one else a), (c if by_one else b), (d if by_one else c), (a if by_one else d)
        by_two = (winner & u32(2)) != u32(0)
        lanes[HAND * LANES + lane] = c if by_two else a
        lanes[(HAND + 1) * LANES + lane] = d if by_two else b
        lanes[(HAND + 2) * LANES + lane] = a if by_two else c
        lanes[(HAND + 3) * LANES + lane] = b if by_two else d


@compiled
def _seed_lanes(lanes, generator):
    """Gives every lane a generator, from a generator of `cardtable.randomness`."""
    for word in range(4):
        for lane in range(LANES):
            lanes[(GENERATOR + word) * LANES + lane] = u32(next_word(generator) & np.uint64(0xFFFFFFFF))
    for lane in range(LANES):
        lanes[GENERATOR * LANES + lane] |= u32(1)  # a generator of zeros would stay there


@compiled
def _deal_lanes(lanes):
    """Deals all lanes as the chance nodes of the game do: each card goes to a hand with the odds of the room it has."""
    for seat in range(SEATS):
        for lane in range(LANES):
            lanes[(HAND + seat) * LANES + lane] = 0
            lanes[(ROOM + seat) * LANES + lane] = NUM_RANKS
    for card in range(NUM_CARDS):
        for lane in range(LANES):
            lanes[PICK * LANES + lane] = _draw(lanes, lane, u32(NUM_CARDS - card))
        for lane in range(LANES):
            number = lanes[PICK * LANES + lane]
            single = u32(1) << u32(card)
            north = lanes[ROOM * LANES + lane]
            east = u32(north + lanes[(ROOM + 1) * LANES + lane])
            south = u32(east + lanes[(ROOM + 2) * LANES + lane])
            to_north = u32(number < north)
            to_east = u32(number < east) - to_north
            to_south = u32(number < south) - u32(number < east)
            to_west = u32(number >= south)
            lanes[ROOM * LANES + lane] -= to_north
            lanes[(ROOM + 1) * LANES + lane] -= to_east
            lanes[(ROOM + 2) * LANES + lane] -= to_south
            lanes[HAND * LANES + lane] |= u32(single * to_north)
            lanes[(HAND + 1) * LANES + lane] |= u32(single * to_east)
            lanes[(HAND + 2) * LANES + lane] |= u32(single * to_south)
            lanes[(HAND + 3) * LANES + lane] |= u32(single * to_west)


@compiled
def _auction_lanes(lanes, first_seat):
    """Holds the auctions of all lanes."""
    for lane in range(LANES):
        for row in (TRUMP, DECLARER, VALUE, LEVEL, PASSES):
            lanes[row * LANES + lane] = 0
        lanes[TURN * LANES + lane] = first_seat
        lanes[LIVE * LANES + lane] = 1
    for number in range(LONGEST_AUCTION):
        _call_lanes(lanes)
        _copy_row(lanes, CARD, CALLS + number)
        live = 0
        for lane in range(LANES):
            live += lanes[LIVE * LANES + lane]
        if live == 0:
            for later in range(number + 1, LONGEST_AUCTION):
                lanes[(CALLS + later) * LANES : (CALLS + later + 1) * LANES] = NO_CALL
            break


@compiled
def _call_lanes(lanes):
    """One call in every lane whose auction is not over; leaves it in CARD."""
    for lane in range(LANES):
        value = lanes[VALUE * LANES + lane]
        level = lanes[LEVEL * LANES + lane]
        own = u32(~(lanes[TURN * LANES + lane] ^ lanes[DECLARER * LANES + lane]) & u32(1))  # of the declarer's side
        contracts = u32(4) * u32(u32(NUM_VALUES) - value) if level == u32(0) else u32(0)
        may_coinche = u32(level == u32(0)) & u32(value > u32(0)) & u32(own ^ u32(1))
        may_surcoinche = u32(level == u32(1)) & own
        lanes[LEGAL * LANES + lane] = contracts
        lanes[PICK * LANES + lane] = u32(u32(1) + contracts + may_coinche + may_surcoinche)
    for lane in range(LANES):
        lanes[PICK * LANES + lane] = _draw(lanes, lane, lanes[PICK * LANES + lane])
    for lane in range(LANES):
        value = lanes[VALUE * LANES + lane]
        level = lanes[LEVEL * LANES + lane]
        turn = lanes[TURN * LANES + lane]
        passes = lanes[PASSES * LANES + lane]
        pick = lanes[PICK * LANES + lane]  # 0 pass, then the contracts, then coinche or surcoinche
        live = lanes[LIVE * LANES + lane]
        is_pass = u32(pick == u32(0)) & live
        is_double = u32(pick > lanes[LEGAL * LANES + lane]) & u32(pick > u32(0)) & live
        is_contract = live ^ is_pass ^ is_double
        contract = u32(pick - u32(1)) + u32(4) * value  # 4 * index of the value + suit
        passes = u32(passes + u32(1)) if is_pass else u32(0)
        passes_to_end = u32(4) - u32(value > u32(0))
        call = u32(slots.FIRST_BID) + contract if is_contract else u32(slots.PASS)
        call = u32(slots.COINCHE) + level if is_double else call
        lanes[CARD * LANES + lane] = call if live else u32(NO_CALL)
        lanes[VALUE * LANES + lane] = u32(u32(contract >> u32(2)) + u32(1)) if is_contract else value
        lanes[TRUMP * LANES + lane] = contract & u32(3) if is_contract else lanes[TRUMP * LANES + lane]
        lanes[DECLARER * LANES + lane] = turn if is_contract else lanes[DECLARER * LANES + lane]
        level = u32(level + is_double)
        lanes[LEVEL * LANES + lane] = level
        lanes[PASSES * LANES + lane] = passes
        lanes[TURN * LANES + lane] = u32(turn + u32(1)) & u32(3)
        lanes[LIVE * LANES + lane] = u32(0) if passes == passes_to_end or level == u32(2) else live


@compiled
def _arrange_hands(lanes):
    """Turns the hands of all lanes into boards: `bitboards.to_board` with a trump suit for each lane."""
    for ply in range(SEATS):
        _copy_row(lanes, HAND + ply, MINE)
        for lane in range(LANES):
            cards = lanes[MINE * LANES + lane]
            shift = u32(lanes[TRUMP * LANES + lane] * u32(NUM_RANKS))
            below = u32(cards & u32(u32(u32(1) << shift) - u32(1)))
            ranks = u32(u32(cards >> shift) & u32(ONE_SUIT))
            above = u32(u32(u32(cards >> shift) >> u32(NUM_RANKS)) << shift)
            strengths = u32(0)
            for moved, up, down in _TRUMP_MOVES:
                strengths |= u32(u32(u32(ranks & u32(moved)) << u32(up)) >> u32(down))
            lanes[MINE * LANES + lane] = u32(below | above | u32(strengths << u32(NUM_RANKS * TRUMP_BYTE)))
        _copy_row(lanes, MINE, HAND + ply)


@compiled(nogil=True)
def _run_plays(hands, trumps, leaders, tricks, generator, points, tricks_won, cards):
    """Plays hand after hand, a group of lanes at a time; `cards` is empty if nobody wants to know them."""
    lanes = np.zeros(ROWS * LANES, np.uint32)
    _seed_lanes(lanes, generator)
    for start in range(0, len(hands), LANES):
        used = min(LANES, len(hands) - start)
        for lane in range(LANES):
            deal = start + lane if lane < used else start
            for ply in range(SEATS):
                lanes[(HAND + ply) * LANES + lane] = hands[deal, (leaders[deal] + ply) & 3]
            lanes[LEADER * LANES + lane] = leaders[deal]
            lanes[TRUMP * LANES + lane] = trumps[deal]
        _arrange_hands(lanes)
        _play_lanes(lanes, tricks)
        for lane in range(used):
            points[start + lane] = _north_south_points(lanes, lane)
            tricks_won[start + lane] = lanes[TRICKS * LANES + lane]
        if len(cards):
            _list_cards(lanes, trumps[start : start + used], tricks, cards[start : start + used])


@compiled
def _north_south_points(lanes, lane):
    """What North and South took; after the play the winner of the last trick is the leader."""
    last_trick = DER_POINTS if lanes[LEADER * LANES + lane] & u32(1) == u32(0) else 0
    return board_points(np.int64(lanes[WON * LANES + lane])) + last_trick


@compiled
def _list_cards(lanes, trumps, tricks, cards):
    for lane in range(len(trumps)):
        for number in range(SEATS * tricks):
            card = from_board(np.int64(lanes[(PLAYED + number) * LANES + lane]), trumps[lane])
            cards[lane, number] = bits.lowest(card)


@compiled(nogil=True)
def _run_deals(root, generator, hands, contracts, points, tricks, payoffs, calls, cards):
    """Deals, bids and plays; `calls` and `cards` are empty if nobody wants to know them."""
    lanes = np.zeros(ROWS * LANES, np.uint32)
    trumps = np.zeros(LANES, np.int64)
    state = root.copy()
    seat_returns = np.zeros(SEATS)
    _seed_lanes(lanes, generator)
    first_seat = slots.first_seat(root)
    for start in range(0, len(hands), LANES):
        used = min(LANES, len(hands) - start)
        _deal_lanes(lanes)
        _auction_lanes(lanes, first_seat)
        for lane in range(used):
            for ply in range(SEATS):
                hands[start + lane, (first_seat + ply) & 3] = lanes[(HAND + ply) * LANES + lane]
        _arrange_hands(lanes)
        for lane in range(LANES):
            lanes[LEADER * LANES + lane] = first_seat
        _play_lanes(lanes, NUM_RANKS)
        for lane in range(used):
            _score(lanes, lane, state, hands, contracts, points, tricks, payoffs, seat_returns, start + lane)
        if len(cards):
            for lane in range(used):
                trumps[lane] = lanes[TRUMP * LANES + lane]
                for number in range(LONGEST_AUCTION):
                    calls[start + lane, number] = lanes[(CALLS + number) * LANES + lane]
            _list_cards(lanes, trumps[:used], NUM_RANKS, cards[start : start + used])


@compiled
def _score(lanes, lane, state, hands, contracts, points, tricks, payoffs, seat_returns, deal):
    """Lays the outcome out as a state of the game, and asks the game for the returns."""
    value = np.int64(lanes[VALUE * LANES + lane])
    declarer = np.int64(lanes[DECLARER * LANES + lane])
    level = np.int64(lanes[LEVEL * LANES + lane])
    north_south = _north_south_points(lanes, lane)
    tricks_won = np.int64(lanes[TRICKS * LANES + lane])
    if value == 0:  # all passed: nothing is played
        contracts[deal, 0] = contracts[deal, 1] = slots.NONE
        contracts[deal, 2] = contracts[deal, 3] = 0
        points[deal, 0] = points[deal, 1] = tricks[deal, 0] = tricks[deal, 1] = 0
        payoffs[deal, :] = 0.0
        return
    state[slots.PHASE] = slots.OVER
    state[slots.VALUE] = value - 1
    state[slots.TRUMP] = lanes[TRUMP * LANES + lane]
    state[slots.DECLARER] = declarer
    state[slots.COINCHER] = declarer ^ 1 if level > 0 else slots.NONE
    state[slots.SURCOINCHER] = declarer if level > 1 else slots.NONE
    state[slots.POINTS] = north_south
    state[slots.POINTS + 1] = TOTAL_POINTS - north_south
    state[slots.TRICKS] = tricks_won
    state[slots.TRICKS + 1] = NUM_RANKS - tricks_won
    for seat in range(SEATS):
        state[deck.DEALT + seat] = hands[deal, seat]
    contracts[deal, 0] = declarer
    contracts[deal, 1] = state[slots.TRUMP]
    contracts[deal, 2] = slots.contract_value(state)
    contracts[deal, 3] = level
    for team in range(2):
        points[deal, team] = state[slots.POINTS + team]
        tricks[deal, team] = state[slots.TRICKS + team]
    returns(state, seat_returns)
    payoffs[deal, 0] = seat_returns[0]
    payoffs[deal, 1] = seat_returns[1]


class RandomPlays(NamedTuple):
    """Results of many plays; row i belongs to play i."""

    points: np.ndarray  # card points of North and South, the last trick included
    tricks: np.ndarray  # tricks of North and South
    cards: np.ndarray | None  # the cards in the order they were played, if asked for


class RandomDeals(NamedTuple):
    """Results of many deals; row i belongs to deal i."""

    hands: np.ndarray  # (deals, 4) card sets
    declarer: np.ndarray  # the seat that called the contract, -1 if all passed
    trump: np.ndarray  # -1 if all passed
    value: np.ndarray  # of the contract, 0 if all passed
    level: np.ndarray  # 0, 1 coinche, 2 surcoinche
    points: np.ndarray  # (deals, 2) card points by team
    tricks: np.ndarray  # (deals, 2)
    returns: np.ndarray  # (deals, 2) by team; every seat gets its team's number
    calls: np.ndarray | None  # (deals, 37) the calls as actions, then NO_CALL, if asked for
    cards: np.ndarray | None  # (deals, 32), if asked for


def random_plays(
    hands: np.ndarray | Sequence[int] | Sequence[Sequence[int]],
    trump: int | Sequence[int] | np.ndarray,
    leader: int | Sequence[int] | np.ndarray = 0,
    plays: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    threads: int = 1,
    record: bool = False,
) -> RandomPlays:
    """Plays hands out with uniformly random legal cards.

    `hands` holds card sets: either (deals, 4), each deal played once, or just 4, one deal played `plays` times. Hands
    are of equal size, 1 to 8 cards. `trump` and `leader` are numbers, or arrays with one number per deal.
    """
    sets = np.asarray(hands, np.int64)
    if sets.ndim == 1 and plays is None:
        raise bad_value("plays", plays, "how often to play a single deal, 1 or more")
    if sets.ndim == 2 and plays is not None:
        raise bad_value("plays", plays, f"None, as each of these {len(sets)} deals is played once")
    if sets.shape[-1:] != (SEATS,) or sets.ndim > 2:
        raise refusal(f"hands has the shape {sets.shape}", "(4,), (deals, 4)")
    tricks = check_hands(sets.reshape(-1, SEATS))
    if sets.ndim == 1:
        require_whole("plays", plays, 1)
    count = len(sets) if plays is None else int(plays)
    sets = np.ascontiguousarray(np.broadcast_to(sets, (count, SEATS)))
    trumps = require_whole_numbers("trump", trump, 0, NUM_SUITS - 1, count)
    leaders = require_whole_numbers("leader", leader, 0, SEATS - 1, count)
    points = np.empty(count, np.int64)
    tricks_won = np.empty(count, np.int64)
    cards = np.empty((count if record else 0, SEATS * tricks), np.int64)

    def run(part: slice, generator: np.ndarray) -> None:
        _run_plays(
            sets[part], trumps[part], leaders[part], tricks, generator, points[part], tricks_won[part], cards[part]
        )

    _in_chunks(run, count, seed, threads)
    return RandomPlays(points, tricks_won, cards if record else None)


def random_deals(
    deals: int,
    seed: int | np.random.SeedSequence | None = None,
    threads: int = 1,
    record: bool = False,
    **parameters: int | float | bool | str,
) -> RandomDeals:
    """Deals, bids and plays with uniformly random legal calls and cards.

    `parameters` are those of `python_coinche` that concern the score and the dealer. The deck, the auction and the
    legal cards are the default ones.
    """
    for name in parameters:
        if name in _FIXED_PARAMETERS and parameters[name] != DEFAULTS[name]:
            raise bad_value(name, parameters[name], f"{DEFAULTS[name]!r}, as fast random deals know no other")
    root = coinche_rules(**parameters).root
    require_whole("deals", deals, 1)
    count = int(deals)
    hands = np.empty((count, SEATS), np.int64)
    contracts = np.empty((count, 4), np.int16)
    points = np.empty((count, 2), np.int16)
    tricks = np.empty((count, 2), np.int16)
    payoffs = np.empty((count, 2))
    calls = np.empty((count if record else 0, LONGEST_AUCTION), np.int64)
    cards = np.empty((count if record else 0, NUM_CARDS), np.int64)

    def run(part: slice, generator: np.ndarray) -> None:
        _run_deals(
            root,
            generator,
            hands[part],
            contracts[part],
            points[part],
            tricks[part],
            payoffs[part],
            calls[part],
            cards[part],
        )

    _in_chunks(run, count, seed, threads)
    declarer, trump, value, level = contracts.T
    history = (calls, cards) if record else (None, None)
    return RandomDeals(hands, declarer, trump, value, level, points, tricks, payoffs, *history)


_FIXED_PARAMETERS = (
    *("players", "suits", "ranks", "hand_size", "der", "pisser", "under_partner"),
    *("min_bid", "max_bid", "capot_value", "coinche", "coinche_takes_over"),
)


def check_hands(hands: np.ndarray) -> int:
    """The common size of all hands; raises UserError if sizes differ or a card is held twice."""
    together = np.bitwise_or.reduce(hands, axis=1)
    if len(hands) == 0 or ((hands < 0) | (hands > ALL_CARDS)).any():
        raise refusal("hands has other numbers than card sets", f"sets of the {NUM_CARDS} cards, for one deal or more")
    sizes = np.bitwise_count(hands)
    size = int(sizes[0, 0])
    if (sizes != size).any() or not 1 <= size <= NUM_RANKS:
        raise refusal(
            f"hands have {sizes.tolist()[0]} cards", f"the same number of cards in all hands, 1 to {NUM_RANKS}"
        )
    if (np.bitwise_count(together) != SEATS * size).any():
        raise refusal("hands share a card", "each card in one hand only")
    return size


def _in_chunks(
    run: Callable[[slice, np.ndarray], None], count: int, seed: int | np.random.SeedSequence | None, threads: int
) -> None:
    require_whole("threads", threads, 1)
    parts = [slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    streams = generators(seed, len(parts))

    def run_quietly(part: slice, stream: np.ndarray) -> None:
        with np.errstate(over="ignore"):  # without compilation numpy would warn of every sum beyond 32 bits
            run(part, stream)

    if threads == 1:
        for part, stream in zip(parts, streams, strict=True):
            run_quietly(part, stream)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run_quietly, parts, streams))
