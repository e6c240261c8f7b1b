"""What a network is told of a position of Cego, from the chair of the player to move.

Seats are relative: 0 is the player to move, 1 to 3 the others in the order of play. Plain suits come in an order of
their own: the suit led first, then those of which the player holds most; where that does not decide, everything else
that the features tell of a suit does, so that suits with other names give the same numbers. Cards are numbered in that
order, trumps as ever. Hidden cards are not looked at.

The context is laid out as the offsets below say; an action is its card (one of 54) and what follows of it here: whether
it wins the trick now and for good, what is above and below it, who comes after and can ruff.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.rules import Features
from cardtable.tricks import NUM_SEATS, beats, played_card, write_cards
from cego_spiel.cards import (
    ALL_CARDS,
    HALF_POINTS,
    NUM_CARDS,
    NUM_SUITS,
    SUIT_SIZE,
    TRUMP_1,
    TRUMPS,
    half_points,
    suit_of,
)
from cego_spiel.restrictions import HAND_SIZE
from cego_spiel.state import (
    BEST_CARD,
    BEST_SEAT,
    CARDS_PLAYED,
    HAND,
    LED_SUIT,
    LEGAGE,
    PICCOLO,
    POINTS,
    RAEUBER,
    SINGLE_PLAYER,
    SUBGAME,
    TABLE_HALF_POINTS,
    TRICKS,
    TRICKS_WON,
    TURN,
    VOID,
)

NUM_PLAIN_SUITS = NUM_SUITS - 1
OTHERS = NUM_SEATS - 1
SUIT_MASK = (1 << SUIT_SIZE) - 1
POINT_UNIT = 1 / 40  # half points are told in units of twenty points, so that they are about one

# The context.
OWN = 0  # the hand
UNSEEN = OWN + NUM_CARDS  # neither in the hand nor played nor in the own Legage
PLAYED = UNSEEN + NUM_CARDS  # by each of the other seats, in the whole game
TABLE = PLAYED + OTHERS * NUM_CARDS  # by each of the other seats, in this trick
WINNING = TABLE + OTHERS * NUM_CARDS  # own cards that would win the trick as it lies
MASTERS = WINNING + NUM_CARDS  # own cards with nothing unseen above them in their suit
VOIDS = MASTERS + NUM_CARDS  # of each of the other seats
LENGTHS = VOIDS + OTHERS * NUM_SUITS  # own cards and unseen ones of each suit
TRICKS_OF = LENGTHS + 2 * NUM_SUITS  # won by each seat
POINTS_OF = TRICKS_OF + NUM_SEATS  # of the tricks of each seat; of the single player, with what she alone knows
TRICK_NUMBER = POINTS_OF + NUM_SEATS
POSITION = TRICK_NUMBER + HAND_SIZE  # in the trick
SINGLE = POSITION + NUM_SEATS  # where the single player (in Räuber: seat 0) sits
WINNER = SINGLE + NUM_SEATS  # whose the trick is so far
PARTNER_WINS = WINNER + NUM_SEATS
TABLE_POINTS = PARTNER_WINS + 1
CONTEXT_SIZE = TABLE_POINTS + 1

# An action: the card, then what follows of it.
DETAILS = NUM_CARDS
NUM_DETAILS = 30
ACTION_SIZE = NUM_CARDS + NUM_DETAILS


@compiled
def _seen(state, player):
    """Cards played by each relative seat, and all that the player has seen: the hand, played cards, her Legage."""
    played = np.zeros(NUM_SEATS, np.int64)
    seen = state[HAND + player]
    if player == SINGLE_PLAYER:
        seen |= state[LEGAGE]
    for index in range(state[CARDS_PLAYED]):
        seat, card = played_card(state, TRICKS, index)
        played[(seat - player) % NUM_SEATS] |= 1 << card
        seen |= 1 << card
    return played, seen


@compiled
def _on_table(state, player):
    """Cards of the present trick by relative seat."""
    table = np.zeros(NUM_SEATS, np.int64)
    count = state[CARDS_PLAYED] % NUM_SEATS
    for index in range(state[CARDS_PLAYED] - count, state[CARDS_PLAYED]):
        seat, card = played_card(state, TRICKS, index)
        table[(seat - player) % NUM_SEATS] = 1 << card
    return table


@compiled
def _suit_places(state, player, played, table, seen):
    """place[s]: where plain suit s stands in the player's own order."""
    first = np.empty(NUM_PLAIN_SUITS, np.int64)
    rest = np.empty(NUM_PLAIN_SUITS, np.int64)
    hand = state[HAND + player]
    on_table = table[1] | table[2] | table[3]
    for suit in range(NUM_PLAIN_SUITS):
        shift = suit * SUIT_SIZE
        own = hand >> shift & SUIT_MASK
        led = 1 if state[LED_SUIT] >> shift & SUIT_MASK else 0
        first[suit] = (led << 4 | bits.count(own)) << SUIT_SIZE | own
        known = seen >> shift & SUIT_MASK
        known = known << SUIT_SIZE | (on_table >> shift & SUIT_MASK)
        for seat in range(1, NUM_SEATS):
            known = known << SUIT_SIZE | (played[seat] >> shift & SUIT_MASK)
            known = known << 1 | (state[VOID + (player + seat) % NUM_SEATS] >> shift & 1)
        rest[suit] = known
    place = np.empty(NUM_PLAIN_SUITS, np.int64)
    for suit in range(NUM_PLAIN_SUITS):
        before = 0
        for other in range(NUM_PLAIN_SUITS):
            ahead = first[other] > first[suit] or (first[other] == first[suit] and rest[other] > rest[suit])
            same = first[other] == first[suit] and rest[other] == rest[suit]
            if ahead or (same and other < suit):
                before += 1
        place[suit] = before
    return place


@compiled
def _renamed(cards, place):
    """A card set under the player's own names of the suits."""
    found = cards & TRUMPS
    for suit in range(NUM_PLAIN_SUITS):
        found |= (cards >> suit * SUIT_SIZE & SUIT_MASK) << place[suit] * SUIT_SIZE
    return found


@compiled
def _suit(number):
    return TRUMPS if number == NUM_PLAIN_SUITS else SUIT_MASK << number * SUIT_SIZE


@compiled
def _masters(hand, unseen):
    """Cards of the hand above everything unseen of their suit."""
    found = 0
    for number in range(NUM_SUITS):
        suit = _suit(number)
        left = unseen & suit
        above = suit if left == 0 else suit & ~((2 << bits.highest(left)) - 1)
        found |= hand & above
    return found


@compiled
def _are_partners(state, one, other):
    return state[SUBGAME] != RAEUBER and one != SINGLE_PLAYER and other != SINGLE_PLAYER


@compiled
def _known_points(state, seat, player):
    """Half points of a seat's tricks, with the Legage if the player knows it."""
    points = state[POINTS + seat]
    if seat == SINGLE_PLAYER and player == SINGLE_PLAYER:
        points += half_points(state[LEGAGE])
    return points


@compiled
def context(state, out):
    player = state[TURN]
    hand = state[HAND + player]
    played, seen = _seen(state, player)
    table = _on_table(state, player)
    place = _suit_places(state, player, played, table, seen)
    unseen = ALL_CARDS & ~seen
    write_cards(_renamed(hand, place), OWN, out)
    write_cards(_renamed(unseen, place), UNSEEN, out)
    write_cards(_renamed(_masters(hand, unseen), place), MASTERS, out)
    in_trick = state[CARDS_PLAYED] % NUM_SEATS
    winning = 0
    for number in range(NUM_SUITS):
        suit = _suit(number)
        shown = number if number == NUM_PLAIN_SUITS else place[number]
        out[LENGTHS + shown] = bits.count(hand & suit) / SUIT_SIZE
        out[LENGTHS + NUM_SUITS + shown] = bits.count(unseen & suit) / SUIT_SIZE
        for seat in range(1, NUM_SEATS):
            if bits.contains(state[VOID + (player + seat) % NUM_SEATS], bits.lowest(suit)):
                out[VOIDS + (seat - 1) * NUM_SUITS + shown] = 1.0
    for seat in range(1, NUM_SEATS):
        write_cards(_renamed(played[seat], place), PLAYED + (seat - 1) * NUM_CARDS, out)
        write_cards(_renamed(table[seat], place), TABLE + (seat - 1) * NUM_CARDS, out)
    for step in range(NUM_SEATS):
        seat = (player + step) % NUM_SEATS
        # In Piccolo a trick of the single player turns everything round: it is told as loudly as anything else.
        is_all = state[SUBGAME] == PICCOLO and seat == SINGLE_PLAYER
        out[TRICKS_OF + step] = state[TRICKS_WON + seat] / (1 if is_all else HAND_SIZE)
        out[POINTS_OF + step] = _known_points(state, seat, player) * POINT_UNIT
    out[TRICK_NUMBER + state[CARDS_PLAYED] // NUM_SEATS] = 1.0
    out[POSITION + in_trick] = 1.0
    out[SINGLE + (SINGLE_PLAYER - player) % NUM_SEATS] = 1.0
    if in_trick > 0:
        cards = hand
        while cards:
            card = bits.lowest(cards)
            cards &= cards - 1
            if beats(card, state[BEST_CARD], state[LED_SUIT], TRUMPS):
                winning |= 1 << card
        write_cards(_renamed(winning, place), WINNING, out)
        out[WINNER + (state[BEST_SEAT] - player) % NUM_SEATS] = 1.0
        out[PARTNER_WINS] = 1.0 if _are_partners(state, player, state[BEST_SEAT]) else 0.0
        out[TABLE_POINTS] = state[TABLE_HALF_POINTS] * POINT_UNIT


@compiled
def actions(state, choices, count, out):
    player = state[TURN]
    hand = state[HAND + player]
    played, seen = _seen(state, player)
    table = _on_table(state, player)
    place = _suit_places(state, player, played, table, seen)
    unseen = ALL_CARDS & ~seen
    in_trick = state[CARDS_PLAYED] % NUM_SEATS
    led_suit = state[LED_SUIT]
    partner_wins = in_trick > 0 and _are_partners(state, player, state[BEST_SEAT])
    single_wins = in_trick > 0 and state[SUBGAME] != RAEUBER and state[BEST_SEAT] == SINGLE_PLAYER
    opponents_after = 0
    partners_after = 0
    for step in range(1, NUM_SEATS - in_trick):
        if _are_partners(state, player, (player + step) % NUM_SEATS):
            partners_after += 1
        else:
            opponents_after += 1
    table_points = state[TABLE_HALF_POINTS]
    unseen_trumps = bits.count(unseen & TRUMPS)
    for index in range(count):
        card = choices[index]
        suit = suit_of(card)
        one = 1 << card
        higher = suit & ~((one << 1) - 1)
        lower = suit & (one - 1)
        leads = in_trick == 0
        wins = leads or beats(card, state[BEST_CARD], led_suit, TRUMPS)
        tricks_suit = suit if leads else led_suit
        ruffs = 0  # opponents after the player who lack the suit of the trick and may have trumps
        over = 0  # opponents after the player who may have a higher card of this suit
        for step in range(1, NUM_SEATS - in_trick):
            seat = (player + step) % NUM_SEATS
            if _are_partners(state, player, seat):
                continue
            void = state[VOID + seat]
            if tricks_suit != TRUMPS and void & tricks_suit and not void & TRUMPS and unseen_trumps > 0:
                ruffs += 1
            if unseen & higher & ~void:
                over += 1
        points = HALF_POINTS[card] * POINT_UNIT
        row = out[index]
        row[bits.lowest(_renamed(one, place))] = 1.0
        row[DETAILS] = 1.0 if suit == TRUMPS else 0.0
        row[DETAILS + 1] = (card - TRUMP_1) / 21 if suit == TRUMPS else 0.0
        row[DETAILS + 2] = card % SUIT_SIZE / 7 if suit != TRUMPS else 0.0
        row[DETAILS + 3] = points * 4
        row[DETAILS + 4] = 1.0 if wins else 0.0
        row[DETAILS + 5] = 1.0 if wins and not leads else 0.0
        row[DETAILS + 6] = 1.0 if wins and in_trick == NUM_SEATS - 1 else 0.0
        row[DETAILS + 7] = 1.0 if wins and ruffs == 0 and over == 0 else 0.0
        row[DETAILS + 8] = 1.0 if unseen & higher == 0 else 0.0
        row[DETAILS + 9] = bits.count(unseen & higher) / SUIT_SIZE
        row[DETAILS + 10] = bits.count(unseen & lower) / SUIT_SIZE
        row[DETAILS + 11] = bits.count(hand & higher) / SUIT_SIZE
        row[DETAILS + 12] = bits.count(hand & lower) / SUIT_SIZE
        row[DETAILS + 13] = 1.0 if leads else 0.0
        row[DETAILS + 14] = 1.0 if not leads and suit == led_suit else 0.0
        row[DETAILS + 15] = 1.0 if not leads and suit != led_suit and suit == TRUMPS else 0.0
        row[DETAILS + 16] = 1.0 if not leads and suit != led_suit and suit != TRUMPS else 0.0
        row[DETAILS + 17] = ruffs / OTHERS
        row[DETAILS + 18] = over / OTHERS
        row[DETAILS + 19] = opponents_after / OTHERS
        row[DETAILS + 20] = partners_after / OTHERS
        row[DETAILS + 21] = 1.0 if partner_wins and not wins else 0.0
        row[DETAILS + 22] = 1.0 if single_wins and not wins else 0.0
        row[DETAILS + 23] = (table_points + HALF_POINTS[card]) * POINT_UNIT if wins else 0.0
        row[DETAILS + 24] = points * 4 if partner_wins and not wins else 0.0
        row[DETAILS + 25] = 1.0 if card == TRUMP_1 else 0.0
        row[DETAILS + 26] = 1.0 if hand & lower == 0 else 0.0
        row[DETAILS + 27] = 1.0 if hand & higher == 0 else 0.0
        # Nothing unseen between this card and the next higher own one: they are the same but for points.
        next_own = hand & higher
        between = higher if next_own == 0 else higher & ((1 << bits.lowest(next_own)) - 1)
        row[DETAILS + 28] = 1.0 if next_own != 0 and unseen & between == 0 else 0.0
        row[DETAILS + 29] = unseen_trumps / 22


FEATURES = Features(CONTEXT_SIZE, ACTION_SIZE, context, actions)
