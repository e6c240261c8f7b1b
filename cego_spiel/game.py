"""Cego as the OpenSpiel game `python_cego(subgame=standard,restrict=True,reward=auto,zero_sum=False,ties=first)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.rules import Kernel, Rules
from cardtable.spiel import CardGame, card_game_type
from cardtable.tricks import NUM_SEATS, describe_cards, describe_tricks, history_words
from cego_spiel import rules
from cego_spiel.beliefs import resample
from cego_spiel.cards import NUM_CARDS, NUM_PLAIN, SUIT_SIZE, TOTAL_HALF_POINTS, card_name
from cego_spiel.observation import OBSERVATION_PIECES, information_pieces, information_tensor, observation_tensor
from cego_spiel.restrictions import HAND_SIZE, START

DEFAULTS: dict[str, Any] = {
    "subgame": "standard",
    "restrict": True,
    "reward": "auto",
    "zero_sum": False,
    "ties": "first",
}
UTILITY = pyspiel.GameType.Utility

KERNEL = Kernel(
    current_player=rules.current_player,
    legal_actions=rules.legal_actions,
    apply_action=rules.apply_action,
    chance_outcomes=rules.chance_outcomes,
    deal=rules.deal,
    resample=resample,
    returns=rules.returns,
    information_key=rules.information_key,
    information_tensor=information_tensor,
    observation_tensor=observation_tensor,
)


def cego_rules(
    subgame: str = "standard", restrict: bool = True, reward: str = "auto", zero_sum: bool = False, ties: str = "first"
) -> Rules:
    """The rules record of one variant; raises ValueError if there is no such game."""
    _require(subgame in rules.SUBGAMES, "subgame", subgame, ", ".join(rules.SUBGAMES))
    index = rules.SUBGAMES.index(subgame)
    counts_points = index in (rules.STANDARD, rules.SOLO)
    _require(reward in ("auto", "win", "points"), "reward", reward, "auto, win, points")
    _require(reward != "points" or counts_points, "reward", f"points with subgame {subgame}", "auto, win")
    _require(ties in ("first", "split"), "ties", ties, "first, split")
    _require(ties == "first" or index == rules.RAEUBER, "ties", f"{ties} with subgame {subgame}", "first")

    root = deck.new_state(rules.STATE_SIZE, [HAND_SIZE] * NUM_SEATS + [rules.BLIND_SIZE])
    root[rules.SUBGAME] = index
    root[rules.POINT_REWARD] = counts_points and reward != "win"
    root[rules.ZERO_SUM] = zero_sum
    root[rules.SPLIT_TIES] = ties == "split"
    root[[rules.RESTRICTION, rules.PROGRESS]] = START[_restriction(subgame, restrict)]

    if index == rules.RAEUBER:
        lowest, highest = (-0.75, 0.25) if zero_sum else (0.0, 1.0)
    elif root[rules.POINT_REWARD]:
        lowest, highest = (
            (-3 * TOTAL_HALF_POINTS / 4, 3 * TOTAL_HALF_POINTS / 4) if zero_sum else (0.0, TOTAL_HALF_POINTS / 2)
        )
    else:
        lowest, highest = (-3.0, 3.0) if zero_sum else (0.0, 1.0)
    constant_sum = 3.0 if index == rules.RAEUBER else None
    # Standard-Cego's exchange settles ties between suits by their order.
    suits = () if index == rules.STANDARD else range(0, NUM_PLAIN, SUIT_SIZE)
    return Rules(
        kernel=KERNEL,
        root=root,
        num_players=NUM_SEATS,
        num_distinct_actions=NUM_CARDS,
        max_chance_outcomes=NUM_SEATS + 1,
        max_game_length=rules.NUM_MOVES,
        max_chance_nodes=NUM_CARDS - 1,
        min_utility=lowest,
        max_utility=highest,
        utility_sum=0.0 if zero_sum else constant_sum,
        key_words=1 + history_words(rules.NUM_MOVES) + (2 if index == rules.STANDARD else 0),
        information_pieces=information_pieces(index),
        observation_pieces=OBSERVATION_PIECES,
        teams=() if index == rules.RAEUBER else ((0,), (1, 2, 3)),
        interchangeable_suits=tuple(tuple(range(suit, suit + SUIT_SIZE)) for suit in suits),
    )


def _restriction(subgame: str, restrict: bool) -> str:
    """Ultimo is about trump 1, so the single player has it even where hands are not restricted."""
    if restrict:
        return "none" if subgame == "raeuber" else subgame
    return "trump 1" if subgame == "ultimo" else "none"


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise ValueError(f"python_cego: {name} is {value}; allowed: {allowed}")


def _game_type(utility: pyspiel.GameType.Utility) -> pyspiel.GameType:
    return card_game_type("python_cego", "Cego", NUM_SEATS, DEFAULTS, utility=utility)


GAME_TYPE = _game_type(UTILITY.GENERAL_SUM)


class CegoGame(CardGame):
    """The paper's rewards do not have a constant sum, but for Räuber; `zero_sum` changes that."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        record = cego_rules(**(DEFAULTS | params))
        utilities = {None: UTILITY.GENERAL_SUM, 0.0: UTILITY.ZERO_SUM}
        game_type = _game_type(utilities.get(record.utility_sum, UTILITY.CONSTANT_SUM))
        super().__init__(game_type, record, CegoWording(), params)


class CegoWording:
    """Names such as `K♣`, `T21`, `Gstieß`, and histories such as `P0 7♣ K♣ 9♣ 8♣, P1 T3`."""

    def card(self, state: np.ndarray, card: int) -> str:
        return card_name(int(card))

    def action(self, state: np.ndarray, action: int) -> str:
        return card_name(int(action))

    def private(self, state: np.ndarray, player: int) -> str:
        hand = describe_cards(state[rules.HAND + player], card_name)
        if player == rules.SINGLE_PLAYER and state[rules.LEGAGE]:
            dealt, legage = state[deck.DEALT], state[rules.LEGAGE]
            hand += f" (dealt {describe_cards(dealt, card_name)}, Legage {describe_cards(legage, card_name)})"
        return hand

    def public_history(self, state: np.ndarray) -> str:
        return describe_tricks(state, rules.TRICKS, card_name)

    def public_now(self, state: np.ndarray) -> str:
        if not deck.is_dealt(state):
            return ""
        played = 0
        for index in range(int(state[rules.CARDS_PLAYED])):
            played |= 1 << int(rules.tricks.played_card(state, rules.TRICKS, index)[1])
        if state[rules.OVER]:
            return f"played {describe_cards(played, card_name)}, over"
        text = f"played {describe_cards(played, card_name)}, P{state[rules.LEADER]} leads"
        in_trick = int(state[rules.CARDS_PLAYED]) % NUM_SEATS
        if in_trick:
            start = int(state[rules.CARDS_PLAYED]) - in_trick
            trick = [rules.tricks.played_card(state, rules.TRICKS, start + place)[1] for place in range(in_trick)]
            text += f" {' '.join(card_name(int(card)) for card in trick)}, P{state[rules.BEST_SEAT]} wins"
        return text


pyspiel.register_game(GAME_TYPE, CegoGame)
