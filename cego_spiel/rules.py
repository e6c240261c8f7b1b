"""The rules of Cego's six sub-games, compiled; `RULES.md` tells them in words.

The deck is in `cards`, where a state keeps what in `state`, the hands the single player may be dealt in
`restrictions`, what a player can infer about unseen cards in `beliefs`, what she knows as key and tensors in
`observation`; the rules of play, and the record that holds all of it together, are here.
"""

from __future__ import annotations

from typing import Any

from cardtable import bits, deck, tricks
from cardtable.compiled import compiled
from cardtable.parameters import refusal, require_flag, require_one_of
from cardtable.redeal import draw
from cardtable.rules import CHANCE, TERMINAL, Kernel, Rules
from cardtable.tricks import NUM_SEATS, history_words
from cego_spiel.beliefs import resample
from cego_spiel.cards import (
    HALF_POINTS,
    NUM_CARDS,
    NUM_PLAIN,
    SUIT_SIZE,
    TOTAL_HALF_POINTS,
    TRUMP_1,
    TRUMPS,
    half_points,
    suit_of,
)
from cego_spiel.features import FEATURES
from cego_spiel.observation import (
    OBSERVATION_PIECES,
    information_key,
    information_pieces,
    information_tensor,
    observation_tensor,
)
from cego_spiel.restrictions import HAND_SIZE, START, draw_hand, take_card, ways_to_complete
from cego_spiel.state import (
    BEST_CARD,
    BEST_SEAT,
    BETTEL,
    BLIND,
    BLIND_SIZE,
    CARDS_PLAYED,
    HAND,
    LEADER,
    LED_SUIT,
    LEGAGE,
    NUM_MOVES,
    OVER,
    PICCOLO,
    POINT_REWARD,
    POINTS,
    PROGRESS,
    RAEUBER,
    RESTRICTION,
    SINGLE_PLAYER,
    SINGLE_WINS,
    SOLO,
    SPLIT_TIES,
    STANDARD,
    STATE_SIZE,
    SUBGAME,
    SUBGAMES,
    TABLE_HALF_POINTS,
    TRICKS,
    TRICKS_WON,
    TURN,
    ULTIMO,
    ZERO_SUM,
    exchange,
    moves,
)

NAME = "python_cego"
VERSION = 1  # of the rules: raised when positions, action ids or information keys change
DEFAULTS: dict[str, Any] = {
    "subgame": "standard",
    "restrict": True,
    "reward": "auto",
    "zero_sum": False,
    "ties": "first",
}


def cego_rules(
    subgame: str = DEFAULTS["subgame"],
    restrict: bool = DEFAULTS["restrict"],
    reward: str = DEFAULTS["reward"],
    zero_sum: bool = DEFAULTS["zero_sum"],
    ties: str = DEFAULTS["ties"],
) -> Rules:
    """The rules record of one variant; raises UserError if there is no such game."""
    index = require_one_of("subgame", subgame, SUBGAMES, NAME)
    counts_points = index in (STANDARD, SOLO)
    require_flag("restrict", restrict, NAME)
    require_one_of("reward", reward, ("auto", "win", "points"), NAME)
    if reward == "points" and not counts_points:
        raise refusal(f"reward is {reward!r} with subgame {subgame!r}", "auto, win", NAME)
    require_flag("zero_sum", zero_sum, NAME)
    require_one_of("ties", ties, ("first", "split"), NAME)
    if ties != "first" and index != RAEUBER:
        raise refusal(f"ties is {ties!r} with subgame {subgame!r}", "first", NAME)

    root = deck.new_state(STATE_SIZE, [HAND_SIZE] * NUM_SEATS + [BLIND_SIZE])
    root[SUBGAME] = index
    root[POINT_REWARD] = counts_points and reward != "win"
    root[ZERO_SUM] = zero_sum
    root[SPLIT_TIES] = ties == "split"
    root[[RESTRICTION, PROGRESS]] = START[_restriction(subgame, restrict)]

    if index == RAEUBER:
        lowest, highest = (-0.75, 0.25) if zero_sum else (0.0, 1.0)
    elif root[POINT_REWARD]:
        lowest, highest = (
            (-3 * TOTAL_HALF_POINTS / 4, 3 * TOTAL_HALF_POINTS / 4) if zero_sum else (0.0, TOTAL_HALF_POINTS / 2)
        )
    else:
        lowest, highest = (-3.0, 3.0) if zero_sum else (0.0, 1.0)
    constant_sum = 3.0 if index == RAEUBER else None
    # Standard-Cego's exchange settles ties between suits by their order.
    suits = () if index == STANDARD else range(0, NUM_PLAIN, SUIT_SIZE)
    return Rules(
        kernel=KERNEL,
        root=root,
        version=VERSION,
        num_players=NUM_SEATS,
        num_distinct_actions=NUM_CARDS,
        max_chance_outcomes=NUM_SEATS + 1,
        max_game_length=NUM_MOVES,
        max_chance_nodes=NUM_CARDS - 1,
        min_utility=lowest,
        max_utility=highest,
        utility_sum=0.0 if zero_sum else constant_sum,
        key_words=1 + history_words(NUM_MOVES) + (2 if index == STANDARD else 0),
        information_pieces=information_pieces(index),
        observation_pieces=OBSERVATION_PIECES,
        teams=() if index == RAEUBER else ((0,), (1, 2, 3)),
        interchangeable_suits=tuple(tuple(range(suit, suit + SUIT_SIZE)) for suit in suits),
        features=FEATURES,
        moves=moves,
    )


def _restriction(subgame: str, restrict: bool) -> str:
    """Ultimo is about trump 1, so the single player has it even where hands are not restricted."""
    if restrict:
        return "none" if subgame == "raeuber" else subgame
    return "trump 1" if subgame == "ultimo" else "none"


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
    state[PROGRESS] = state[RESTRICTION]  # alike, however the cards were dealt
    for seat in range(NUM_SEATS):
        state[HAND + seat] = state[deck.DEALT + seat]
    if state[SUBGAME] == STANDARD:
        exchange(state)


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


KERNEL = Kernel(
    current_player=current_player,
    legal_actions=legal_actions,
    apply_action=apply_action,
    chance_outcomes=chance_outcomes,
    deal=deal,
    resample=resample,
    returns=returns,
    information_key=information_key,
    information_tensor=information_tensor,
    observation_tensor=observation_tensor,
)
