"""Setting up positions of Coinche from names of cards and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

import coinche_spiel  # noqa: F401 - registers the game
from cardtable import deck
from coinche_spiel.bidding.holdings import joint_features, plain_features, trump_features
from coinche_spiel.cards import NUM_RANKS, NUM_SUITS, ONE_SUIT, card_name, parse_card, parse_cards


def load(**parameters: Any) -> pyspiel.Game:
    return pyspiel.load_game("python_coinche", parameters)


def dealt(game: pyspiel.Game, hands: Sequence[str]) -> pyspiel.State:
    """The state after this deal; cards in no hand stay undealt."""
    owners = {}
    for seat, hand in enumerate(hands):
        for card in range(32):
            if parse_cards(hand) >> card & 1:
                owners[card] = seat
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(owners.get(int(state.array[deck.NEXT_CARD]), game.num_players()))
    return state


def move(state: pyspiel.State, *names: str) -> pyspiel.State:
    """Applies moves by name: calls such as `80♠`, `pass`, `coinche`, and cards such as `10H`."""
    for name in names:
        known = {state.action_to_string(state.current_player(), action): action for action in state.legal_actions()}
        if name not in known:
            name = card_name(parse_card(name))
        assert name in known, f"{name} is not legal; legal: {list(known)}"
        state.apply_action(known[name])
    return state


def legal(state: pyspiel.State) -> set[str]:
    return {state.action_to_string(state.current_player(), action) for action in state.legal_actions()}


def cards(text: str) -> set[str]:
    return {card_name(parse_card(word)) for word in text.split()}


def hand_features(hand: int, suit: int) -> np.ndarray:
    """All features of a hand with this suit as trump, in the order of FEATURES."""
    holdings = [hand >> NUM_RANKS * other & ONE_SUIT for other in range(NUM_SUITS)]
    side = [holding for other, holding in enumerate(holdings) if other != suit]
    lengths = [holding.bit_count() for holding in side]
    plain = np.sum([plain_features(holding) for holding in side], axis=0)
    joint = joint_features(holdings[suit].bit_count(), lengths.count(0), lengths.count(1))
    return np.array([*trump_features(holdings[suit]), *plain, *joint], float)
