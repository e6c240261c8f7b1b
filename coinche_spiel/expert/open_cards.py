"""What each card is worth in one world: all hands open, everybody plays perfectly from then on.

Only the points near the contract matter to most scores, so values are asked for within a window: a card that leads to
fewer points than `low` is worth `low`, one that leads to more than `high` is worth `high`. A narrow window is several
times cheaper than exact points (`coinche_spiel.double_dummy`).
"""

from __future__ import annotations

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.bitboards import POSITION_POINTS, from_board, suit_at
from coinche_spiel.double_dummy.positions import root_hand, root_legal
from coinche_spiel.double_dummy.search import BEST, COUNT, LEADER, LEFT, MOVES, REMAINING, TRICK, search


@compiled
def points_within(work, position, attack, low, high):
    """The points that the attack takes from the current trick on if this card is played, between low and high."""
    work.frames[MOVES] = position
    work.frames[COUNT] = 1
    if work.tricks[LEADER] & 1 == attack:
        points = search(work, low, high)
    else:
        left = work.tricks[LEFT]
        points = left - search(work, left - high, left - low)
    return min(max(points, low), high)


@compiled
def judge_cards(work, trump, attack, low, high, out):
    """Points of the attack, between low and high, for every legal card into `out`, by card id; the root is placed.

    Cards of one run (nothing foreign between them) lead to the same tricks. If they differ by d points, so do the
    values at most: the one falls now and the other later, and d counts only if they go to different sides.
    """
    hand = root_hand(work)
    trick, best = work.frames[TRICK], work.frames[BEST]
    foreign = (work.tricks[REMAINING] & ~(hand | trick)) | best
    legal = root_legal(work)
    last = 0
    value = 0
    while legal:
        position = bits.lowest(legal)
        card = legal & -legal
        legal ^= card
        from_points, to_points = low, high
        if last and suit_at(position) & last and foreign & (card - 1) & -last == 0:
            difference = abs(POSITION_POINTS[position] - POSITION_POINTS[bits.lowest(last)])
            if value > low:
                from_points = max(low, value - difference)
            if value < high:
                to_points = min(high, value + difference)
        if from_points == to_points:
            value = from_points
        else:
            value = points_within(work, position, attack, from_points, to_points)
        last = card
        out[bits.lowest(from_board(card, trump))] = value
