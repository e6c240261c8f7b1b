"""Which cards the search tries at a turn, and in which order.

*Candidates.* Cards of one hand with no foreign card between them form a run: they beat and lose to the same cards,
and differ in points only. If it is settled which side gets the trick, one card of each run will do: the highest if it
is the player's own side (points taken now are safe), the lowest if it is the other. If it is not settled, one of
several worthless cards of a run will do. Nothing is lost by that; the value stays exact.

*Order.* Every candidate gets a score, a sum of a few weights, and the best is tried first. The weights were found by
hill climbing on the number of positions visited over random deals; they influence the speed only, never the result.
"""

from __future__ import annotations

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.bitboards import POSITION_POINTS, SUITS, TRUMPS, suit_at
from coinche_spiel.cards import NUM_CARDS, NUM_RANKS

NUM_PLAIN = len(SUITS) - 1
SUIT_STARTS = sum(1 << NUM_RANKS * byte for byte in range(len(SUITS)))  # the lowest card of each suit
WORTHLESS = sum(1 << position for position in range(NUM_CARDS) if POSITION_POINTS[position] == 0)

# A move is a number that sorts by score: score << 5 | position of the card.
POSITION_BITS = 5

# Weights for leads.
TRIED_BEFORE = 1090  # this card was best when the position, or one like it, was searched before
TRUMP_LEAD = -62
TRUMP_LEAD_PER_POINT = -10
TOP_TRUMP = 47
TOP_TRUMP_DRAWS = 162  # and the opponents have trumps
RUFFED_SUIT = -105  # an opponent would ruff
RUFFED_SUIT_BY_NEXT = 253  # the next player would
RUFFED_SUIT_PER_POINT = -25
RUFFED_TOP = -90
RUFFED_SUIT_PARTNER_TOO = 21
OWN_TOP_SUIT = 83
OWN_TOP = 659
OWN_TOP_PER_POINT = 2
PARTNER_TOP_SUIT = 202
PARTNER_TOP_PER_POINT = 30
PARTNER_RUFFS = 105
PARTNER_RUFFS_PER_POINT = 3
NEXT_TOP_SUIT = -47
NEXT_TOP_PER_POINT = -6
LAST_TOP_SUIT = -6
LAST_TOP_PER_POINT = -21

# Weights for followers.
SURE_WINNER = 223
SURE_WINNER_OVER_PARTNER = 46
SURE_WINNER_PER_POINT = -4
SURE_WINNER_TRUMP = -143
SURE_WINNER_PER_TRICK_POINT = -2
RISKY_WINNER = -127
RISKY_WINNER_PER_POINT = -15
RISKY_WINNER_TRUMP = -58
LOADED = 206  # on a trick that is already won
LOADED_PER_POINT = 18
LOADED_TRUMP = -366
EXPOSED = -80  # under a partner who may yet be beaten
EXPOSED_PER_POINT = -23
EXPOSED_TRUMP = -148
HOPEFUL = 36  # under an opponent whom the partner may yet beat
HOPEFUL_PER_POINT = 5
HOPEFUL_TRUMP = -191
LOST = 92  # on a trick that is lost
LOST_PER_POINT = -16
LOST_TRUMP = -237
DISCARDED_TOP = -156
DISCARDED_SINGLE = 55


@compiled
def lowest_of_runs(own, foreign):
    """The lowest card of each run of `own`: cards without a card of `foreign` between them."""
    kept = 0
    barriers = foreign | SUIT_STARTS
    while own:
        card = own & -own
        kept |= card
        above = barriers & -(card << 1)
        own &= -(above & -above)
    return kept


@compiled
def highest_of_runs(own, foreign):
    """The highest card of each run of `own`."""
    kept = 0
    barriers = foreign | SUIT_STARTS
    while own:
        above = barriers & -((own & -own) << 1)
        barrier = above & -above
        kept |= 1 << bits.highest(own & (barrier - 1))
        own &= -barrier
    return kept


@compiled
def merge_worthless(own, foreign):
    """`own` with only one of the worthless cards of each run."""
    worthless = own & WORTHLESS
    if worthless & (worthless - 1):
        return (own ^ worthless) | lowest_of_runs(worthless, foreign)
    return own


@compiled
def beating(hand, best, led):
    """The cards with which a hand can beat `best`; empty if there is no hand."""
    following = hand & led
    return (following if following else hand & TRUMPS) & -(best << 1)


@compiled
def top_of(cards):
    """The highest card, 0 if there is none."""
    return 1 << bits.highest(cards) if cards else 0


@compiled
def above(card):
    """All positions above a card, and all positions if there is no card."""
    return -(card << 1) if card else -1


@compiled
def list_leads(frames, moves, hand, partner, next_opponent, last_opponent, hint):
    """Writes the candidates for a lead, as moves, to `frames` from index `moves` on; returns how many."""
    count = 0
    foreign = partner | next_opponent | last_opponent
    opponents_trump = (next_opponent | last_opponent) & TRUMPS != 0
    next_trumps = next_opponent & TRUMPS != 0
    last_trumps = last_opponent & TRUMPS != 0
    partner_trumps = partner & TRUMPS != 0
    for byte in range(NUM_PLAIN + 1):
        suit = SUITS[byte]
        cards = hand & suit
        if cards == 0:
            continue
        top_foreign = top_of(foreign & suit)
        own_tops = cards & above(top_foreign)
        cards = merge_worthless(cards, foreign)
        per_point = 0
        top_bonus = 0
        if byte == NUM_PLAIN:
            score = TRUMP_LEAD
            per_point = TRUMP_LEAD_PER_POINT
            top_bonus = TOP_TRUMP + TOP_TRUMP_DRAWS if opponents_trump else TOP_TRUMP
            wins = True
        else:
            next_ruffs = next_trumps and next_opponent & suit == 0
            last_ruffs = last_trumps and last_opponent & suit == 0
            partner_ruffs = partner_trumps and partner & suit == 0
            wins = not (next_ruffs or last_ruffs)
            if not wins:
                score = RUFFED_SUIT
                if next_ruffs:
                    score += RUFFED_SUIT_BY_NEXT
                if partner_ruffs:
                    score += RUFFED_SUIT_PARTNER_TOO
                per_point = RUFFED_SUIT_PER_POINT
                top_bonus = RUFFED_TOP
            elif own_tops:
                score = OWN_TOP_SUIT
                per_point = OWN_TOP_PER_POINT
                top_bonus = OWN_TOP
            elif partner & top_foreign:
                score = PARTNER_TOP_SUIT
                per_point = PARTNER_TOP_PER_POINT
            elif partner_ruffs:
                score = PARTNER_RUFFS
                per_point = PARTNER_RUFFS_PER_POINT
            elif next_opponent & top_foreign:
                score = NEXT_TOP_SUIT
                per_point = NEXT_TOP_PER_POINT
            else:
                score = LAST_TOP_SUIT
                per_point = LAST_TOP_PER_POINT
        top = top_of(own_tops)
        if wins and own_tops & (own_tops - 1):
            cards = (cards & ~own_tops) | top  # the tops are a run, and whichever is led takes the trick
        while cards:
            position = bits.lowest(cards)
            card = cards & -cards
            cards ^= card
            total = score + per_point * POSITION_POINTS[position]
            if card == top:
                total += top_bonus
            if card == hint:
                total += TRIED_BEFORE
            frames[moves + count] = (total << POSITION_BITS) | position
            count += 1
    return count


@compiled
def list_follows(frames, moves, hand, legal, led, best, others, ours, later_opponent, later_partner, trick_points):
    """Writes the candidates of a follower, as moves, to `frames` from index `moves` on; returns how many.

    `others` are the hands of the other players; `ours` says whether the player's side holds the trick with `best`;
    `later_opponent` and `later_partner` are the hands yet to play to the trick, 0 if there is none.
    """
    foreign = others | best
    winners = legal & (led | TRUMPS) & -(best << 1)
    losers = legal ^ winners
    count = 0
    if winners:
        # Nobody beats a card above the strongest answer of the opponent to come.
        following = later_opponent & led
        answer = top_of(following if following else later_opponent & TRUMPS)
        sure = winners & above(answer)
        risky = winners ^ sure
        score = SURE_WINNER + SURE_WINNER_PER_TRICK_POINT * trick_points
        if ours:
            score += SURE_WINNER_OVER_PARTNER
        count = _list(
            frames, moves, count, highest_of_runs(sure, foreign), score, SURE_WINNER_PER_POINT, SURE_WINNER_TRUMP
        )
        count = _list(
            frames,
            moves,
            count,
            merge_worthless(risky, foreign),
            RISKY_WINNER,
            RISKY_WINNER_PER_POINT,
            RISKY_WINNER_TRUMP,
        )
    if losers:
        if ours:
            if beating(later_opponent, best, led):
                losers = merge_worthless(losers, foreign)
                score, per_point, trump = EXPOSED, EXPOSED_PER_POINT, EXPOSED_TRUMP
            else:
                losers = highest_of_runs(losers, foreign)
                score, per_point, trump = LOADED, LOADED_PER_POINT, LOADED_TRUMP
        elif beating(later_partner, best, led):
            losers = merge_worthless(losers, foreign)
            score, per_point, trump = HOPEFUL, HOPEFUL_PER_POINT, HOPEFUL_TRUMP
        else:
            losers = lowest_of_runs(losers, foreign)
            score, per_point, trump = LOST, LOST_PER_POINT, LOST_TRUMP
        discards = losers & ~(led | TRUMPS)
        count = _list(frames, moves, count, losers ^ discards, score, per_point, trump)
        count = _list_discards(frames, moves, count, discards, hand, others, score, per_point)
    return count


@compiled
def _list(frames, moves, count, cards, score, per_point, trump):
    while cards:
        position = bits.lowest(cards)
        cards &= cards - 1
        total = score + per_point * POSITION_POINTS[position]
        if position >= NUM_RANKS * NUM_PLAIN:
            total += trump
        frames[moves + count] = (total << POSITION_BITS) | position
        count += 1
    return count


@compiled
def _list_discards(frames, moves, count, cards, hand, others, score, per_point):
    """Cards of other plain suits: better not the top of its suit, rather the last one of a suit."""
    while cards:
        position = bits.lowest(cards)
        card = cards & -cards
        cards ^= card
        suit = suit_at(position)
        total = score + per_point * POSITION_POINTS[position]
        if card > others & suit:
            total += DISCARDED_TOP
        if hand & suit == card:
            total += DISCARDED_SINGLE
        frames[moves + count] = (total << POSITION_BITS) | position
        count += 1
    return count


@compiled
def next_move(frames, moves, count):
    """Takes the move with the highest score out of a list: puts the last in its place. Returns the card."""
    best = moves
    for index in range(moves + 1, moves + count):
        if frames[index] > frames[best]:
            best = index
    move = frames[best]
    frames[best] = frames[moves + count - 1]
    return 1 << (move & ((1 << POSITION_BITS) - 1))
