"""The rules of Collaborative Kuhn Poker, compiled; nothing else in the project knows them. `RULES.md` tells them.

Six cards QH QS KH KS AH AS with ids 0 to 5, so rank = id // 2. Seats 0 North, 1 West, 2 South, 3 East act in turn;
seats of equal parity are partners. The *level* is what every seat must have paid to stay in.
"""

from __future__ import annotations

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.randomness import below
from cardtable.rules import CHANCE, TERMINAL, Kernel, Piece, Rules, Symmetry

NUM_SEATS = 4
NUM_CARDS = 6
NUM_SUITS = 2
HIGHEST_LEVEL = 3
LONGEST_HAND = 10  # k k k b c c r c c c: the level rises twice, each time after three others have acted

# Slots of the state behind the dealing block.
FOLD_TOPUP = deck.BLOCK_SIZE
PHASE = FOLD_TOPUP + 1
TURN = FOLD_TOPUP + 2
LEVEL = FOLD_TOPUP + 3
STILL_TO_ACT = FOLD_TOPUP + 4  # how many seats must check or call before the hand ends
FOLDER = FOLD_TOPUP + 5
PAID = FOLD_TOPUP + 6  # PAID + s: chips seat s has put in
HISTORY = FOLD_TOPUP + 10  # the actions so far, three bits each: action + 1, the first action lowest
STATE_SIZE = FOLD_TOPUP + 11

NOBODY = -1

# Phases.
DEALING = 0
ACTING = 1
OVER = 2

# Actions.
CHECK = 0
BET = 1
FOLD = 2
CALL = 3
RAISE = 4
NUM_ACTIONS = 5


def kuhn_collab_rules(fold_topup: bool) -> Rules:
    """The rules record; `fold_topup`: after a fold, the winners pay up to the level before they share the pot."""
    root = deck.new_state(STATE_SIZE, [1, 1, 1, 1, NUM_CARDS - NUM_SEATS])
    root[FOLD_TOPUP] = fold_topup
    root[LEVEL] = 1
    root[STILL_TO_ACT] = NUM_SEATS
    root[FOLDER] = NOBODY
    root[PAID : PAID + NUM_SEATS] = 1
    seat_and_card = (Piece("player", (NUM_SEATS,), "observer"), Piece("card", (NUM_CARDS,), "private"))
    return Rules(
        kernel=KERNEL,
        root=root,
        num_players=NUM_SEATS,
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=NUM_SEATS + 1,
        max_game_length=LONGEST_HAND,
        max_chance_nodes=NUM_CARDS - 1,
        min_utility=-3.0,
        max_utility=3.0,
        utility_sum=0.0,
        key_words=1,
        information_pieces=(*seat_and_card, Piece("history", (LONGEST_HAND, NUM_ACTIONS), "public")),
        observation_pieces=(
            *seat_and_card,
            Piece("to_act", (NUM_SEATS,), "public"),
            Piece("paid", (NUM_SEATS, HIGHEST_LEVEL), "public"),
        ),
        teams=((0, 2), (1, 3)),
        interchangeable_suits=((0, 2, 4), (1, 3, 5)),
        symmetry=SYMMETRY,
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
def num_actions_taken(state):
    n = 0
    while state[HISTORY] >> 3 * n:
        n += 1
    return n


@compiled
def history_action(state, index):
    return (state[HISTORY] >> 3 * index & 7) - 1


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
def card_of(state, seat):
    return bits.lowest(state[deck.DEALT + seat])


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
def information_key(state, player, out):
    """Own card and the public actions."""
    card = card_of(state, player) if state[PHASE] != DEALING else 7
    out[0] = card | player << 3 | state[PHASE] << 5 | state[HISTORY] << 7


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


@compiled
def _write_seat_and_card(state, player, out):
    """The pieces that both tensors start with; returns the offset behind them."""
    out[player] = 1.0
    if state[PHASE] != DEALING:
        out[NUM_SEATS + card_of(state, player)] = 1.0
    return NUM_SEATS + NUM_CARDS


@compiled
def information_tensor(state, player, out):
    offset = _write_seat_and_card(state, player, out)
    for index in range(num_actions_taken(state)):
        out[offset + index * NUM_ACTIONS + history_action(state, index)] = 1.0


@compiled
def observation_tensor(state, player, out):
    offset = _write_seat_and_card(state, player, out)
    if state[PHASE] == ACTING:
        out[offset + state[TURN]] = 1.0
    offset += NUM_SEATS
    for seat in range(NUM_SEATS):
        out[offset + seat * HIGHEST_LEVEL + state[PAID + seat] - 1] = 1.0


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
