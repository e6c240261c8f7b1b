"""The table of positions already searched, on patterns instead of cards.

Between tricks a position of a given deal is the set of cards left and the leader. What the table stores about one
position serves many others, in two ways:

*Relative ranks.* Only the order of the cards left in a suit decides tricks, so a suit is described by the owners of its
cards from the top down. Among positions that agree in this, the i-th highest cards of each hand and suit correspond;
they differ in points only. If V is the value for the leader's side (lo <= V <= hi) and corresponding cards are worth p
and p', then the same strategies show

    lo - sum max(0, p - p')  <=  V'  <=  hi + sum max(0, p' - p).

*Partition search* (Ginsberg, "Partition search", 1996). Most proofs never compare low cards: a trick won by the ace
does not depend on who held the 8 and who the 9. The search reports which cards of the plain suits won a trick by their
rank, or held one so when a player had to decide whether to ruff. The owners from the top down to the lowest of these,
the *prefix*, and the number of cards each hand has below it are all that matters in that suit. Trumps are always
compared in full, because the duty to overtrump compares them. An entry therefore matches every position that has the
same trumps by owner, the same suit lengths in every hand (these make the key) and the same owners within the prefixes.

An entry has four words: the key; the cards left, bounds and the best lead; the owners in the three plain suits, 16 bits
each, top card first; the prefixes as a mask on these owners, and the epoch: entries of earlier deals are void.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.bitboards import POSITION_POINTS, SUITS, TRUMP_BYTE, board_points, suit_at
from coinche_spiel.cards import NUM_RANKS, ONE_SUIT

SETS = 1 << NUM_RANKS  # sets of cards within one suit

# Words of an entry.
KEY, DATA, OWNERS, PREFIX = range(4)
ENTRY_WORDS = 4
BUCKET_ENTRIES = 4
BUCKET_WORDS = BUCKET_ENTRIES * ENTRY_WORDS

# Fields of the word DATA: cards left in bits 0 to 31, then the bounds plus BOUND_SHIFT, then the lead.
LOW_AT, HIGH_AT, LEAD_AT = 32, 41, 50
BOUND_MASK = 511
BOUND_SHIFT = 128
NO_LOW = -BOUND_SHIFT
NO_HIGH = BOUND_MASK - BOUND_SHIFT
CARDS_MASK = 0xFFFFFFFF
OWNERS_MASK = 0xFFFFFFFFFFFF
EPOCH_AT = 48
MAX_EPOCH = (1 << 14) - 1

# Fields of the key: owners of the trumps, shapes of the plain suits, the leader, who may still win all tricks.
SHAPE_AT = 17
SHAPE_BITS = 14
LEADER_AT = SHAPE_AT + 3 * SHAPE_BITS
SWEEP_AT = LEADER_AT + 2
MAX_BUCKETS_MASK = (1 << 20) - 1


def _gain_table() -> np.ndarray:
    """What the cards of set b are worth more than those of set a, card by card from the top, counting gains only.

    At index kind * 65536 + a * 256 + b; kind 0 is a plain suit, 1 the trumps.
    """
    gains = np.zeros((2, SETS, SETS), np.uint8)
    from_top = [[bit for bit in reversed(range(NUM_RANKS)) if cards >> bit & 1] for cards in range(SETS)]
    for kind, first in ((0, 0), (1, NUM_RANKS * TRUMP_BYTE)):
        worth = [int(points) for points in POSITION_POINTS[first : first + NUM_RANKS]]
        for a, cards_a in enumerate(from_top):
            for b, cards_b in enumerate(from_top):
                if len(cards_a) == len(cards_b):
                    pairs = zip(cards_a, cards_b, strict=True)
                    gains[kind, a, b] = sum(max(0, worth[y] - worth[x]) for x, y in pairs)
    return gains.reshape(-1)


GAINS = _gain_table()

# NTH_FROM_TOP[cards * 8 + n]: the n-th highest card of a set within one suit, 0 if there are not so many.
NTH_FROM_TOP = np.array(
    [
        ([1 << bit for bit in reversed(range(NUM_RANKS)) if cards >> bit & 1] + [0] * NUM_RANKS)[n]
        for cards in range(SETS)
        for n in range(NUM_RANKS)
    ],
    np.uint8,
)


@compiled
def describe_deal(hands, owners, shapes):
    """Fills the tables that turn the cards left in one suit into owners and shapes; index suit byte * 256 + set.

    Owners of a plain suit: two bits per card, the top card in the highest of 16 bits. Owners of the trumps: the same,
    but behind a leading 1 bit so that the length shows. A shape says how many cards each of the four seats has.
    """
    for byte in range(TRUMP_BYTE + 1):
        first = byte * SETS
        present = 0
        for seat in range(4):
            present |= (hands[seat] >> (NUM_RANKS * byte)) & ONE_SUIT
        owners[first] = 1 if byte == TRUMP_BYTE else 0
        shapes[first] = 0
        cards = 0
        while cards != present:
            cards = (cards - present) & present  # the next subset
            low = cards & -cards
            rest = first + (cards ^ low)
            owner = 0
            while (hands[owner] >> (NUM_RANKS * byte)) & low == 0:
                owner += 1
            if byte == TRUMP_BYTE:
                owners[first + cards] = (owners[rest] << 2) | owner
            else:
                above = shapes[rest] >> 10
                owners[first + cards] = owners[rest] | (owner << (14 - 2 * above))
                # the number of cards of seats 0 to 2 as digits to base 9, then that of all seats
                digit = 1 if owner == 0 else (9 if owner == 1 else (81 if owner == 2 else 0))
                shapes[first + cards] = shapes[rest] + 1024 + digit


@compiled
def position_key(owners, shapes, remaining, leader, sweepers):
    return (
        owners[TRUMP_BYTE * SETS + (remaining >> 24)]
        | (shapes[remaining & 255] << SHAPE_AT)
        | (shapes[SETS + ((remaining >> 8) & 255)] << (SHAPE_AT + SHAPE_BITS))
        | (shapes[2 * SETS + ((remaining >> 16) & 255)] << (SHAPE_AT + 2 * SHAPE_BITS))
        | (leader << LEADER_AT)
        | (sweepers << SWEEP_AT)
    )


@compiled
def plain_owners(owners, remaining):
    return (
        owners[remaining & 255]
        | (owners[SETS + ((remaining >> 8) & 255)] << 16)
        | (owners[2 * SETS + ((remaining >> 16) & 255)] << 32)
    )


@compiled
def bucket_of(key, buckets_mask):
    """The first word of the bucket of a key. Products of 31-bit numbers cannot overflow."""
    mixed = (key & 0x7FFFFFFF) * 0x4F1BBCDD ^ (key >> 31) * 0x6C8E9CF5
    return ((mixed ^ (mixed >> 24)) & buckets_mask & MAX_BUCKETS_MASK) * BUCKET_WORDS


@compiled
def matches(table, entry, key, owners, epoch):
    """Whether an entry says something about the position with this key and these owners."""
    if table[entry + KEY] != key:
        return False
    prefix = table[entry + PREFIX]
    return prefix >> EPOCH_AT == epoch and (table[entry + OWNERS] ^ owners) & prefix & OWNERS_MASK == 0


@compiled
def entry_bounds(table, entry, hands, remaining, left, der):
    """The bounds of an entry, for the leader's side, as they apply to the cards now left, worth `left` with `der`."""
    data = table[entry + DATA]
    stored = data & CARDS_MASK
    low = ((data >> LOW_AT) & BOUND_MASK) - BOUND_SHIFT
    high = ((data >> HIGH_AT) & BOUND_MASK) - BOUND_SHIFT
    if stored != remaining:
        gain = point_gain(hands, stored, remaining)
        low -= gain - (left - der - board_points(stored))
        high += gain
    return low, high


@compiled
def point_gain(hands, stored, current):
    """How much more the cards of `current` are worth than the corresponding ones of `stored`, counting gains only."""
    gain = np.int64(0)
    differing = stored ^ current
    for byte in range(TRUMP_BYTE + 1):
        shift = NUM_RANKS * byte
        if (differing >> shift) & ONE_SUIT:
            kind = SETS * SETS if byte == TRUMP_BYTE else 0
            before = (stored >> shift) & ONE_SUIT
            after = (current >> shift) & ONE_SUIT
            for seat in range(4):
                hand = hands[seat] >> shift
                gain += np.int64(GAINS[kind + ((hand & before) * SETS) + (hand & after)])
    return gain


@compiled
def entry_lead(table, entry, hand):
    """The card of `hand` that corresponds to the best lead of the entry."""
    lead = (table[entry + DATA] >> LEAD_AT) & 31
    shift = lead & 24
    return np.int64(NTH_FROM_TOP[((hand >> shift) & ONE_SUIT) * NUM_RANKS + (lead & 7)]) << shift


@compiled
def entry_ranks(table, entry, remaining):
    """The lowest card of each prefix of the entry, among the cards now left."""
    prefix = table[entry + PREFIX]
    ranks = np.int64(0)
    for byte in range(TRUMP_BYTE):
        length = bits.count((prefix >> (16 * byte)) & 0xFFFF) >> 1
        if length:
            cards = (remaining >> (NUM_RANKS * byte)) & ONE_SUIT
            ranks |= np.int64(NTH_FROM_TOP[cards * NUM_RANKS + length - 1]) << (NUM_RANKS * byte)
    return ranks


@compiled
def prefix_mask(remaining, ranks):
    """The mask on owners that covers, in each plain suit, the cards from the top down to the lowest in `ranks`."""
    mask = 0
    for byte in range(TRUMP_BYTE):
        cards = ranks & SUITS[byte]
        if cards:
            length = bits.count(remaining & SUITS[byte] & -(cards & -cards))
            mask |= (0xFFFF & (0xFFFF0000 >> (2 * length))) << (16 * byte)
    return mask


@compiled
def store(table, bucket, key, owners, epoch, remaining, low, high, ranks, hand, lead, spare):
    """Stores bounds: over the same position, else over a void entry, else over entry number `spare` of the bucket."""
    prefix = prefix_mask(remaining, ranks)
    target = bucket + (spare & (BUCKET_ENTRIES - 1)) * ENTRY_WORDS
    for entry in range(bucket, bucket + BUCKET_WORDS, ENTRY_WORDS):
        if table[entry + PREFIX] >> EPOCH_AT != epoch:
            target = entry
            break
        if table[entry + KEY] == key and table[entry + DATA] & CARDS_MASK == remaining:
            data = table[entry + DATA]
            old_low = ((data >> LOW_AT) & BOUND_MASK) - BOUND_SHIFT
            old_high = ((data >> HIGH_AT) & BOUND_MASK) - BOUND_SHIFT
            if old_low > low or old_high < high:
                low = max(low, old_low)
                high = min(high, old_high)
                prefix |= table[entry + PREFIX] & OWNERS_MASK
            target = entry
            break
    position = bits.lowest(lead)
    number = bits.count(hand & suit_at(position) & -(lead << 1))  # counted from the top of the suit in that hand
    table[target + KEY] = key
    table[target + DATA] = (
        remaining
        | ((low + BOUND_SHIFT) << LOW_AT)
        | ((high + BOUND_SHIFT) << HIGH_AT)
        | (((position & 24) | number) << LEAD_AT)
    )
    table[target + OWNERS] = owners
    table[target + PREFIX] = prefix | (epoch << EPOCH_AT)
