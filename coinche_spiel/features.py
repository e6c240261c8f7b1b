"""What a network is told of a position of Coinche, from the chair of the player to move.

Seats are relative: 0 is the player to move, the partner is 2. Suits come in an order of their own: while cards are
played, trumps first and then the suit led; the rest, and all suits during the auction, by what the player holds of
them, most first. Where that does not decide, everything else that the features tell of a suit does, so that suits with
other names give the same numbers. Hidden cards are not looked at.

The context is laid out as the offsets below say. An action is its card or its call, and what follows of it here: for a
card whether it wins the trick, what can still beat it and what it carries; for a bid what the player holds in that suit
and beside it, and who has named it before.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Features
from cardtable.tricks import write_cards
from coinche_spiel.cards import ACE, JACK, NINE, NUM_CARDS, NUM_RANKS, NUM_SUITS, ONE_SUIT, TEN, TOTAL_POINTS
from coinche_spiel.play import BEATERS, CARD_POINTS
from coinche_spiel.state import (
    ABSENT,
    BEATING,
    CAPOT,
    CARDS_PLAYED,
    COINCHE,
    COINCHER,
    DEALER,
    FIRST_BID,
    HAND,
    HOLDER,
    LED,
    MAX_PLAYERS,
    MAX_TRICKS,
    MAX_VALUES,
    NONE,
    NUM_TEAMS,
    PASS,
    PASSES,
    PHASE,
    PLAYERS,
    PLAYING,
    POINTS,
    SUITS,
    SURCOINCHE,
    SURCOINCHER,
    TRICK_POINTS,
    TRICKS,
    TRUMP,
    TURN,
    VALUE,
    attacking_team,
    bid_of_value,
    contract_value,
    level,
    played_card,
    player_of,
)

OTHERS = MAX_PLAYERS - 1
NUM_VALUES = MAX_VALUES + 1  # with capot
NUM_LEVELS = 3
PARTNER = 2
MOST_POINTS = 20  # of a card

# The context.
OWN = 0  # the hand
UNSEEN = OWN + NUM_CARDS  # with another seat, or not dealt
PLAYED = UNSEEN + NUM_CARDS  # by each seat, in the whole deal
TABLE = PLAYED + MAX_PLAYERS * NUM_CARDS  # by each of the other seats, in this trick
LACKING = TABLE + OTHERS * NUM_CARDS  # unseen cards that each of the other seats cannot hold
MASTERS = LACKING + OTHERS * NUM_CARDS  # own cards with nothing unseen above them in their suit
WINNING = MASTERS + NUM_CARDS  # own cards that would win the trick as it lies
LENGTHS = WINNING + NUM_CARDS  # own cards and unseen ones of each suit
BIDS = LENGTHS + 2 * NUM_SUITS  # for each value: who called it, and in which suit
COINCHED_BY = BIDS + NUM_VALUES * (MAX_PLAYERS + NUM_SUITS)
SURCOINCHED_BY = COINCHED_BY + MAX_PLAYERS
PASSED = SURCOINCHED_BY + MAX_PLAYERS  # how many since the last call that was not a pass
CONTRACT_SUIT = PASSED + MAX_PLAYERS
CONTRACT_VALUE = CONTRACT_SUIT + NUM_SUITS
CONTRACT_LEVEL = CONTRACT_VALUE + NUM_VALUES
WE_ATTACK = CONTRACT_LEVEL + NUM_LEVELS
MISSING = WE_ATTACK + 1  # points that the attack still needs
POINTS_OF = MISSING + 1  # of the own team, then of the other one
TRICKS_OF = POINTS_OF + NUM_TEAMS
PLAYS = TRICKS_OF + NUM_TEAMS
DEALT_BY = PLAYS + 1
TRICK_NUMBER = DEALT_BY + MAX_PLAYERS
POSITION = TRICK_NUMBER + MAX_TRICKS  # in the trick
WINNER = POSITION + MAX_PLAYERS  # whose the trick is so far
TABLE_POINTS = WINNER + MAX_PLAYERS
CONTEXT_SIZE = TABLE_POINTS + 1

# An action: the card, or the call with its value and suit; then what follows of it.
CALL = NUM_CARDS  # pass, coinche, surcoinche, bid
CALL_VALUE = CALL + 4
CALL_SUIT = CALL_VALUE + NUM_VALUES
OF_CARD = CALL_SUIT + NUM_SUITS
NUM_OF_CARD = 20
OF_BID = OF_CARD + NUM_OF_CARD
NUM_OF_BID = 14
ACTION_SIZE = OF_BID + NUM_OF_BID


@compiled
def _relative(state, seat, player):
    return (seat - player) & (state[PLAYERS] - 1)


@compiled
def _known(state, player):
    """Cards played by each relative seat, those of this trick by each, and all that the player has not seen."""
    played = np.zeros(MAX_PLAYERS, np.int64)
    table = np.zeros(MAX_PLAYERS, np.int64)
    unseen = state[deck.DECK_CARDS] & ~state[HAND + player]
    start = state[CARDS_PLAYED] & -state[PLAYERS]
    for index in range(state[CARDS_PLAYED]):
        seat = _relative(state, player_of(state, index), player)
        one = 1 << played_card(state, index)
        played[seat] |= one
        unseen &= ~one
        if index >= start:
            table[seat] = one
    return played, table, unseen


@compiled
def _suit_places(state, player, played, table):
    """place[s]: where suit s stands in the player's own order."""
    keys = np.zeros((NUM_SUITS, 3), np.int64)
    for suit in range(state[SUITS]):
        shift = NUM_RANKS * suit
        own = state[HAND + player] >> shift & ONE_SUIT
        if state[PHASE] == PLAYING:
            if suit == state[TRUMP]:
                keys[suit, 0] |= 2 << 12
            if state[LED] >> shift & ONE_SUIT:
                keys[suit, 0] |= 1 << 12
        keys[suit, 0] |= bits.count(own) << NUM_RANKS | own
        for seat in range(MAX_PLAYERS):
            keys[suit, 1] = keys[suit, 1] << NUM_RANKS | (played[seat] >> shift & ONE_SUIT)
            if seat > 0:
                keys[suit, 1] = keys[suit, 1] << NUM_RANKS | (table[seat] >> shift & ONE_SUIT)
    for value in range(NUM_VALUES):
        bid = bid_of_value(state, value)
        if bid:
            keys[(bid - 1) & 3, 2] |= (1 + _relative(state, (bid - 1) >> 2, player)) << 3 * value
    for suit in range(state[SUITS]):
        for seat in range(1, state[PLAYERS]):
            lacking = state[ABSENT + ((player + seat) & (state[PLAYERS] - 1))]
            keys[suit, 2] = keys[suit, 2] << NUM_RANKS | (lacking >> NUM_RANKS * suit & ONE_SUIT)
    place = np.empty(NUM_SUITS, np.int64)
    for suit in range(NUM_SUITS):
        before = 0
        for other in range(NUM_SUITS):
            if _is_ahead(keys, other, suit):
                before += 1
        place[suit] = before
    return place


@compiled
def _is_ahead(keys, one, other):
    for word in range(keys.shape[1]):
        if keys[one, word] != keys[other, word]:
            return keys[one, word] > keys[other, word]
    return one < other


@compiled
def _renamed(cards, place):
    """A card set under the player's own names of the suits."""
    found = 0
    for suit in range(NUM_SUITS):
        found |= (cards >> NUM_RANKS * suit & ONE_SUIT) << NUM_RANKS * place[suit]
    return found


@compiled
def _stronger(state, card):
    """The cards of its own suit that beat a card: as a trump if it is one."""
    trump = state[TRUMP] if state[PHASE] == PLAYING else NONE
    suit = card // NUM_RANKS
    if suit == trump:
        return BEATERS[trump * NUM_CARDS + card]
    return ONE_SUIT << NUM_RANKS * suit & -(2 << card)


@compiled
def _own_masters(state, hand, unseen):
    found = 0
    left = hand
    while left:
        card = bits.lowest(left)
        left &= left - 1
        if _stronger(state, card) & unseen == 0:
            found |= 1 << card
    return found


@compiled
def context(state, out):
    player = state[TURN]
    players = state[PLAYERS]
    hand = state[HAND + player]
    played, table, unseen = _known(state, player)
    place = _suit_places(state, player, played, table)
    write_cards(_renamed(hand, place), OWN, out)
    write_cards(_renamed(unseen, place), UNSEEN, out)
    write_cards(_renamed(_own_masters(state, hand, unseen), place), MASTERS, out)
    for seat in range(players):
        write_cards(_renamed(played[seat], place), PLAYED + seat * NUM_CARDS, out)
        if seat > 0:
            lacking = state[ABSENT + ((player + seat) & (players - 1))] & unseen
            write_cards(_renamed(table[seat], place), TABLE + (seat - 1) * NUM_CARDS, out)
            write_cards(_renamed(lacking, place), LACKING + (seat - 1) * NUM_CARDS, out)
    for suit in range(state[SUITS]):
        cards = ONE_SUIT << NUM_RANKS * suit
        out[LENGTHS + place[suit]] = bits.count(hand & cards) / NUM_RANKS
        out[LENGTHS + NUM_SUITS + place[suit]] = bits.count(unseen & cards) / NUM_RANKS
    for value in range(NUM_VALUES):
        bid = bid_of_value(state, value)
        if bid:
            row = BIDS + value * (MAX_PLAYERS + NUM_SUITS)
            out[row + _relative(state, (bid - 1) >> 2, player)] = 1.0
            out[row + MAX_PLAYERS + place[(bid - 1) & 3]] = 1.0
    for caller, where in ((state[COINCHER], COINCHED_BY), (state[SURCOINCHER], SURCOINCHED_BY)):
        if caller != NONE:
            out[where + _relative(state, caller, player)] = 1.0
    out[PASSED + state[PASSES]] = 1.0
    out[DEALT_BY + _relative(state, state[DEALER], player)] = 1.0
    if state[VALUE] != NONE:
        out[CONTRACT_SUIT + place[state[TRUMP]]] = 1.0
        out[CONTRACT_VALUE + state[VALUE]] = 1.0
        out[CONTRACT_LEVEL + level(state)] = 1.0
        attack = attacking_team(state)
        out[WE_ATTACK] = 1.0 if attack == player & 1 else 0.0
        wanted = TOTAL_POINTS if state[VALUE] == CAPOT else contract_value(state)
        out[MISSING] = (wanted - state[POINTS + attack]) / TOTAL_POINTS
    if state[PHASE] == PLAYING:
        in_trick = state[CARDS_PLAYED] & (players - 1)
        out[PLAYS] = 1.0
        out[TRICK_NUMBER + state[CARDS_PLAYED] // players] = 1.0
        out[POSITION + in_trick] = 1.0
        for side in range(NUM_TEAMS):
            team = (player + side) & 1
            out[POINTS_OF + side] = state[POINTS + team] / TOTAL_POINTS
            out[TRICKS_OF + side] = state[TRICKS + team] / MAX_TRICKS
        if in_trick > 0:
            write_cards(_renamed(hand & state[BEATING], place), WINNING, out)
            out[WINNER + _relative(state, state[HOLDER], player)] = 1.0
            out[TABLE_POINTS] = state[TRICK_POINTS] / (2 * MOST_POINTS)


@compiled
def _describe_card(state, player, card, unseen, row):
    players = state[PLAYERS]
    hand = state[HAND + player]
    one = 1 << card
    trump = state[TRUMP]
    suit = ONE_SUIT << (card & -NUM_RANKS)
    is_trump = card // NUM_RANKS == trump
    higher = _stronger(state, card)
    lower = suit & ~higher & ~one
    in_trick = state[CARDS_PLAYED] & (players - 1)
    leads = in_trick == 0
    wins = leads or state[BEATING] & one != 0
    partner_holds = not leads and (state[HOLDER] ^ player) & 1 == 0
    led = suit if leads else state[LED]
    trumps = ONE_SUIT << NUM_RANKS * trump
    over = 0  # opponents still to come who may have a higher card of this suit
    ruffs = 0  # opponents still to come who lack the suit of the trick and may have trumps
    for step in range(1, players - in_trick):
        if step & 1:
            lacking = state[ABSENT + ((player + step) & (players - 1))]
            if unseen & higher & ~lacking:
                over += 1
            if led != trumps and unseen & led & ~lacking == 0 and unseen & trumps & ~lacking:
                ruffs += 1
    points = CARD_POINTS[trump * NUM_CARDS + card] / MOST_POINTS
    row[0] = 1.0 if is_trump else 0.0
    row[1] = bits.count(higher) / NUM_RANKS
    row[2] = points
    row[3] = 1.0 if wins else 0.0
    row[4] = 1.0 if wins and not leads else 0.0
    row[5] = 1.0 if wins and in_trick == players - 1 else 0.0
    row[6] = 1.0 if wins and over == 0 and ruffs == 0 else 0.0
    row[7] = 1.0 if unseen & higher == 0 else 0.0
    row[8] = bits.count(unseen & higher) / NUM_RANKS
    row[9] = bits.count(unseen & lower) / NUM_RANKS
    row[10] = bits.count(hand & higher) / NUM_RANKS
    row[11] = bits.count(hand & lower) / NUM_RANKS
    row[12] = 1.0 if leads else 0.0
    row[13] = 1.0 if not leads and one & led else 0.0
    row[14] = 1.0 if not leads and not one & led and is_trump else 0.0
    row[15] = 1.0 if not leads and not one & led and not is_trump else 0.0
    row[16] = over / 2
    row[17] = ruffs / 2
    row[18] = points if partner_holds and not wins else 0.0
    row[19] = state[TRICK_POINTS] / (2 * MOST_POINTS) if wins else 0.0


@compiled
def _describe_bid(state, player, value, suit, row):
    """What the player holds in the suit and beside it; who has named the suit, and how far above the contract."""
    hand = state[HAND + player]
    own = hand >> NUM_RANKS * suit & ONE_SUIT
    side = hand & ~(ONE_SUIT << NUM_RANKS * suit)
    count = bits.count(own)
    row[0] = count / NUM_RANKS
    row[1] = own >> JACK & 1
    row[2] = own >> NINE & 1
    row[3] = own >> ACE & 1
    row[4] = own >> TEN & 1
    row[5] = 1.0 if own >> JACK & 1 and own >> NINE & 1 else 0.0
    row[6] = 1.0 if own >> JACK & 1 and count >= 3 else 0.0
    for other in range(state[SUITS]):
        cards = side >> NUM_RANKS * other & ONE_SUIT
        if other != suit:
            row[7] += (cards >> ACE & 1) / NUM_SUITS
            row[8] += 1 / NUM_SUITS if cards >> TEN & 1 and bits.count(cards) >= 2 else 0.0
            row[9] += 1 / NUM_SUITS if cards == 0 else 0.0
    for earlier in range(NUM_VALUES):
        bid = bid_of_value(state, earlier)
        if bid and (bid - 1) & 3 == suit:
            caller = _relative(state, (bid - 1) >> 2, player)
            if caller == 0:
                row[10] = 1.0
            elif caller == PARTNER:
                row[11] = 1.0
            else:
                row[12] = 1.0
    row[13] = (value - state[VALUE]) / NUM_VALUES


@compiled
def actions(state, choices, count, out):
    player = state[TURN]
    played, table, unseen = _known(state, player)
    place = _suit_places(state, player, played, table)
    for index in range(count):
        action = choices[index]
        row = out[index]
        if action < NUM_CARDS:
            row[bits.lowest(_renamed(1 << action, place))] = 1.0
            _describe_card(state, player, action, unseen, row[OF_CARD:OF_BID])
        elif action == PASS:
            row[CALL] = 1.0
        elif action == COINCHE:
            row[CALL + 1] = 1.0
        elif action == SURCOINCHE:
            row[CALL + 2] = 1.0
        else:
            value, suit = (action - FIRST_BID) // NUM_SUITS, (action - FIRST_BID) % NUM_SUITS
            row[CALL + 3] = 1.0
            row[CALL_VALUE + value] = 1.0
            row[CALL_SUIT + place[suit]] = 1.0
            _describe_bid(state, player, value, suit, row[OF_BID:ACTION_SIZE])


FEATURES = Features(CONTEXT_SIZE, ACTION_SIZE, context, actions)
