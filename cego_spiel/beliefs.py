"""What a player can infer about the cards she does not see, and drawing them again accordingly.

Everybody knows the sub-game, hence which hands the single player may have been dealt, and remembers every card played,
hence who is void in what. On top of that

* the single player of Standard-Cego knows the blind and her Legage; otherwise the blind is hidden from her too;
* her opponents know neither her hand nor the blind (or Legage), only that her *dealt* hand satisfies the restriction,
  and in Standard-Cego that the cards she plays are among the two best of it and the nine best of the blind.

All deals that agree with this are equally likely. Void suits and hand sizes are what `cardtable.redeal` handles; so
are the restrictions of Bettel (no high card) and Piccolo (one high card, a pile of its own), and trump 1 in Ultimo. In
Solo and Ultimo the number of trumps in the single player's hand is drawn first, by the deals it leaves; a deal whose
dealt hand is not valid is drawn again. Standard-Cego has its own count, `_redeal_exchanged`.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.randomness import sample_index, uniform
from cardtable.redeal import count_deals, draw, redeal
from cardtable.tricks import NUM_SEATS
from cego_spiel.cards import HIGH, LOW, NUM_CARDS, PLAIN, TRUMP_1, TRUMPS, card_at
from cego_spiel.restrictions import HAND_SIZE, START, is_valid
from cego_spiel.state import (
    BLIND,
    BLIND_SIZE,
    HAND,
    KEPT_CARDS,
    LEGAGE,
    PICCOLO,
    RESTRICTION,
    SINGLE_PLAYER,
    SOLO,
    STANDARD,
    SUBGAME,
    ULTIMO,
    VOID,
    exchange,
)

# While an opponent looks, these piles are the single player's hand: MAIN, and EXTRA for the high card of Piccolo and
# the trumps of Solo and Ultimo.
EXTRA = 0
MAIN = 4
ANY_HAND = START["none"]
ANY_HAND_WITH_TRUMP_1 = START["trump 1"]
FEWEST_TRUMPS = 7  # in a hand that is valid in Solo or Ultimo


@compiled
def resample(state, player, generator):
    if state[SUBGAME] == STANDARD:
        if player == SINGLE_PLAYER:
            _resample_for_single_player(state, False, generator)
        else:
            _redeal_exchanged(state, player, generator)
    elif player == SINGLE_PLAYER:
        _resample_for_single_player(state, True, generator)
    else:
        _resample_for_opponent(state, player, generator)


@compiled
def _resample_for_single_player(state, blind_is_hidden, generator):
    """Her own hand is no news to her: only sizes and voids matter."""
    needs = np.zeros(NUM_SEATS + 1, np.int64)
    forbidden = np.zeros(NUM_SEATS + 1, np.int64)
    piles = np.zeros(NUM_SEATS + 1, np.int64)
    unseen = 0
    for seat in range(1, NUM_SEATS):
        unseen |= state[HAND + seat]
        needs[seat] = bits.count(state[HAND + seat])
        forbidden[seat] = state[VOID + seat]
    if blind_is_hidden:
        unseen |= state[deck.DEALT + BLIND]
        needs[BLIND] = BLIND_SIZE
    redeal(unseen, needs, forbidden, NUM_SEATS + 1, piles, generator)
    for seat in range(1, NUM_SEATS):
        _give(state, seat, piles[seat])
    if blind_is_hidden:
        state[deck.DEALT + BLIND] = piles[BLIND]


@compiled
def _give(state, seat, hand):
    """Replaces what a seat still holds; what it has played stays."""
    state[deck.DEALT + seat] = state[deck.DEALT + seat] ^ state[HAND + seat] | hand
    state[HAND + seat] = hand


@compiled
def _resample_for_opponent(state, player, generator):
    """Piles 1 to 3 are hands, but the pile of the player who looks is the blind; the single player's hand is in two
    parts, MAIN and EXTRA."""
    needs = np.zeros(NUM_SEATS + 1, np.int64)
    forbidden = np.zeros(NUM_SEATS + 1, np.int64)
    piles = np.zeros(NUM_SEATS + 1, np.int64)
    unseen = state[deck.DEALT + BLIND] | state[HAND + SINGLE_PLAYER]
    for seat in range(1, NUM_SEATS):
        if seat != player:
            unseen |= state[HAND + seat]
            needs[seat] = bits.count(state[HAND + seat])
            forbidden[seat] = state[VOID + seat]
    needs[player] = BLIND_SIZE
    needs[MAIN] = bits.count(state[HAND + SINGLE_PLAYER])
    forbidden[MAIN] = state[VOID + SINGLE_PLAYER]
    played = state[deck.DEALT + SINGLE_PLAYER] ^ state[HAND + SINGLE_PLAYER]

    subgame = state[SUBGAME]
    known = 0  # what everybody knows her to hold
    if subgame == ULTIMO and bits.contains(unseen, TRUMP_1):
        known = 1 << TRUMP_1
        unseen ^= known
        needs[MAIN] -= 1
    weights = np.zeros(HAND_SIZE + 1)
    restricted = state[RESTRICTION] not in (ANY_HAND, ANY_HAND_WITH_TRUMP_1)
    count_trumps = restricted and subgame in (SOLO, ULTIMO)
    if count_trumps:
        forbidden[EXTRA] = state[VOID + SINGLE_PLAYER] | PLAIN
        forbidden[MAIN] |= TRUMPS
        _weigh_numbers_of_trumps(unseen, bits.count((played | known) & TRUMPS), needs, forbidden, weights)
    elif restricted:  # Bettel or Piccolo
        forbidden[MAIN] |= HIGH
        if subgame == PICCOLO and played & HIGH == 0:  # the one high card is still in her hand
            needs[MAIN] -= 1
            needs[EXTRA] = 1
            forbidden[EXTRA] = state[VOID + SINGLE_PLAYER] | LOW

    held = needs[MAIN] + needs[EXTRA]
    while True:
        if count_trumps:
            needs[EXTRA] = sample_index(generator, weights, held + 1)
            needs[MAIN] = held - needs[EXTRA]
        redeal(unseen, needs, forbidden, NUM_SEATS + 1, piles, generator)
        hand = piles[EXTRA] | piles[MAIN] | known
        if not count_trumps or is_valid(state[RESTRICTION], played | hand):
            break
    _give(state, SINGLE_PLAYER, hand)
    for seat in range(1, NUM_SEATS):
        if seat != player:
            _give(state, seat, piles[seat])
    state[deck.DEALT + BLIND] = piles[player]


@compiled
def _weigh_numbers_of_trumps(unseen, known_trumps, needs, forbidden, weights):
    """How likely each number of trumps among the cards of the single player is that nobody has seen."""
    held = needs[MAIN]
    total = 0.0
    for trumps in range(max(0, FEWEST_TRUMPS - known_trumps), held + 1):
        needs[EXTRA] = trumps
        needs[MAIN] = held - trumps
        weights[trumps] = count_deals(unseen, needs, forbidden, NUM_SEATS + 1)
        total += weights[trumps]
    for trumps in range(held + 1):
        weights[trumps] /= total


@compiled
def _redeal_exchanged(state, player, generator):
    """Deals hands, the single player's dealt cards and the blind such that the exchange gives a hand she may have.

    Cards are dealt from the best to the worst of the strength order. Of the dealt cards (D) the first two, and of the
    blind (B) the first nine, make her hand; there she holds nothing she is void in, and there must be all she has
    played. So what may happen to a card depends only on how many cards D and B have before it. With r cards in the hand
    of the first of the two other opponents, the number of ways to deal the rest is a table over (D, B, r); what the
    second has follows. The restriction on the dealt hand is checked at the end, and the deal drawn again if it fails.
    """
    first = 2 if player == 1 else 1
    second = 2 if player == 3 else 3
    table = (state[deck.DEALT + SINGLE_PLAYER] | state[deck.DEALT + BLIND]) & ~state[LEGAGE]
    played = table ^ state[HAND + SINGLE_PLAYER]
    unseen = state[HAND + SINGLE_PLAYER] | state[LEGAGE] | state[HAND + first] | state[HAND + second]
    void = state[VOID + SINGLE_PLAYER] & ~played
    first_size = bits.count(state[HAND + first])
    second_size = bits.count(state[HAND + second])
    first_void, second_void = state[VOID + first], state[VOID + second]
    # Hands with the same voids are dealt as one and split afterwards.
    together = unseen & first_void == unseen & second_void
    if together:
        room_1, room_2 = first_size + second_size, 0
    else:
        room_1, room_2 = first_size, second_size

    cards = np.empty(NUM_CARDS, np.int64)
    num_cards = 0
    for order in range(NUM_CARDS - 1, -1, -1):
        if bits.contains(played | unseen, card_at(order)):
            cards[num_cards] = card_at(order)
            num_cards += 1

    ways = np.empty((num_cards + 1, HAND_SIZE + 1, BLIND_SIZE + 1, room_1 + 1))
    ways[num_cards, HAND_SIZE, BLIND_SIZE, room_1] = 1.0
    for index in range(num_cards - 1, -1, -1):
        card = 1 << cards[index]
        for dealt in range(min(index, HAND_SIZE) + 1):
            for blind in range(min(index - dealt, BLIND_SIZE) + 1):
                others = index - dealt - blind
                for held in range(max(0, others - room_2), min(others, room_1) + 1):
                    to_dealt, to_blind = _may_receive(card, played, void, dealt, blind)
                    total = 0.0
                    if to_dealt:
                        total += ways[index + 1, dealt + 1, blind, held]
                    if to_blind:
                        total += ways[index + 1, dealt, blind + 1, held]
                    if held < room_1 and card & (played | first_void) == 0:
                        total += ways[index + 1, dealt, blind, held + 1]
                    if others - held < room_2 and card & (played | second_void) == 0:
                        total += ways[index + 1, dealt, blind, held]
                    ways[index, dealt, blind, held] = total

    piles = np.zeros(4, np.int64)  # dealt, blind, first, second
    while True:
        piles[:] = 0
        dealt, blind, held = 0, 0, 0
        for index in range(num_cards):
            card = 1 << cards[index]
            to_dealt, to_blind = _may_receive(card, played, void, dealt, blind)
            left = uniform(generator) * ways[index, dealt, blind, held]
            if to_dealt:
                left -= ways[index + 1, dealt + 1, blind, held]
                if left < 0.0:
                    piles[0] |= card
                    dealt += 1
                    continue
            if to_blind:
                left -= ways[index + 1, dealt, blind + 1, held]
                if left < 0.0:
                    piles[1] |= card
                    blind += 1
                    continue
            if held < room_1 and card & (played | first_void) == 0:
                left -= ways[index + 1, dealt, blind, held + 1]
                if left < 0.0:
                    piles[2] |= card
                    held += 1
                    continue
            piles[3] |= card
        if is_valid(state[RESTRICTION], piles[0]):
            break
    if together:
        both = piles[2]
        piles[2] = draw(both, first_size, generator)
        piles[3] = both ^ piles[2]
    _give(state, first, piles[2])
    _give(state, second, piles[3])
    state[deck.DEALT + SINGLE_PLAYER] = piles[0]
    state[deck.DEALT + BLIND] = piles[1]
    exchange(state)
    state[HAND + SINGLE_PLAYER] ^= played


@compiled
def _may_receive(card, played, void, dealt, blind):
    """Whether the dealt cards and the blind may receive a card, when they have so many better ones."""
    to_dealt = dealt < HAND_SIZE and card & (void if dealt < KEPT_CARDS else played) == 0
    to_blind = blind < BLIND_SIZE and card & (void if blind < BLIND_SIZE - 1 else played) == 0
    return to_dealt, to_blind
