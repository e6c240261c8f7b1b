"""The rules of two-player Toepen, compiled; nothing else in the project knows them. `RULES.md` tells them in words.

`state` says where a state keeps what, `observation` what a player knows, `abstraction` what she may forget.
"""

from __future__ import annotations

from typing import Any

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.parameters import require_flag, require_whole
from cardtable.rules import CHANCE, TERMINAL, Kernel, Rules, Symmetry
from cardtable.tricks import following
from toepen_spiel.abstraction import toepen_forgetting
from toepen_spiel.features import FEATURES
from toepen_spiel.observation import (
    information_key,
    information_pieces,
    information_tensor,
    observation_pieces,
    observation_tensor,
)
from toepen_spiel.state import (
    ANSWERING,
    ANTE,
    BET,
    BETTING,
    CALL,
    CALLED,
    CALLED_SHIFT,
    CARDS_PLAYED,
    CHECK,
    DEALING,
    DECIDING,
    ENTRIES_PER_WORD,
    ENTRY_BITS,
    FOLD,
    FOLLOW_SUIT,
    HAND,
    HAND_SIZE,
    HISTORY,
    LAST_BETTOR,
    LED_CARD,
    MAX_RANKS,
    MAX_SUITS,
    NO_CARD,
    NOBODY,
    NUM_BETTING_ACTIONS,
    OVER,
    PHASE,
    PLAYING,
    RANKS,
    SIGNATURE_ENTRIES,
    SUITS,
    TURN,
    VOID,
    WINNER,
    history_entry,
    moves,
)

NAME = "python_toepen"
VERSION = 1  # of the rules: raised when positions, action ids or information keys change
DEFAULTS: dict[str, Any] = {"suits": 4, "ranks": 8, "hand_size": 4, "betting": True, "follow_suit": True}


def toepen_rules(
    suits: int = DEFAULTS["suits"],
    ranks: int = DEFAULTS["ranks"],
    hand_size: int = DEFAULTS["hand_size"],
    betting: bool = DEFAULTS["betting"],
    follow_suit: bool = DEFAULTS["follow_suit"],
) -> Rules:
    """The rules record of one variant; raises UserError if there is no such game."""
    require_whole("suits", suits, 1, MAX_SUITS, NAME)
    require_whole("ranks", ranks, 1, MAX_RANKS, NAME)
    cards = suits * ranks
    require_whole("suits * ranks", cards, 2, of=NAME, because="as two players need a card each")
    require_whole("hand_size", hand_size, 1, cards // 2, NAME, f"half of the {cards} cards (suits * ranks)")
    require_flag("betting", betting, NAME)
    require_flag("follow_suit", follow_suit, NAME)

    history_words = -(-2 * hand_size // ENTRIES_PER_WORD)
    root = deck.new_state(HISTORY + history_words, [hand_size, hand_size, cards - 2 * hand_size])
    root[[SUITS, RANKS, HAND_SIZE]] = suits, ranks, hand_size
    root[[BETTING, FOLLOW_SUIT]] = betting, follow_suit
    root[[LAST_BETTOR, WINNER, LED_CARD]] = NOBODY, NOBODY, NO_CARD
    root[ANTE] = 1

    cards_played = 2 * hand_size
    highest_ante = 1 + cards_played if betting else 1
    key_words = 1 + history_words
    return Rules(
        kernel=KERNEL,
        root=root,
        version=VERSION,
        num_players=2,
        num_distinct_actions=cards + NUM_BETTING_ACTIONS,
        max_chance_outcomes=3,
        max_game_length=(3 if betting else 1) * cards_played,
        max_chance_nodes=cards - 1,
        min_utility=-highest_ante,
        max_utility=highest_ante,
        utility_sum=0.0,
        key_words=key_words,
        information_pieces=information_pieces(suits, ranks, hand_size, betting),
        observation_pieces=observation_pieces(suits, ranks, hand_size, betting),
        interchangeable_suits=tuple(tuple(range(suit * ranks, (suit + 1) * ranks)) for suit in range(suits)),
        symmetry=Symmetry(
            num_suits, suit_cards, rename, rename_action, signatures, -(-(2 + cards_played) // SIGNATURE_ENTRIES)
        ),
        forgetting=toepen_forgetting(hand_size, key_words),
        features=FEATURES,
        moves=moves,
    )


@compiled
def current_player(state):
    phase = state[PHASE]
    if phase == DEALING:
        return CHANCE
    if phase == OVER:
        return TERMINAL
    return 1 - state[TURN] if phase == ANSWERING else state[TURN]


@compiled
def legal_actions(state, out):
    phase = state[PHASE]
    if phase == DECIDING:
        out[0] = state[deck.DECK_SIZE] + CHECK
        out[1] = state[deck.DECK_SIZE] + BET
        return 2
    if phase == ANSWERING:
        out[0] = state[deck.DECK_SIZE] + CALL
        out[1] = state[deck.DECK_SIZE] + FOLD
        return 2
    return bits.list_cards(legal_cards(state, state[HAND + state[TURN]]), 0, out)


@compiled
def legal_cards(state, hand):
    """Which cards of a hand may be played now."""
    if state[LED_CARD] == NO_CARD or state[FOLLOW_SUIT] == 0:
        return hand
    return following(hand, _suit_of(state, state[LED_CARD]))


@compiled
def _suit_of(state, card):
    """The set of all cards of the same suit."""
    return bits.suit_cards(card // state[RANKS], state[RANKS])


@compiled
def apply_action(state, action):
    phase = state[PHASE]
    if phase == PLAYING:
        play_card(state, action)
    elif phase == DEALING:
        if deck.deal_card(state, action):
            _start_play(state)
    elif action == state[deck.DECK_SIZE] + CHECK:
        state[PHASE] = PLAYING
    elif action == state[deck.DECK_SIZE] + BET:
        state[LAST_BETTOR] = state[TURN]
        state[PHASE] = ANSWERING
    elif action == state[deck.DECK_SIZE] + CALL:
        state[ANTE] += 1
        state[CALLED] = 1
        state[PHASE] = PLAYING
    else:  # fold
        _finish(state, state[TURN])


@compiled
def _start_play(state):
    state[HAND] = state[deck.DEALT]
    state[HAND + 1] = state[deck.DEALT + 1]
    _start_turn(state, 0)


@compiled
def _start_turn(state, player):
    """The last player to bet may not bet again, so she is not asked."""
    state[TURN] = player
    state[CALLED] = 0
    may_bet = state[BETTING] == 1 and state[LAST_BETTOR] != player
    state[PHASE] = DECIDING if may_bet else PLAYING


@compiled
def play_card(state, card):
    player = state[TURN]
    state[HAND + player] ^= 1 << card
    _record(state, player, card)
    led_card = state[LED_CARD]
    if led_card == NO_CARD:
        state[LED_CARD] = card
        _start_turn(state, 1 - player)
        return
    if state[FOLLOW_SUIT] == 1 and card // state[RANKS] != led_card // state[RANKS]:
        state[VOID + player] |= _suit_of(state, led_card)
    trick_winner = player if beats(state, card, led_card) else 1 - player
    state[LED_CARD] = NO_CARD
    if state[CARDS_PLAYED] == 2 * state[HAND_SIZE]:
        _finish(state, trick_winner)  # only the last trick counts
    else:
        _start_turn(state, trick_winner)


@compiled
def beats(state, card, led_card):
    """Whether a card wins the trick over the card led."""
    return card // state[RANKS] == led_card // state[RANKS] and card > led_card


@compiled
def _record(state, player, card):
    index = state[CARDS_PLAYED]
    entry = card | state[CALLED] << CALLED_SHIFT | player << 6
    state[HISTORY + index // ENTRIES_PER_WORD] |= entry << ENTRY_BITS * (index % ENTRIES_PER_WORD)
    state[CARDS_PLAYED] += 1


@compiled
def _finish(state, winner):
    state[WINNER] = winner
    state[PHASE] = OVER


@compiled
def chance_outcomes(state, outcomes, probabilities):
    return deck.deal_outcomes(state, outcomes, probabilities)


@compiled
def deal(state, generator):
    deck.deal_at_random(state, generator)
    _start_play(state)


@compiled
def resample(state, player, generator):
    """The opponent holds some of the unseen cards, none of a suit she has shown to be void in."""
    other = 1 - player
    played = state[deck.DEALT + other] ^ state[HAND + other]
    unseen = state[HAND + other] | state[deck.DEALT + 2]
    hand = deck.random_subset(unseen & ~state[VOID + other], bits.count(state[HAND + other]), generator)
    state[HAND + other] = hand
    state[deck.DEALT + other] = played | hand
    state[deck.DEALT + 2] = unseen ^ hand


@compiled
def returns(state, out):
    out[0] = 0.0
    if state[PHASE] == OVER:
        out[0] = state[ANTE] if state[WINNER] == 0 else -state[ANTE]
    out[1] = -out[0]


@compiled
def num_suits(state):
    return state[SUITS]


@compiled
def suit_cards(state, suit):
    return bits.suit_cards(suit, state[RANKS])


@compiled
def rename(state, new_suit, out):
    """The same position with suit s called new_suit[s]. Before the deal is complete there is nothing to rename."""
    out[:] = state
    if state[PHASE] == DEALING:
        return
    for pile in range(3):
        out[deck.DEALT + pile] = _rename_cards(state, state[deck.DEALT + pile], new_suit)
    for player in range(2):
        out[HAND + player] = _rename_cards(state, state[HAND + player], new_suit)
        out[VOID + player] = _rename_cards(state, state[VOID + player], new_suit)
    if state[LED_CARD] != NO_CARD:
        out[LED_CARD] = _rename_card(state, state[LED_CARD], new_suit)
    for word in range(HISTORY, len(state)):
        out[word] = 0
    for index in range(state[CARDS_PLAYED]):
        shift = ENTRY_BITS * (index % ENTRIES_PER_WORD)
        entry = state[HISTORY + index // ENTRIES_PER_WORD] >> shift & (1 << ENTRY_BITS) - 1
        renamed = _rename_card(state, entry & 31, new_suit) | entry & ~31
        out[HISTORY + index // ENTRIES_PER_WORD] |= renamed << shift


@compiled
def rename_action(state, action, new_suit):
    return _rename_card(state, action, new_suit) if action < state[deck.DECK_SIZE] else action


@compiled
def signatures(state, player, hand, history, out):
    """The ranks of the suit in the hand, and for each card played: 0 if it was of another suit, else its rank + 1."""
    ranks = state[RANKS]
    for suit in range(state[SUITS]):
        for word in range(out.shape[1]):
            out[suit, word] = 0
        if hand:
            out[suit, 0] = state[HAND + player] >> suit * ranks & (1 << ranks) - 1
    if history:
        for index in range(state[CARDS_PLAYED]):
            card, _, _ = history_entry(state, index)
            place = index + 2  # behind the hand
            out[card // ranks, place // SIGNATURE_ENTRIES] |= (card % ranks + 1) << 4 * (place % SIGNATURE_ENTRIES)


@compiled
def _rename_card(state, card, new_suit):
    suit = card // state[RANKS]
    return card + (new_suit[suit] - suit) * state[RANKS]


@compiled
def _rename_cards(state, cards, new_suit):
    ranks = state[RANKS]
    renamed = 0
    for suit in range(state[SUITS]):
        renamed |= (cards >> suit * ranks & (1 << ranks) - 1) << new_suit[suit] * ranks
    return renamed


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
