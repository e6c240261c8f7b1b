"""The heuristic players of the Coinche paper, simple and strong, as compiled functions.

The paper describes them in words (its section on agents) and its program departs from the words in several places; this
follows the words. Both heuristic players open with a suit of their own if their partner has been silent, raise their
partner once, never coinche, and say nothing after their first contract. A *reraising* player, the most literal
reading, may raise its partner again.

They play every variant: a value that cannot be bid there is a pass.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.cards import ACE, JACK, NINE, NUM_CARDS, NUM_RANKS, NUM_SUITS, ONE_SUIT, TEN, TRUMP_STRENGTH
from coinche_spiel.play import CARD_POINTS, legal_cards
from coinche_spiel.state import (
    BEATING,
    BIDDING,
    CAPOT,
    COINCHER,
    FIRST_BID,
    HAND,
    LED,
    MIN_BID,
    NONE,
    NUM_VALUES,
    PASS,
    PHASE,
    TRUMP,
    TRUMPS,
    TURN,
    VALUE,
    attacking_team,
    bid_of_value,
)
from coinche_spiel.state import (
    PLAYERS as NUM_PLAYERS,
)

HIGHEST_BID = 160
NO_BID = 0

_ACES = sum(1 << ACE + NUM_RANKS * suit for suit in range(NUM_SUITS))
_STRENGTH_AS_TRUMP = np.array(TRUMP_STRENGTH, np.int64)


@compiled
def simple_player(state, generator):
    if state[PHASE] == BIDDING:
        return simple_call(state, False)
    return simple_card(state)


@compiled
def simple_reraising_player(state, generator):
    if state[PHASE] == BIDDING:
        return simple_call(state, True)
    return simple_card(state)


@compiled
def strong_player(state, generator):
    if state[PHASE] == BIDDING:
        return strong_call(state, False)
    return strong_card(state)


@compiled
def strong_reraising_player(state, generator):
    if state[PHASE] == BIDDING:
        return strong_call(state, True)
    return strong_card(state)


# Opening bids. Both return value * 4 + suit, or NO_BID; the highest value, then the longest, then the first suit wins.


@compiled
def simple_opening(hand):
    """90 with J and 9, and a third trump or an ace outside; 80 with J or 9, and three trumps or two and an ace."""
    best = NO_BID
    most = 0
    for suit in range(NUM_SUITS):
        cards = hand >> NUM_RANKS * suit & ONE_SUIT
        length = bits.count(cards)
        has_jack = bits.contains(cards, JACK)
        has_nine = bits.contains(cards, NINE)
        ace_outside = hand & _ACES & ~(ONE_SUIT << NUM_RANKS * suit) != 0
        value = NO_BID
        if has_jack and has_nine and (length >= 3 or ace_outside):
            value = 90
        elif (has_jack or has_nine) and (length >= 3 or (length >= 2 and ace_outside)):
            value = 80
        if value > NO_BID and 16 * value + length > most:
            most = 16 * value + length
            best = NUM_SUITS * value + suit
    return best


@compiled
def strong_opening(hand):
    """110 with J, 9, A and 10; 90 with J, 9 and a third trump; 80 with J or 9, and the ace of the suit or length 3."""
    best = NO_BID
    most = 0
    for suit in range(NUM_SUITS):
        cards = hand >> NUM_RANKS * suit & ONE_SUIT
        length = bits.count(cards)
        has_jack = bits.contains(cards, JACK)
        has_nine = bits.contains(cards, NINE)
        has_ace = bits.contains(cards, ACE)
        value = NO_BID
        if has_jack and has_nine and has_ace and bits.contains(cards, TEN):
            value = 110
        elif has_jack and has_nine and length >= 3:
            value = 90
        elif (has_jack or has_nine) and (has_ace or length >= 3):
            value = 80
        if value > NO_BID and 16 * value + length > most:
            most = 16 * value + length
            best = NUM_SUITS * value + suit
    return best


# Calls.


@compiled
def simple_call(state, reraise):
    if _must_be_silent(state, reraise):
        return PASS
    hand = state[HAND + state[TURN]]
    if _partners_bid(state) == NO_BID:
        return _open(state, simple_opening(hand))
    return _raise(state, 1)


@compiled
def strong_call(state, reraise):
    if _must_be_silent(state, reraise):
        return PASS
    hand = state[HAND + state[TURN]]
    if _partners_bid(state) == NO_BID:
        return _open(state, strong_opening(hand))
    return _raise(state, 2)


@compiled
def _must_be_silent(state, reraise):
    """Once the contract is coinched; and after an own contract call, unless the player may raise again."""
    if state[COINCHER] != NONE:
        return True
    return not reraise and _last_bid_of(state, state[TURN]) != NO_BID


@compiled
def _last_bid_of(state, seat):
    """The last contract of a seat as value * 4 + suit (a capot has its own value), or NO_BID."""
    for value in range(CAPOT, -1, -1):
        bid = bid_of_value(state, value)
        if bid and (bid - 1) >> 2 == seat:
            return NUM_SUITS * (state[MIN_BID] + 10 * value) + ((bid - 1) & 3)
    return NO_BID


@compiled
def _partners_bid(state):
    """The last contract of the partner; a game for two has no partners."""
    return NO_BID if state[NUM_PLAYERS] == 2 else _last_bid_of(state, state[TURN] ^ 2)


@compiled
def _open(state, opening):
    """An opening bid, ten more over an opponent's 80, silence over anything higher."""
    if opening == NO_BID:
        return PASS
    value = opening // NUM_SUITS
    if state[VALUE] != NONE:  # the partner has been silent, so this is an opponent's
        if state[MIN_BID] + 10 * state[VALUE] > 80:
            return PASS
        value += 10
    return _bid(state, value, opening % NUM_SUITS)


@compiled
def _raise(state, length_for_nine):
    """Partner's 80 or 90 plus 20 for the J, 10 for the 9 (in a suit that long) and 10 for every ace outside."""
    partners = _partners_bid(state)
    value = partners // NUM_SUITS
    suit = partners % NUM_SUITS
    if value != 80 and value != 90:
        return PASS
    hand = state[HAND + state[TURN]]
    cards = hand >> NUM_RANKS * suit & ONE_SUIT
    more = 10 * bits.count(hand & _ACES & ~(ONE_SUIT << NUM_RANKS * suit))
    if bits.contains(cards, JACK):
        more += 20
    if bits.contains(cards, NINE) and bits.count(cards) >= length_for_nine:
        more += 10
    return PASS if more == 0 else _bid(state, value + more, suit)


@compiled
def _bid(state, value, suit):
    """The contract as an action if it can be bid: higher than the last one, at most 160, a value of this variant."""
    index = (value - state[MIN_BID]) // 10
    possible = value <= HIGHEST_BID and state[MIN_BID] + 10 * index == value and index < state[NUM_VALUES]
    if possible and index >= 0 and index > state[VALUE]:
        return FIRST_BID + NUM_SUITS * index + suit
    return PASS


# Cards.


@compiled
def simple_card(state):
    """The strongest legal trump, else the highest legal rank."""
    legal = legal_cards(state)
    trumps = legal & state[TRUMPS]
    return _strongest_trump(trumps) if trumps else _highest_rank(legal)


@compiled
def strong_card(state):
    legal = legal_cards(state)
    if state[LED] == 0:
        if attacking_team(state) == state[TURN] & 1:
            return _attacking_lead(state, legal)
        return _defending_lead(state, legal)
    winning = legal & state[BEATING]  # all of one suit: who can follow must, who cannot wins with trumps only
    if winning == 0:
        return _cheapest(state, legal)
    if winning & state[TRUMPS]:
        return _weakest_trump(winning)
    return bits.lowest(winning)


@compiled
def _attacking_lead(state, hand):
    """The strongest trump; else the ace of the longest side suit; else the lowest card of the shortest side suit."""
    trumps = hand & state[TRUMPS]
    if trumps:
        return _strongest_trump(trumps)
    ace = _ace_by_length(hand, True)
    return ace if ace != NONE else _lowest_of_shortest(hand)


@compiled
def _defending_lead(state, hand):
    """The ace of the shortest side suit; else the cheapest side card; else the weakest trump."""
    side = hand & ~state[TRUMPS]
    if side == 0:
        return _weakest_trump(hand)
    ace = _ace_by_length(side, False)
    return ace if ace != NONE else _cheapest(state, side)


@compiled
def _ace_by_length(cards, longest):
    """The ace of the longest (or shortest) suit that has one, the first of equals; NONE without an ace."""
    chosen = NONE
    chosen_length = 0
    for suit in range(NUM_SUITS):
        ace = NUM_RANKS * suit + ACE
        if bits.contains(cards, ace):
            length = bits.count(cards >> NUM_RANKS * suit & ONE_SUIT)
            if chosen == NONE or (length > chosen_length if longest else length < chosen_length):
                chosen = ace
                chosen_length = length
    return chosen


@compiled
def _lowest_of_shortest(cards):
    """The lowest card of the shortest suit; of equals the suit whose lowest card is lower, then the first."""
    chosen = NONE
    least = 0
    for suit in range(NUM_SUITS):
        suit_cards = cards >> NUM_RANKS * suit & ONE_SUIT
        if suit_cards:
            rank = bits.lowest(suit_cards)
            order = NUM_RANKS * bits.count(suit_cards) + rank
            if chosen == NONE or order < least:
                chosen = NUM_RANKS * suit + rank
                least = order
    return chosen


@compiled
def _cheapest(state, cards):
    """Fewest points; of equals a side card before a trump, then the weaker, then the first suit."""
    chosen = NONE
    least = 0
    while cards:
        card = bits.lowest(cards)
        cards &= cards - 1
        is_trump = bits.contains(state[TRUMPS], card)
        rank = card % NUM_RANKS
        strength = _STRENGTH_AS_TRUMP[rank] if is_trump else rank
        points = CARD_POINTS[state[TRUMP] * NUM_CARDS + card]
        order = 2 * points + is_trump
        order = (order * NUM_RANKS + strength) * NUM_SUITS + card // NUM_RANKS
        if chosen == NONE or order < least:
            chosen = card
            least = order
    return chosen


@compiled
def _strongest_trump(trumps):
    chosen = bits.lowest(trumps)
    while trumps:
        card = bits.lowest(trumps)
        if _STRENGTH_AS_TRUMP[card % NUM_RANKS] > _STRENGTH_AS_TRUMP[chosen % NUM_RANKS]:
            chosen = card
        trumps &= trumps - 1
    return chosen


@compiled
def _weakest_trump(trumps):
    chosen = bits.lowest(trumps)
    while trumps:
        card = bits.lowest(trumps)
        if _STRENGTH_AS_TRUMP[card % NUM_RANKS] < _STRENGTH_AS_TRUMP[chosen % NUM_RANKS]:
            chosen = card
        trumps &= trumps - 1
    return chosen


@compiled
def _highest_rank(cards):
    """The highest rank, of equals the first suit."""
    chosen = bits.lowest(cards)
    while cards:
        card = bits.lowest(cards)
        if card % NUM_RANKS > chosen % NUM_RANKS:
            chosen = card
        cards &= cards - 1
    return chosen
