"""Positions for the search, and the questions asked about them; all compiled, and free of Python's lock."""

from __future__ import annotations

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.bitboards import (
    POSITION_POINTS,
    TRUMPS,
    board_points,
    from_board,
    stronger_trumps,
    suit_at,
    takes_trick,
    to_board,
)
from coinche_spiel.double_dummy.moves import list_follows, list_leads
from coinche_spiel.double_dummy.search import (
    BEST,
    COUNT,
    DER,
    EPOCH,
    HELD,
    HOLDER,
    LEADER,
    LED,
    LEFT,
    MOVES,
    MUST_OVERTRUMP_PARTNER,
    MUST_UNDERTRUMP,
    PLY,
    REMAINING,
    SWEEP_BONUS,
    SWEEPERS,
    TRICK,
    search,
)
from coinche_spiel.double_dummy.table import MAX_EPOCH, describe_deal
from coinche_spiel.play import playable

NO_CARD = -1
NEAR = 5  # cards of one hand are often worth about the same
ILLEGAL = -1000  # in place of a value, where a card cannot be played


@compiled
def place(work, hands, trump, leader, trick, sweepers):
    """Sets the root: four card sets, the cards played to the trick so far (then NO_CARD), and who may still sweep."""
    counts, frames, tricks = work.counts, work.frames, work.tricks
    counts[EPOCH] += 1
    if counts[EPOCH] > MAX_EPOCH:
        work.table[:] = 0
        counts[EPOCH] = 1
    for seat in range(4):
        work.hands[seat] = to_board(hands[seat], trump)
    ply = 0
    frames[LED] = frames[BEST] = frames[HOLDER] = frames[TRICK] = frames[HELD] = 0
    while ply < 3 and trick[ply] != NO_CARD:
        card = to_board(1 << trick[ply], trump)
        work.hands[(leader + ply) & 3] |= card
        frames[TRICK] |= card
        if ply == 0:
            frames[LED] = suit_at(bits.lowest(card))
        if takes_trick(card, frames[BEST], frames[LED]):
            frames[BEST] = card
            frames[HOLDER] = ply
        ply += 1
    frames[PLY] = ply
    tricks[LEADER] = leader
    tricks[REMAINING] = work.hands[0] | work.hands[1] | work.hands[2] | work.hands[3]
    tricks[LEFT] = board_points(tricks[REMAINING]) + work.variant[DER]
    tricks[SWEEPERS] = sweepers
    describe_deal(work.hands, work.owners, work.shapes)


@compiled
def root_hand(work):
    return work.hands[(work.tricks[LEADER] + work.frames[PLY]) & 3]


@compiled
def root_legal(work):
    frames = work.frames
    ours = (frames[HOLDER] ^ frames[PLY]) & 1 == 0
    return playable(
        root_hand(work),
        frames[LED],
        TRUMPS,
        stronger_trumps(frames[BEST]),
        ours,
        work.variant[MUST_UNDERTRUMP] == 1,
        work.variant[MUST_OVERTRUMP_PARTNER] == 1,
    )


@compiled
def list_root(work):
    """Lists the candidates at the root."""
    hands, frames = work.hands, work.frames
    ply = frames[PLY]
    seat = (work.tricks[LEADER] + ply) & 3
    partner, after, before = hands[seat ^ 2], hands[(seat + 1) & 3], hands[(seat + 3) & 3]
    if ply == 0:
        frames[COUNT] = list_leads(frames, MOVES, hands[seat], partner, after, before, 0)
    else:
        frames[COUNT] = list_follows(
            frames,
            MOVES,
            hands[seat],
            root_legal(work),
            frames[LED],
            frames[BEST],
            (partner | after | before) & ~frames[TRICK],
            (frames[HOLDER] ^ ply) & 1 == 0,
            after if ply < 3 else 0,
            partner if ply == 1 else 0,
            board_points(frames[TRICK]),
        )


@compiled
def for_north_south(work, value):
    """A value for the leader's side as points of North and South; being swept costs them no more than all points."""
    points = value if work.tricks[LEADER] & 1 == 0 else work.tricks[LEFT] - value
    return max(0, points)


@compiled
def root_value(work):
    """Points of North and South from the beginning of the current trick on."""
    list_root(work)
    return for_north_south(work, search(work, -SWEEP_BONUS - 1, work.tricks[LEFT] + SWEEP_BONUS + 1))


@compiled
def root_reaches(work, points):
    """Whether North and South take at least `points` from the beginning of the current trick on."""
    if points <= 0:
        return True
    list_root(work)
    if work.tricks[LEADER] & 1 == 0:
        return search(work, points - 1, points) >= points
    rest = work.tricks[LEFT] - points  # what East and West may take at most
    return search(work, rest, rest + 1) <= rest


@compiled
def card_value(work, position, low, high, guess):
    """The value of one card at the root, which lies between low and high; first tries whether it is near a guess."""
    from_guess = max(low, guess - NEAR)
    to_guess = min(high, guess + NEAR)
    work.frames[MOVES] = position
    work.frames[COUNT] = 1
    value = search(work, from_guess, to_guess)
    if from_guess < value < to_guess:
        return value
    work.frames[COUNT] = 1
    if value <= from_guess:
        return search(work, low, value + 1)
    return search(work, value - 1, high)


@compiled
def root_cards(work, trump, out):
    """Points of North and South for every legal card into `out`, by card id; ILLEGAL for all others.

    Cards of one run lead to the same tricks. If they differ by d points, so do the values at most: the one card falls
    now and the other later, and d counts only if the two go to different sides.
    """
    frames = work.frames
    hand = root_hand(work)
    foreign = (work.tricks[REMAINING] & ~(hand | frames[TRICK])) | frames[BEST]
    out[:] = ILLEGAL
    legal = root_legal(work)
    last_value = 0
    last = 0
    while legal:
        position = bits.lowest(legal)
        card = legal & -legal
        legal ^= card
        low = -SWEEP_BONUS - 1
        high = work.tricks[LEFT] + SWEEP_BONUS + 1
        if last and suit_at(position) & last and foreign & (card - 1) & -last == 0:
            difference = POSITION_POINTS[position] - POSITION_POINTS[bits.lowest(last)]
            low = last_value - difference - 1
            high = last_value + difference + 1
        if high - low > 2:
            guess = last_value if last else work.tricks[LEFT] // 2
            last_value = card_value(work, position, low, high, guess)
        last = card
        out[bits.lowest(from_board(card, trump))] = for_north_south(work, last_value)


@compiled(nogil=True)
def solve_values(work, hands, trumps, leaders, tricks, sweepers, out):
    for i in range(len(hands)):
        place(work, hands[i], trumps[i], leaders[i], tricks[i], sweepers[i])
        out[i] = root_value(work)


@compiled(nogil=True)
def solve_questions(work, hands, trumps, leaders, tricks, sweepers, points, out):
    for i in range(len(hands)):
        place(work, hands[i], trumps[i], leaders[i], tricks[i], sweepers[i])
        out[i] = root_reaches(work, points[i])


@compiled(nogil=True)
def solve_all_cards(work, hands, trumps, leaders, tricks, sweepers, out):
    for i in range(len(hands)):
        place(work, hands[i], trumps[i], leaders[i], tricks[i], sweepers[i])
        root_cards(work, trumps[i], out[i])
