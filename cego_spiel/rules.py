"""The rules of Cego's six sub-games, compiled; `RULES.md` tells them in words.

The deck is in `cards.py`, the hands the single player may be dealt in `restrictions.py`, what a player can infer about
unseen cards in `beliefs.py`, tensors in `observation.py`; the rules of play are here.
"""

from __future__ import annotations

from cardtable import bits, deck, tricks
from cardtable.compiled import compiled
from cardtable.redeal import draw
from cardtable.rules import CHANCE, TERMINAL
from cardtable.tricks import NUM_SEATS
from cego_spiel.cards import (
    HALF_POINTS,
    NUM_CARDS,
    TOTAL_HALF_POINTS,
    TRUMP_1,
    TRUMPS,
    best_card,
    half_points,
    suit_of,
    worst_card,
)
from cego_spiel.restrictions import HAND_SIZE, draw_hand, take_card, ways_to_complete

SINGLE_PLAYER = 0
BLIND = NUM_SEATS  # the pile behind the hands
BLIND_SIZE = NUM_CARDS - NUM_SEATS * HAND_SIZE
NUM_MOVES = NUM_SEATS * HAND_SIZE
KEPT_CARDS = 2  # of the dealt hand, in Standard-Cego

SUBGAMES = ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")
STANDARD, SOLO, ULTIMO, BETTEL, PICCOLO, RAEUBER = range(len(SUBGAMES))

# Slots of the state behind the dealing block: first the variant, then the position.
SUBGAME = deck.BLOCK_SIZE
POINT_REWARD = SUBGAME + 1  # 1: points are paid; 0: winning is
ZERO_SUM = SUBGAME + 2
SPLIT_TIES = SUBGAME + 3  # Räuber: 1 shares a tied loss; 0 gives it to the lowest seat
RESTRICTION = SUBGAME + 4  # start state of the automaton that says which hands the single player may be dealt
PROGRESS = SUBGAME + 5  # and where it is in the middle of the deal
OVER = SUBGAME + 6
SINGLE_WINS = SUBGAME + 7  # once the game is over; not in Räuber
LEADER = SUBGAME + 8  # of the present trick
TABLE_HALF_POINTS = SUBGAME + 9  # what lies on the table, in half points
POINTS = SUBGAME + 10  # POINTS + s: half points of the tricks seat s has won
TRICKS_WON = SUBGAME + 14  # TRICKS_WON + s
LEGAGE = SUBGAME + 18  # the cards the single player has laid away; Standard-Cego only
TRICKS = SUBGAME + 19  # the trick block
TURN = TRICKS + tricks.TURN
LED_SUIT = TRICKS + tricks.LED_SUIT
BEST_CARD = TRICKS + tricks.BEST_CARD
BEST_SEAT = TRICKS + tricks.BEST_SEAT
CARDS_PLAYED = TRICKS + tricks.CARDS_PLAYED
HAND = TRICKS + tricks.HAND
VOID = TRICKS + tricks.VOID
STATE_SIZE = TRICKS + tricks.HISTORY + tricks.history_words(NUM_MOVES)


@compiled
def current_player(state):
    if state[OVER]:
        return TERMINAL
    return state[TURN] if deck.is_dealt(state) else CHANCE


# The deal


@compiled
def chance_outcomes(state, outcomes, probabilities):
    """Each pile weighs as many deals as are valid if it receives the next card."""
    card = state[deck.NEXT_CARD]
    room = state[deck.ROOM]
    cards_left = NUM_CARDS - card
    ways = ways_to_complete(card, room, state[PROGRESS])
    with_card = ways_to_complete(card + 1, room - 1, take_card(state[PROGRESS], card)) if room > 0 else 0
    n = 0
    if with_card > 0:
        outcomes[0] = SINGLE_PLAYER
        probabilities[0] = with_card / ways
        n = 1
    if with_card < ways:
        for pile in range(1, BLIND + 1):
            if state[deck.ROOM + pile] > 0:
                outcomes[n] = pile
                probabilities[n] = (ways - with_card) / ways * (state[deck.ROOM + pile] / (cards_left - room))
                n += 1
    return n


@compiled
def _deal_card(state, pile):
    """Deals the next card, and those after it that have only one pile to go to."""
    while True:
        if pile == SINGLE_PLAYER:
            state[PROGRESS] = take_card(state[PROGRESS], state[deck.NEXT_CARD])
        if deck.deal_card(state, pile):
            _start_play(state)
            return
        pile = _only_pile(state)
        if pile < 0:
            return


@compiled
def _only_pile(state):
    """The pile the next card must go to, or -1 if there is a choice."""
    card = state[deck.NEXT_CARD]
    room = state[deck.ROOM]
    if room > 0 and ways_to_complete(card + 1, room - 1, take_card(state[PROGRESS], card)) > 0:
        return -1 if ways_to_complete(card + 1, room, state[PROGRESS]) > 0 else SINGLE_PLAYER
    only = -1
    for pile in range(1, BLIND + 1):
        if state[deck.ROOM + pile] > 0:
            if only >= 0:
                return -1
            only = pile
    return only


@compiled
def deal(state, generator):
    """Draws the single player's hand among the valid ones, then the other hands; the blind is the rest."""
    first = state[deck.NEXT_CARD]
    left = (1 << NUM_CARDS) - (1 << first)
    for pile in range(BLIND + 1):
        room = state[deck.ROOM + pile]
        if pile == SINGLE_PLAYER:
            cards = draw_hand(state[PROGRESS], first, room, generator)
        elif pile == BLIND:
            cards = left
        else:
            cards = draw(left, room, generator)
        state[deck.DEALT + pile] |= cards
        state[deck.ROOM + pile] = 0
        left ^= cards
    state[deck.NEXT_CARD] = NUM_CARDS
    _start_play(state)


@compiled
def _start_play(state):
    for seat in range(NUM_SEATS):
        state[HAND + seat] = state[deck.DEALT + seat]
    if state[SUBGAME] == STANDARD:
        exchange(state)


@compiled
def exchange(state):
    """Standard-Cego: the two best dealt cards and all of the blind but its worst card make the single player's hand.

    The rest is the Legage.
    """
    dealt, blind = state[deck.DEALT + SINGLE_PLAYER], state[deck.DEALT + BLIND]
    kept = 1 << best_card(dealt)
    kept |= 1 << best_card(dealt ^ kept)
    hand = kept | blind ^ (1 << worst_card(blind))
    state[HAND + SINGLE_PLAYER] = hand
    state[LEGAGE] = (dealt | blind) ^ hand


# The play


@compiled
def legal_actions(state, out):
    return bits.list_cards(legal_cards(state), 0, out)


@compiled
def legal_cards(state):
    """Follow suit; without the suit, play a trump; without trumps too, anything."""
    hand = state[HAND + state[TURN]]
    if state[LED_SUIT] == 0:
        return hand
    same_suit = hand & state[LED_SUIT]
    return same_suit if same_suit else tricks.following(hand, TRUMPS)


@compiled
def apply_action(state, action):
    if deck.is_dealt(state):
        _play_card(state, action)
    else:
        _deal_card(state, action)


@compiled
def _play_card(state, card):
    state[TABLE_HALF_POINTS] += HALF_POINTS[card]
    trick_is_full = tricks.play_card(state, TRICKS, card, suit_of(card), TRUMPS)
    if trick_is_full:
        winner = state[BEST_SEAT]
        state[POINTS + winner] += state[TABLE_HALF_POINTS]
        state[TRICKS_WON + winner] += 1
        state[TABLE_HALF_POINTS] = 0
        state[LEADER] = winner
    subgame = state[SUBGAME]
    all_played = state[CARDS_PLAYED] == NUM_MOVES
    if subgame == ULTIMO:
        if card == TRUMP_1 and state[CARDS_PLAYED] <= NUM_MOVES - NUM_SEATS:
            state[OVER] = 1
        elif all_played:
            state[OVER] = 1
            state[SINGLE_WINS] = 1 if state[BEST_CARD] == TRUMP_1 else 0
    elif subgame == BETTEL:
        lost = state[TRICKS_WON + SINGLE_PLAYER] > 0
        state[OVER] = 1 if lost or all_played else 0
        state[SINGLE_WINS] = 1 if all_played and not lost else 0
    elif subgame == PICCOLO:
        state[OVER] = 1 if state[TRICKS_WON + SINGLE_PLAYER] > 1 or all_played else 0
        state[SINGLE_WINS] = 1 if all_played and state[TRICKS_WON + SINGLE_PLAYER] == 1 else 0
    elif all_played:
        state[OVER] = 1
        if subgame != RAEUBER:
            state[SINGLE_WINS] = 1 if 2 * single_player_half_points(state) > TOTAL_HALF_POINTS else 0


@compiled
def single_player_half_points(state):
    """Tricks and what counts from the start: the Legage in Standard-Cego, the blind in Solo."""
    points = state[POINTS + SINGLE_PLAYER]
    if state[SUBGAME] == STANDARD:
        points += half_points(state[LEGAGE])
    elif state[SUBGAME] == SOLO:
        points += half_points(state[deck.DEALT + BLIND])
    return points


@compiled
def returns(state, out):
    for seat in range(NUM_SEATS):
        out[seat] = 0.0
    if not state[OVER]:
        return
    if state[SUBGAME] == RAEUBER:
        _pay_raeuber(state, out)
        return
    if state[POINT_REWARD]:
        single = single_player_half_points(state) / 2
        others = TOTAL_HALF_POINTS / 2 - single
    else:
        single = state[SINGLE_WINS] * 1.0
        others = 1.0 - single
    if state[ZERO_SUM]:
        # Points are paid as what is above or below half of them, a win as one.
        others = (others - single) / 2 if state[POINT_REWARD] else others - single
        single = -3 * others
    out[SINGLE_PLAYER] = single
    for seat in range(1, NUM_SEATS):
        out[seat] = others


@compiled
def _pay_raeuber(state, out):
    """The most points lose: 0 to the loser, 1 to the others (less 3/4 each if the game is to be zero-sum)."""
    most = 0
    for seat in range(NUM_SEATS):
        most = max(most, state[POINTS + seat])
    losers = 0
    for seat in range(NUM_SEATS):
        if state[POINTS + seat] == most:
            losers += 1
    loss_is_given = False
    for seat in range(NUM_SEATS):
        out[seat] = 0.25 if state[ZERO_SUM] else 1.0
        if state[POINTS + seat] == most:
            if state[SPLIT_TIES]:
                out[seat] -= 1.0 / losers
            elif not loss_is_given:
                out[seat] -= 1.0
                loss_is_given = True


@compiled
def information_key(state, player, out):
    """Own hand and all cards played; in Standard-Cego the single player also knows what she was dealt and laid away."""
    words = tricks.write_key(state, TRICKS, player, out)
    if state[SUBGAME] == STANDARD:
        knows = player == SINGLE_PLAYER and deck.is_dealt(state)
        out[words] = state[deck.DEALT + SINGLE_PLAYER] if knows else 0
        out[words + 1] = state[LEGAGE] if knows else 0
