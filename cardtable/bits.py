"""Card sets as integers: bit c of an int64 says whether card c is in the set.

Sets hold at most 62 cards, so that they stay positive. Everything here is `int64`: mixing in `uint64` would make
numba fall back to floats. The bit instructions come from LLVM and exist on every processor; with
`NUMBA_DISABLE_JIT=1` Python's integers do the same work.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from cardtable.compiled import JIT_DISABLED, compiled

if JIT_DISABLED:

    def _count_ones(word):
        return int(word).bit_count()

    def _trailing_zeros(word):
        word = int(word)
        return (word & -word).bit_length() - 1

    def _leading_zeros(word):
        return 64 - int(word).bit_length()

else:

    @intrinsic
    def _count_ones(typing_context, word):
        return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])

    @intrinsic
    def _trailing_zeros(typing_context, word):
        def build(context, builder, signature, args):
            return builder.cttz(args[0], context.get_constant(types.boolean, False))

        return types.int64(types.int64), build

    @intrinsic
    def _leading_zeros(typing_context, word):
        def build(context, builder, signature, args):
            return builder.ctlz(args[0], context.get_constant(types.boolean, False))

        return types.int64(types.int64), build


@compiled
def count(cards):
    """Number of cards in the set."""
    return _count_ones(cards)


@compiled
def lowest(cards):
    """The lowest card id in a set that is not empty."""
    return _trailing_zeros(cards)


@compiled
def highest(cards):
    """The highest card id in a set that is not empty."""
    return 63 - _leading_zeros(cards)


@compiled
def nth(cards, n):
    """The n-th lowest card id (n = 0 is the lowest) of a set with more than n cards."""
    for _ in range(n):
        cards &= cards - 1
    return _trailing_zeros(cards)


@compiled
def contains(cards, card):
    return (cards >> card) & 1 == 1


@compiled
def suit_cards(suit, ranks):
    """All cards of a suit in a deck whose ids are suit * ranks + rank."""
    return ((1 << ranks) - 1) << (suit * ranks)


@compiled
def list_cards(cards, offset, out):
    """Writes the ids of a set in ascending order, each plus `offset`, into `out`; returns how many."""
    n = 0
    while cards:
        out[n] = _trailing_zeros(cards) + offset
        cards &= cards - 1
        n += 1
    return n
