"""Alpha-beta search of the open play, one trick after the other, without recursion.

Two stacks hold the line of play. `tricks` has a record for every trick begun: its leader, the cards and points left,
and how the value of what follows is brought home. `frames` has a record for every turn with a choice, the lead of each
trick included; forced cards are played on the spot. Values are points that the side of the trick's leader takes from
here on, so the leader and the partner maximise, the others minimise.

A trick node is left at once if the window lies outside what is possible: the points left, less the trumps that nobody
can take from a side (`sure_bounds`), or what the table knows. The first card of a turn is searched with the full
window, the others with a window of one point, and again only if one turns out better (principal variation search).

SWEEPERS is for the bonus that some pay for taking all tricks: bit s is set while side s may still do so, and 0 plays
for points alone. A sweep is worth SWEEP_BONUS to one side and costs it to the other: values keep a constant sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.bitboards import (
    BYTE_POINTS,
    SUITS,
    TRUMP_BYTE,
    TRUMPS,
    board_points,
    stronger_trumps,
    suit_at,
    takes_trick,
)
from coinche_spiel.cards import DER_POINTS
from coinche_spiel.double_dummy.moves import above, list_follows, list_leads, next_move, top_of
from coinche_spiel.double_dummy.table import (
    BUCKET_WORDS,
    ENTRY_WORDS,
    NO_HIGH,
    NO_LOW,
    SETS,
    bucket_of,
    entry_bounds,
    entry_lead,
    entry_ranks,
    matches,
    plain_owners,
    position_key,
    store,
)
from coinche_spiel.play import playable

SWEEP_BONUS = 90
FAR = 1000  # beyond every value

# A frame: a turn with a choice. Indices are masked so that the compiler knows they are not negative.
ALPHA, BETA, VALUE, BEST_CARD, RANKS, CARD, SCOUT, FLOOR, PLY, LED, BEST, HOLDER, TRICK, HELD, COUNT = range(15)
MOVES = 16  # up to eight moves
FRAME_WORDS = 32
FRAMES_MASK = 32 * FRAME_WORDS - 1

# A trick. The last fields say how its value is turned into one for the trick before.
LEADER, REMAINING, LEFT, SWEEPERS, SIGN, OFFSET, FALLEN, WINNER, WINNER_LED, WINNER_HELD = range(10)
TRICK_WORDS = 16
TRICKS_MASK = 16 * TRICK_WORDS - 1

FULL, NARROW = range(2)  # the window in which a card is searched
ENTER, TRY, LEAVE, RETURN, PLAY = range(5)  # what the search does next

NODES, HITS, CHOICES, EPOCH = range(4)  # counters: trick nodes, those the table knew, other choices; deals so far

# The rules that are played by: `pisser=forced`, `under_partner=no_under`, and what the last trick is worth.
MUST_UNDERTRUMP, MUST_OVERTRUMP_PARTNER, DER = range(3)


class Workspace(NamedTuple):
    """What a search works on; one for each thread."""

    hands: np.ndarray  # boards of the four hands at the root, cards in the current trick included
    owners: np.ndarray  # see `table.describe_deal`
    shapes: np.ndarray
    table: np.ndarray
    frames: np.ndarray
    tricks: np.ndarray
    counts: np.ndarray
    variant: np.ndarray


def new_workspace(buckets: int = 1 << 12) -> Workspace:
    """Room for a search. The number of buckets is a power of two; a bucket takes 128 bytes."""
    return Workspace(
        np.zeros(4, np.int64),
        np.zeros(4 * SETS, np.int64),
        np.zeros(4 * SETS, np.int64),
        np.zeros(buckets * BUCKET_WORDS, np.int64),
        np.zeros(FRAMES_MASK + 1, np.int64),
        np.zeros(TRICKS_MASK + 1, np.int64),
        np.zeros(4, np.int64),
        np.array([0, 0, DER_POINTS], np.int64),
    )


@compiled
def sure_bounds(hands, remaining, leader, left, sweepers):
    """Bounds on the value of a trick node: trumps above all trumps of the other side win their points in any case."""
    side = leader & 1
    low = -SWEEP_BONUS * ((sweepers >> (side ^ 1)) & 1)
    high = left + SWEEP_BONUS * ((sweepers >> side) & 1)
    ours = (hands[leader] | hands[leader ^ 2]) & remaining & TRUMPS
    theirs = (remaining & TRUMPS) ^ ours
    if ours > theirs:
        low = max(low, BYTE_POINTS[TRUMP_BYTE * 256 + ((ours & above(top_of(theirs))) >> 24)])
    elif theirs:
        high = min(high, left - BYTE_POINTS[TRUMP_BYTE * 256 + ((theirs & above(top_of(ours))) >> 24)])
    return low, high


@compiled
def last_trick(hands, remaining, leader):
    """(whether the leader's side takes the last trick, the card that won by rank)."""
    if remaining == 0:
        return True, 0  # it has been played, and its winner would lead
    best = hands[leader] & remaining
    led = suit_at(bits.lowest(best))
    ours = True
    for ply in range(1, 4):
        card = hands[(leader + ply) & 3] & remaining
        if takes_trick(card, best, led):
            best = card
            ours = ply == 2
    return ours, rank_winner(best, remaining, led)


@compiled
def rank_winner(best, trick, led):
    """The card that holds a trick if it does so by its rank in a plain suit, over other cards of the suit; else 0."""
    return best if best & TRUMPS == 0 and trick & led != best else 0


@compiled
def ranks_before(hands, remaining, trick, winner, led, held, ranks, answered):
    """The ranks that matter before a trick, from those that matter after it (see `table`).

    `remaining` are the cards left after the trick; `held` are cards that held the trick by rank when somebody decided
    whether to ruff. `answered` are the hands whose every card the proof must answer: where one of their cards was
    skipped because it is as good as its neighbour in a run, the neighbour's rank matters in its place.
    """
    for byte in range(TRUMP_BYTE):
        after = ranks & SUITS[byte]
        if after:
            low = after & -after
            fallen = trick & SUITS[byte] & answered & (low - 1)
            while fallen:
                card = fallen & -fallen
                fallen ^= card
                owner = owner_of(hands, low)
                if hands[owner] & card and remaining & ~hands[owner] & (low - 1) & -card == 0:
                    ranks |= card
    compared = rank_winner(winner, trick, led) | held
    ranks |= compared
    compared &= answered
    while compared:
        ranks |= lower_neighbours(hands, compared & -compared, remaining & led)
        compared &= compared - 1
    return ranks


@compiled
def owner_of(hands, card):
    seat = 0
    while hands[seat] & card == 0:
        seat += 1
    return seat


@compiled
def lower_neighbours(hands, card, others):
    """The cards of the owner of `card` below it, among `others`, without a foreign card between."""
    below = others & (card - 1)
    if below == 0:
        return 0
    foreign = below & ~hands[owner_of(hands, card)]
    return (below ^ foreign) & above(top_of(foreign))


@compiled
def answered_hands(hands, leader, value, alpha, beta):
    """The hands whose every card a proof of this value, seen from the leader's side, has to answer."""
    if value >= beta:
        return hands[(leader + 1) & 3] | hands[(leader + 3) & 3]
    if value <= alpha:
        return hands[leader] | hands[leader ^ 2]
    return -1


@compiled
def search(work, alpha, beta):
    """The value of the root if it lies between alpha and beta, else a bound on that side of the window.

    The root is in the first records of `tricks` and `frames`: the caller has filled in the trick, and of the frame PLY,
    LED, BEST, HOLDER, TRICK, HELD and the moves to choose from. The hands are those at the beginning of the trick.
    """
    hands, owners, shapes, table, frames, tricks, counts, variant = work
    must_undertrump = variant[MUST_UNDERTRUMP] == 1
    must_overtrump_partner = variant[MUST_OVERTRUMP_PARTNER] == 1
    der = variant[DER]
    epoch = counts[EPOCH]
    buckets_mask = len(table) // BUCKET_WORDS - 1
    f = 0  # where the record of the turn begins
    t = 0  # where the record of the trick begins
    frames[f + ALPHA] = alpha
    frames[f + BETA] = beta
    frames[f + VALUE] = -FAR if frames[f + PLY] & 1 == 0 else FAR
    frames[f + RANKS] = 0
    frames[f + SCOUT] = FULL
    card = next_move(frames, f + MOVES, frames[f + COUNT])
    frames[f + COUNT] -= 1
    value = 0
    ranks = 0
    step = PLAY
    while True:
        if step == ENTER:  # a trick begins, with the window alpha to beta
            counts[NODES] += 1
            leader = tricks[t + LEADER] & 3
            remaining = tricks[t + REMAINING]
            left = tricks[t + LEFT]
            sweepers = tricks[t + SWEEPERS]
            hand = hands[leader] & remaining
            low, high = sure_bounds(hands, remaining, leader, left, sweepers)
            ranks = 0
            hint = 0
            step = LEAVE
            if high <= alpha:
                value = high
            elif low >= beta:
                value = low
            elif hand & (hand - 1) == 0:
                ours, ranks = last_trick(hands, remaining, leader)
                side = leader & 1
                if ours:
                    value = left + SWEEP_BONUS * ((sweepers >> side) & 1)
                else:
                    value = -SWEEP_BONUS * ((sweepers >> (side ^ 1)) & 1)
            else:
                key = position_key(owners, shapes, remaining, leader, sweepers)
                pattern = plain_owners(owners, remaining)
                bucket = bucket_of(key, buckets_mask)
                step = TRY
                for entry in range(bucket, bucket + BUCKET_WORDS, ENTRY_WORDS):
                    if matches(table, entry, key, pattern, epoch):
                        low, high = entry_bounds(table, entry, hands, remaining, left, der)
                        if low >= beta or high <= alpha or low == high:
                            value = high if high <= alpha else low
                            ranks = entry_ranks(table, entry, remaining)
                            counts[HITS] += 1
                            step = LEAVE
                            break
                        hint = entry_lead(table, entry, hand)
            if step == TRY:
                f = (f + FRAME_WORDS) & FRAMES_MASK
                count = list_leads(
                    frames,
                    f + MOVES,
                    hand,
                    hands[leader ^ 2] & remaining,
                    hands[(leader + 1) & 3] & remaining,
                    hands[(leader + 3) & 3] & remaining,
                    hint,
                )
                card = next_move(frames, f + MOVES, count)
                frames[f + COUNT] = count - 1
                frames[f + ALPHA] = alpha
                frames[f + BETA] = beta
                frames[f + FLOOR] = alpha
                frames[f + VALUE] = -FAR
                frames[f + RANKS] = 0
                frames[f + SCOUT] = FULL
                frames[f + PLY] = 0
                frames[f + TRICK] = 0
                frames[f + HELD] = 0
                step = PLAY

        if step == LEAVE:  # a trick has a value: see what it means in the trick before
            value = value * tricks[t + SIGN] + tricks[t + OFFSET]
            before = (t - TRICK_WORDS) & TRICKS_MASK
            ranks = ranks_before(
                hands,
                tricks[t + REMAINING],
                tricks[t + FALLEN],
                tricks[t + WINNER],
                tricks[t + WINNER_LED],
                tricks[t + WINNER_HELD],
                ranks,
                answered_hands(hands, tricks[before + LEADER] & 3, value, frames[f + ALPHA], frames[f + BETA]),
            )
            t = before
            step = RETURN

        if step == RETURN:  # the card tried last has a value
            ply = frames[f + PLY]
            alpha = frames[f + ALPHA]
            beta = frames[f + BETA]
            if frames[f + SCOUT] == NARROW and alpha < value < beta:
                frames[f + SCOUT] = FULL
                card = frames[f + CARD]
                step = PLAY
            else:
                if ply & 1:
                    cut = value <= alpha
                    if value < frames[f + VALUE]:
                        frames[f + VALUE] = value
                        beta = min(beta, value)
                        frames[f + BETA] = beta
                else:
                    cut = value >= beta
                    if value > frames[f + VALUE]:
                        frames[f + VALUE] = value
                        frames[f + BEST_CARD] = frames[f + CARD]
                        alpha = max(alpha, value)
                        frames[f + ALPHA] = alpha
                frames[f + RANKS] = ranks if cut else frames[f + RANKS] | ranks
                count = frames[f + COUNT]
                if cut or count == 0:
                    value = frames[f + VALUE]
                    if f == 0:
                        return value
                    ranks = frames[f + RANKS]
                    if ply == 0:
                        leader = tricks[t + LEADER] & 3
                        remaining = tricks[t + REMAINING]
                        key = position_key(owners, shapes, remaining, leader, tricks[t + SWEEPERS])
                        store(
                            table,
                            bucket_of(key, buckets_mask),
                            key,
                            plain_owners(owners, remaining),
                            epoch,
                            remaining,
                            value if value > frames[f + FLOOR] else NO_LOW,
                            value if value < frames[f + BETA] else NO_HIGH,
                            ranks,
                            hands[leader] & remaining,
                            frames[f + BEST_CARD],
                            counts[NODES],
                        )
                        step = LEAVE
                    f = (f - FRAME_WORDS) & FRAMES_MASK
                    continue
                card = next_move(frames, f + MOVES, count)
                frames[f + COUNT] = count - 1
                frames[f + SCOUT] = NARROW if beta > alpha + 1 else FULL
                step = PLAY

        # Play `card`, and whatever is forced after it, up to the next choice or the end of the trick.
        frames[f + CARD] = card
        alpha = frames[f + ALPHA]
        beta = frames[f + BETA]
        ply = frames[f + PLY]
        if frames[f + SCOUT] == NARROW:
            if ply & 1:
                alpha = beta - 1
            else:
                beta = alpha + 1
        led = frames[f + LED]
        best = frames[f + BEST]
        holder = frames[f + HOLDER]
        trick = frames[f + TRICK]
        held = frames[f + HELD]
        leader = tricks[t + LEADER] & 3
        remaining = tricks[t + REMAINING]
        while True:
            trick |= card
            if ply == 0:
                led = suit_at(bits.lowest(card))
                best = card
                holder = 0
            elif takes_trick(card, best, led):
                best = card
                holder = ply
            ply += 1
            if ply == 4:
                break
            seat = (leader + ply) & 3
            hand = hands[seat] & remaining
            ours = (holder ^ ply) & 1 == 0
            card = playable(hand, led, TRUMPS, stronger_trumps(best), ours, must_undertrump, must_overtrump_partner)
            if ply > 1 and hand & led == 0 and hand & TRUMPS:
                held |= rank_winner(best, trick, led)
            if card & (card - 1):
                after = (f + FRAME_WORDS) & FRAMES_MASK
                count = list_follows(
                    frames,
                    after + MOVES,
                    hand,
                    card,
                    led,
                    best,
                    remaining & ~(trick | hand),
                    ours,
                    hands[(seat + 1) & 3] & remaining if ply < 3 else 0,
                    hands[seat ^ 2] & remaining if ply == 1 else 0,
                    board_points(trick),
                )
                card = next_move(frames, after + MOVES, count)
                if count > 1:
                    counts[CHOICES] += 1
                    f = after
                    frames[f + COUNT] = count - 1
                    frames[f + ALPHA] = alpha
                    frames[f + BETA] = beta
                    frames[f + VALUE] = FAR if ply & 1 else -FAR
                    frames[f + RANKS] = 0
                    frames[f + SCOUT] = FULL
                    frames[f + CARD] = card
                    frames[f + PLY] = ply
                    frames[f + LED] = led
                    frames[f + BEST] = best
                    frames[f + HOLDER] = holder
                    frames[f + TRICK] = trick
                    frames[f + HELD] = held
        points = board_points(trick)
        left = tricks[t + LEFT] - points
        sweepers = tricks[t + SWEEPERS]
        t = (t + TRICK_WORDS) & TRICKS_MASK
        winner = (leader + holder) & 3
        tricks[t + LEADER] = winner
        tricks[t + REMAINING] = remaining ^ trick
        tricks[t + LEFT] = left
        tricks[t + SWEEPERS] = sweepers & (1 << (winner & 1))
        tricks[t + FALLEN] = trick
        tricks[t + WINNER] = best
        tricks[t + WINNER_LED] = led
        tricks[t + WINNER_HELD] = held
        if holder & 1:
            tricks[t + SIGN] = -1
            tricks[t + OFFSET] = left
            alpha, beta = left - beta, left - alpha
        else:
            tricks[t + SIGN] = 1
            tricks[t + OFFSET] = points
            alpha, beta = alpha - points, beta - points
        step = ENTER
