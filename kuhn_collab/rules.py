"""The rules of Collaborative Kuhn Poker, compiled; nothing else in the project knows them. `RULES.md` tells them.

`state` says where a state keeps what, `observation` what a player knows.
"""

from __future__ import annotations

from typing import Any

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.parameters import require_flag
from cardtable.randomness import below
from cardtable.rules import CHANCE, TERMINAL, Kernel, Rules, Symmetry
from kuhn_collab.observation import (
    INFORMATION_PIECES,
    OBSERVATION_PIECES,
    information_key,
    information_tensor,
    observation_tensor,
)
from kuhn_collab.state import (
    ACTING,
    BET,
    CALL,
    CHECK,
    DEALING,
    FOLD,
    FOLD_TOPUP,
    FOLDER,
    HIGHEST_LEVEL,
    HISTORY,
    LEVEL,
    LONGEST_HAND,
    NOBODY,
    NUM_ACTIONS,
    NUM_CARDS,
    NUM_SEATS,
    NUM_SUITS,
    OVER,
    PAID,
    PHASE,
    RAISE,
    STATE_SIZE,
    STILL_TO_ACT,
    TURN,
    card_of,
    moves,
    num_actions_taken,
)

NAME = "python_kuhn_collab"
VERSION = 1  # of the rules: raised when positions, action ids or information keys change
DEFAULTS: dict[str, Any] = {"fold_topup": True}


def kuhn_collab_rules(fold_topup: bool = DEFAULTS["fold_topup"]) -> Rules:
    """The rules record; `fold_topup`: after a fold, the winners pay up to the level before they share the pot."""
    require_flag("fold_topup", fold_topup, NAME)
    root = deck.new_state(STATE_SIZE, [1, 1, 1, 1, NUM_CARDS - NUM_SEATS])
    root[FOLD_TOPUP] = fold_topup
    root[LEVEL] = 1
    root[STILL_TO_ACT] = NUM_SEATS
    root[FOLDER] = NOBODY
    root[PAID : PAID + NUM_SEATS] = 1
    return Rules(
        kernel=KERNEL,
        root=root,
        version=VERSION,
        num_players=NUM_SEATS,
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=NUM_SEATS + 1,
        max_game_length=LONGEST_HAND,
        max_chance_nodes=NUM_CARDS - 1,
        min_utility=-3.0,
        max_utility=3.0,
        utility_sum=0.0,
        key_words=1,
        information_pieces=INFORMATION_PIECES,
        observation_pieces=OBSERVATION_PIECES,
        teams=((0, 2), (1, 3)),
        interchangeable_suits=((0, 2, 4), (1, 3, 5)),
        symmetry=SYMMETRY,
        moves=moves,
    )


@compiled
def current_player(state):
    phase = state[PHASE]
    if phase == ACTING:
        return state[TURN]
    return CHANCE if phase == DEALING else TERMINAL


@compiled
def legal_actions(state, out):
    if state[LEVEL] == 1:
        out[0] = CHECK
        out[1] = BET
        return 2
    out[0] = FOLD
    out[1] = CALL
    if state[LEVEL] == HIGHEST_LEVEL:
        return 2
    out[2] = RAISE
    return 3


@compiled
def apply_action(state, action):
    if state[PHASE] == DEALING:
        if deck.deal_card(state, action):
            state[PHASE] = ACTING
        return
    state[HISTORY] |= (action + 1) << 3 * num_actions_taken(state)
    seat = state[TURN]
    if action == FOLD:
        state[FOLDER] = seat
        state[PHASE] = OVER
        return
    if action in (BET, RAISE):
        state[LEVEL] += 1
        state[STILL_TO_ACT] = NUM_SEATS
    state[PAID + seat] = state[LEVEL]
    state[STILL_TO_ACT] -= 1
    if state[STILL_TO_ACT] == 0:
        state[PHASE] = OVER
    else:
        state[TURN] = (seat + 1) % NUM_SEATS


@compiled
def chance_outcomes(state, outcomes, probabilities):
    return deck.deal_outcomes(state, outcomes, probabilities)


@compiled
def deal(state, generator):
    deck.deal_at_random(state, generator)
    state[PHASE] = ACTING


@compiled
def resample(state, player, generator):
    """The other seats' cards are any of the five not in the player's hand."""
    unseen = ((1 << NUM_CARDS) - 1) & ~state[deck.DEALT + player]
    for seat in range(NUM_SEATS):
        if seat != player:
            card = 1 << bits.nth(unseen, below(generator, bits.count(unseen)))
            state[deck.DEALT + seat] = card
            unseen ^= card
    state[deck.DEALT + NUM_SEATS] = unseen


@compiled
def _team_strength(state, seat):
    """Orders the two-card hands of a seat and its partner: AA > KK > QQ > AK > AQ > KQ."""
    rank = card_of(state, seat) // 2
    partner_rank = card_of(state, seat + 2) // 2
    return 10 + rank if rank == partner_rank else rank + partner_rank


@compiled
def returns(state, out):
    """A seat's share of the pot less what it paid."""
    for seat in range(NUM_SEATS):
        out[seat] = 0.0
    if state[PHASE] != OVER:
        return
    folder = state[FOLDER]
    if folder != NOBODY:
        winning_team = 1 - folder % 2
    else:
        difference = _team_strength(state, 0) - _team_strength(state, 1)
        if difference == 0:
            return  # nobody folded, so all have paid the same and get it back
        winning_team = 0 if difference > 0 else 1
    pot = 0
    for seat in range(NUM_SEATS):
        out[seat] = -_final_payment(state, seat, winning_team)
        pot -= out[seat]
    out[winning_team] += pot / 2
    out[winning_team + 2] += pot / 2


@compiled
def _final_payment(state, seat, winning_team):
    if state[FOLD_TOPUP] == 1 and seat % 2 == winning_team:
        return state[LEVEL]
    return state[PAID + seat]


@compiled
def num_suits(state):
    return NUM_SUITS


@compiled
def suit_cards(state, suit):
    return 0b010101 << suit


@compiled
def rename(state, new_suit, out):
    """The same position with suit s called new_suit[s]. Before the deal is complete there is nothing to rename."""
    out[:] = state
    if state[PHASE] == DEALING:
        return
    for pile in range(NUM_SEATS + 1):
        cards = state[deck.DEALT + pile]
        out[deck.DEALT + pile] = 0
        for suit in range(NUM_SUITS):
            out[deck.DEALT + pile] |= (cards >> suit & suit_cards(state, 0)) << new_suit[suit]


@compiled
def rename_action(state, action, new_suit):
    return action


@compiled
def signatures(state, player, hand, history, out):
    """The ranks of the suit in the hand; no card is ever shown."""
    for suit in range(NUM_SUITS):
        out[suit, 0] = state[deck.DEALT + player] >> suit & suit_cards(state, 0) if hand else 0


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
SYMMETRY = Symmetry(num_suits, suit_cards, rename, rename_action, signatures, signature_words=1)
