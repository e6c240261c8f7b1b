"""Players for the full deck: Mr. If and Mr. Greed of Shi, Li and Sun (2021), and Mr. Team for rollouts.

A compiled player is choose(state, generator) -> card for the seat to move; it looks only at what that seat knows.

* `mr_if` follows fixed rules: it keeps clear of the pig and the transformer, sheds danger, and wants the sheep.
* `mr_greed` looks one trick ahead: it deals the unseen cards again twenty times and lets the later players of the
  trick reply greedily with open hands.
* `mr_team` is Mr. If with a sense for the partner: it gives the partner sheep and the opponents pigs. It costs as
  little, and is made as a policy for rollouts.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.randomness import below
from cardtable.tricks import NUM_SEATS, beats, following, played_card
from gongzhu_spiel.rules import legal_cards, raw_points, resample
from gongzhu_spiel.state import (
    ACE,
    BEST_CARD,
    BEST_SEAT,
    CARDS_PLAYED,
    HAND,
    JACK,
    KING,
    LED_SUIT,
    MAX_RANKS,
    NO_TRUMPS,
    QUEEN,
    TABLE,
    TAKEN,
    TEN,
    TRICKS,
    TURN,
    require_full_deck,
)

# Ids of a full deck: thirteen cards a suit, spades, hearts, diamonds, clubs, the deuce lowest.
SUIT_SIZE = MAX_RANKS
SPADE, HEART, DIAMOND, CLUB = 0, 13, 26, 39  # the deuces

SPADE_QUEEN, SPADE_KING, SPADE_ACE = SPADE + QUEEN, SPADE + KING, SPADE + ACE
DIAMOND_JACK = DIAMOND + JACK
CLUB_TEN = CLUB + TEN
SPADES, HEARTS, DIAMONDS, CLUBS = (0b1111111111111 << first for first in (SPADE, HEART, DIAMOND, CLUB))

TOP_SPADES = 0b111 << SPADE_QUEEN  # Q K A
TOP_HEARTS = 0b111 << HEART + QUEEN
DIAMONDS_OVER_JACK = 0b111 << DIAMOND + QUEEN
CLUBS_FROM_TEN = 0b11111 << CLUB_TEN  # 10 J Q K A
CLUBS_OVER_TEN = 0b1111 << CLUB + JACK


# Mr. If

AVOIDED_LEADS = TOP_SPADES | 0b11 << HEART + KING | CLUBS_FROM_TEN | 1 << DIAMOND_JACK
SHED_FIRST = np.array(
    [SPADE_QUEEN, HEART + ACE, SPADE_ACE, SPADE_KING, HEART + KING, CLUB_TEN, CLUB + ACE]
    + [HEART + QUEEN, HEART + JACK, CLUB + KING, CLUB + QUEEN, CLUB + JACK]
    + [HEART + rank for rank in range(TEN, 2, -1)]  # the ten down to the five
)


@compiled
def mr_if(state, generator):
    require_full_deck(state)
    legal = legal_cards(state)
    if legal & (legal - 1) == 0:
        return bits.lowest(legal)
    led = state[LED_SUIT]
    if led == 0:
        return _lead_of_mr_if(legal, generator)
    if legal & led == 0:
        return _discard_of_mr_if(legal)
    table = state[TABLE]
    is_last = bits.count(table) == NUM_SEATS - 1
    if led == SPADES:
        return _duck(legal, table, SPADE_QUEEN, 0b11 << SPADE_KING, is_last)
    if led == CLUBS:
        return _duck(legal, table, CLUB_TEN, CLUBS_OVER_TEN, is_last)
    if led == DIAMONDS:
        if is_last and bits.contains(legal, DIAMOND_JACK) and table & DIAMONDS_OVER_JACK == 0:
            return DIAMOND_JACK
        return bits.highest(legal & ~(1 << DIAMOND_JACK))
    lower = legal & (1 << bits.highest(table & HEARTS)) - 1
    return bits.highest(lower) if lower else bits.nth(legal, below(generator, bits.count(legal)))


@compiled
def _lead_of_mr_if(hand, generator):
    """The highest card of the shortest safe suit; without one, a card that is not dangerous, if five draws find one."""
    for length in range(1, SUIT_SIZE + 1):
        for suit in (SPADES, HEARTS, DIAMONDS, CLUBS):
            cards = hand & suit
            if bits.count(cards) == length and _is_safe_to_lead(cards):
                return bits.highest(cards)
    size = bits.count(hand)
    for _ in range(5):
        card = bits.nth(hand, below(generator, size))
        if not bits.contains(AVOIDED_LEADS, card):
            return card
    return bits.nth(hand, below(generator, size))


@compiled
def _is_safe_to_lead(cards):
    return cards & (TOP_SPADES | TOP_HEARTS | CLUBS_FROM_TEN | 1 << DIAMOND_JACK) == 0


@compiled
def _discard_of_mr_if(hand):
    for card in SHED_FIRST:
        if bits.contains(hand, card):
            return card
    return bits.highest(_shortest_suit(hand))


@compiled
def _shortest_suit(hand):
    shortest = hand
    for suit in (SPADES, HEARTS, DIAMONDS, CLUBS):
        cards = hand & suit
        if cards and (shortest == hand or bits.count(cards) < bits.count(shortest)):
            shortest = cards
    return shortest


@compiled
def _duck(cards, table, pig, over_pig, is_last):
    """Following in a suit with a card nobody wants, the pig: drop it under a higher card, else stay below."""
    higher = table & over_pig
    if bits.contains(cards, pig) and higher:
        return pig
    if is_last and not bits.contains(table, pig):
        return bits.highest(cards & ~(1 << pig))
    limit = bits.highest(higher) if higher else pig
    lower = cards & (1 << limit) - 1
    return bits.highest(lower if lower else cards)


# Mr. Team

SHEEP_AND_POINTS = HEARTS | 1 << SPADE_QUEEN | 1 << DIAMOND_JACK | 1 << CLUB_TEN


@compiled
def mr_team(state, generator):
    require_full_deck(state)
    legal = legal_cards(state)
    if legal & (legal - 1) == 0:
        return bits.lowest(legal)
    led = state[LED_SUIT]
    if led == 0:
        return _lead_of_mr_if(legal, generator)
    partner_wins = (state[BEST_SEAT] - state[TURN]) % 2 == 0
    if legal & led == 0:
        return _gift_to_partner(legal) if partner_wins else _discard_of_mr_if(legal & ~(1 << DIAMOND_JACK) or legal)
    table = state[TABLE]
    if bits.count(table) < NUM_SEATS - 1:
        return mr_if(state, generator)
    return _last_of_mr_team(state, legal, table, partner_wins)


@compiled
def _gift_to_partner(hand):
    """The sheep; else the highest card that carries no points; else the least of the hearts."""
    if bits.contains(hand, DIAMOND_JACK):
        return DIAMOND_JACK
    harmless = hand & ~SHEEP_AND_POINTS
    if harmless:
        return _highest_rank(harmless)
    return bits.lowest(hand & HEARTS if hand & HEARTS else hand)


@compiled
def _highest_rank(cards):
    best = bits.lowest(cards)
    while cards:
        card = bits.lowest(cards)
        cards &= cards - 1
        if card % SUIT_SIZE > best % SUIT_SIZE:
            best = card
    return best


@compiled
def _last_of_mr_team(state, cards, table, partner_wins):
    """The last player of a trick knows who will have it with each card."""
    best = state[BEST_CARD]
    lower = cards & (1 << best) - 1
    higher = cards ^ lower
    if bits.contains(higher, DIAMOND_JACK):
        return DIAMOND_JACK
    points = raw_points(state, table)
    pigs = 1 << SPADE_QUEEN | 1 << CLUB_TEN
    if partner_wins or points > 0:
        # The team has the trick, or wants it: high cards go now, but no pigs.
        wanted = higher if points > 0 and not partner_wins else cards
        if bits.contains(lower, DIAMOND_JACK) and partner_wins:
            return DIAMOND_JACK
        harmless = wanted & ~pigs
        if harmless:
            return bits.highest(harmless)
    if lower & pigs:
        return bits.highest(lower & pigs)
    if points == 0 and cards & ~(pigs | HEARTS | 1 << DIAMOND_JACK):
        return bits.highest(cards & ~(pigs | 1 << DIAMOND_JACK))
    lower &= ~(1 << DIAMOND_JACK)
    return bits.highest(lower if lower else cards & ~pigs if cards & ~pigs else cards)


# Mr. Greed

NUM_SAMPLES = 20
SHORT_SUIT_TRICKS = 3  # when leading to one of the first tricks, short suits are better
SHORT_SUIT_POINTS = 30.0

# What it is worth to be rid of a card, before looking at what is still out.
_PLAIN_BURDEN = [0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
_HEART_BURDEN = [0, 0, 1, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0]
BURDEN = np.array(_PLAIN_BURDEN + _HEART_BURDEN + _PLAIN_BURDEN + _PLAIN_BURDEN)

# What Mr. Greed has in mind, in an integer array. A place is a position in the trick: 0 leads.
POINTS = 0  # POINTS + seat: raw points captured
HAS_TEN = 4  # HAS_TEN + seat: 1 if the seat has captured the ten of clubs
TO_COME = 8  # raw points still to come, per player
OWN_POINTS = 9  # raw points of the seat that thinks
LEADER = 10
CAPTURED = 11  # cards of finished tricks
HANDS = 12  # HANDS + place
PLAYED = 16  # PLAYED + place: the card of that place
TO_TRY = 20  # TO_TRY + place: cards not yet tried there
IN_SIGHT = 24  # IN_SIGHT + place: hands and table as the player of that place sees them
BEST_SCORE = 28  # BEST_SCORE + place: the best so far of the cards tried, for the player of that place
BEST_VALUE = 32  # BEST_VALUE + place: the value of the trick with that card
MIND_SIZE = 36
NO_SCORE = -1_000_000


@compiled
def mr_greed(state, generator):
    require_full_deck(state)
    legal = legal_cards(state)
    if legal & (legal - 1) == 0:
        return bits.lowest(legal)
    seat = state[TURN]
    place = state[CARDS_PLAYED] % NUM_SEATS
    mind = np.zeros(MIND_SIZE, np.int64)
    _remember(state, seat, place, mind)
    scores = np.zeros(len(BURDEN), np.int64)
    is_last = place == NUM_SEATS - 1
    world = state.copy()
    for _ in range(1 if is_last else NUM_SAMPLES):
        if not is_last:
            resample(world, seat, generator)
        for step in range(place, NUM_SEATS):
            mind[HANDS + step] = world[HAND + (mind[LEADER] + step) % NUM_SEATS]
        cards = legal
        while cards:
            card = bits.lowest(cards)
            cards &= cards - 1
            mind[PLAYED + place] = card
            value = _trick_value(state, mind) if is_last else _value_after_replies(state, mind, place + 1)
            scores[card] += _score(mind, place, value)
    if place == 0 and state[CARDS_PLAYED] < SHORT_SUIT_TRICKS * NUM_SEATS:
        _prefer_short_suits(legal, mind[CAPTURED], scores)
    return _first_best(legal, scores) if is_last else _any_best(legal, scores, generator)


@compiled
def _remember(state, seat, place, mind):
    """What the seat to move knows of the trick and of earlier ones."""
    all_points = 0
    for other in range(NUM_SEATS):
        mind[POINTS + other] = raw_points(state, state[TAKEN + other])
        mind[HAS_TEN + other] = 1 if bits.contains(state[TAKEN + other], CLUB_TEN) else 0
        mind[CAPTURED] |= state[TAKEN + other]
        all_points += mind[POINTS + other]
    mind[TO_COME] = (-200 - all_points) // NUM_SEATS
    mind[OWN_POINTS] = mind[POINTS + seat]
    mind[LEADER] = (seat - place) % NUM_SEATS
    for step in range(place):
        _, mind[PLAYED + step] = played_card(state, TRICKS, state[CARDS_PLAYED] - place + step)
    mind[IN_SIGHT + place] = state[HAND + seat] | state[TABLE]


@compiled
def _value_after_replies(state, mind, first):
    """The value of the trick if the players from place `first` on reply greedily, each foreseeing those after her.

    Hands are open: a player sees her own, the table, and the hands of those who think about her.
    """
    led = _led_suit(mind)
    place = first
    _start_trying(mind, place, led)
    while True:
        if mind[TO_TRY + place]:
            mind[PLAYED + place] = bits.lowest(mind[TO_TRY + place])
            mind[TO_TRY + place] &= mind[TO_TRY + place] - 1
            if place < NUM_SEATS - 1:
                place += 1
                _start_trying(mind, place, led)
                continue
            value = _trick_value(state, mind)
        else:
            value = mind[BEST_VALUE + place]
            place -= 1
            if place < first:
                return value
        score = _score(mind, place, value)
        if score > mind[BEST_SCORE + place]:
            mind[BEST_SCORE + place] = score
            mind[BEST_VALUE + place] = value


@compiled
def _led_suit(mind):
    return bits.suit_cards(mind[PLAYED] // SUIT_SIZE, SUIT_SIZE)


@compiled
def _start_trying(mind, place, led):
    mind[TO_TRY + place] = following(mind[HANDS + place], led)
    mind[IN_SIGHT + place] = mind[IN_SIGHT + place - 1] | 1 << mind[PLAYED + place - 1] | mind[HANDS + place]
    mind[BEST_SCORE + place] = NO_SCORE


@compiled
def _trick_value(state, mind):
    """What a full trick is worth to the team of its second and fourth player."""
    led = _led_suit(mind)
    winning_place = 0
    cards = 0
    for place in range(NUM_SEATS):
        card = mind[PLAYED + place]
        cards |= 1 << card
        if beats(card, mind[PLAYED + winning_place], led, NO_TRUMPS):
            winning_place = place
    winner = (mind[LEADER] + winning_place) % NUM_SEATS
    value = raw_points(state, cards)
    if mind[HAS_TEN + winner]:
        value *= 2
    elif bits.contains(cards, CLUB_TEN):
        value = 2 * value + mind[POINTS + winner] + mind[TO_COME]
    return value if winning_place % 2 == 1 else -value


@compiled
def _score(mind, place, value):
    """The value of the trick to the player of that place, and the relief of having played her card."""
    relief = _relief(mind, mind[PLAYED + place], mind[IN_SIGHT + place])
    return relief + (value if place % 2 == 1 else -value)


@compiled
def _prefer_short_suits(legal, captured, scores):
    """Leads from a suit are better by how much longer it is in the other hands, on average."""
    for suit in (SPADES, HEARTS, DIAMONDS, CLUBS):
        length = bits.count(legal & suit)
        others = (SUIT_SIZE - bits.count(captured & suit) - length) / 3
        cards = legal & suit
        while cards:
            scores[bits.lowest(cards)] += int(NUM_SAMPLES * SHORT_SUIT_POINTS * (others - length))
            cards &= cards - 1


@compiled
def _first_best(legal, scores):
    best = bits.lowest(legal)
    while legal:
        card = bits.lowest(legal)
        legal &= legal - 1
        if scores[card] > scores[best]:
            best = card
    return best


@compiled
def _any_best(legal, scores, generator):
    """One of the cards with the highest score, all equally likely."""
    highest = scores[_first_best(legal, scores)]
    best = 0
    while legal:
        card = bits.lowest(legal)
        legal &= legal - 1
        if scores[card] == highest:
            best |= 1 << card
    return bits.nth(best, below(generator, bits.count(best)))


@compiled
def _relief(mind, card, in_sight):
    """What it is worth to be rid of a card; more, or less, while the pig, the sheep or the transformer are out."""
    relief = BURDEN[card]
    out = ~(in_sight | mind[CAPTURED])
    if bits.contains(0b11 << SPADE_KING, card):
        if bits.contains(out, SPADE_QUEEN):
            relief += 50 if card == SPADE_ACE else 30
    elif bits.contains(DIAMONDS_OVER_JACK, card):
        if bits.contains(out, DIAMOND_JACK):
            relief -= 10 * (card - DIAMOND_JACK)
    elif bits.contains(CLUBS_OVER_TEN, card) and bits.contains(out, CLUB_TEN):
        relief += int(-0.1 * (card - CLUB_TEN) * (mind[TO_COME] + mind[OWN_POINTS]))
    return relief
