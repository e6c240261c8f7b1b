"""The rules of Gongzhu, compiled; nothing else in the project knows them. `RULES.md` tells them in words.

`state` says where a state keeps what, `observation` what a player knows.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from cardtable import bits, deck, tricks
from cardtable.compiled import compiled
from cardtable.parameters import require, require_whole
from cardtable.redeal import redeal
from cardtable.rules import Kernel, Rules
from cardtable.tricks import NUM_SEATS, following, history_words
from gongzhu_spiel.knowledge import FEATURES
from gongzhu_spiel.observation import (
    information_key,
    information_pieces,
    information_tensor,
    observation_pieces,
    observation_tensor,
)
from gongzhu_spiel.state import (
    CARDS_PLAYED,
    CLUBS,
    DIAMONDS,
    FULL_DECK,
    HAND,
    HEART_CARDS,
    HEARTS,
    HEARTS_FROM_5,
    HEARTS_FROM_A,
    HEARTS_FROM_J,
    HEARTS_FROM_K,
    HEARTS_FROM_Q,
    HISTORY,
    JACK,
    LED_SUIT,
    LONE_TRANSFORMER_POINTS,
    MAX_RANKS,
    MAX_SUITS,
    NO_TRUMPS,
    PIG,
    PIG_POINTS,
    QUEEN,
    RANKS,
    SHEEP,
    SHEEP_POINTS,
    SPADES,
    SUITS,
    TABLE,
    TAKEN,
    TEAMS,
    TEN,
    TRANSFORMER,
    TRICKS,
    TURN,
    VOID,
    current_player,
    moves,
    scored_cards,
)

NAME = "python_gongzhu"
VERSION = 1  # of the rules: raised when positions, action ids or information keys change
DEFAULTS: dict[str, Any] = {"suits": 4, "ranks": 13, "leader": 0}


def gongzhu_rules(
    suits: int = DEFAULTS["suits"], ranks: int = DEFAULTS["ranks"], leader: int = DEFAULTS["leader"]
) -> Rules:
    """The rules record of one variant; raises UserError if there is no such game."""
    require_whole("suits", suits, 1, MAX_SUITS, NAME)
    require_whole("ranks", ranks, 1, MAX_RANKS, NAME)
    require_whole("leader", leader, 0, NUM_SEATS - 1, NAME)
    cards = suits * ranks
    require(cards % NUM_SEATS == 0, "suits * ranks", cards, f"a deck that divides among {NUM_SEATS} hands", NAME)

    root = _root(suits, ranks)
    root[TURN] = leader
    most = float(_highest_team_result(suits, ranks))
    return Rules(
        kernel=KERNEL,
        root=root,
        version=VERSION,
        num_players=NUM_SEATS,
        num_distinct_actions=cards,
        max_chance_outcomes=NUM_SEATS,
        max_game_length=cards,
        max_chance_nodes=cards - 1,
        min_utility=-most,
        max_utility=most,
        utility_sum=0.0,
        key_words=1 + history_words(cards),
        information_pieces=information_pieces(suits, ranks),
        observation_pieces=observation_pieces(suits, ranks, len(scored_cards(root))),
        teams=TEAMS,
        features=FEATURES if cards == FULL_DECK else None,
        moves=moves,
    )


def _root(suits: int, ranks: int) -> np.ndarray:
    cards = suits * ranks
    root = deck.new_state(HISTORY + history_words(cards), [cards // NUM_SEATS] * NUM_SEATS)
    root[[SUITS, RANKS]] = suits, ranks
    root[HEART_CARDS] = bits.suit_cards(HEARTS, ranks) if suits > HEARTS else 0
    root[PIG] = _scored_card(suits, ranks, SPADES, QUEEN)
    root[SHEEP] = _scored_card(suits, ranks, DIAMONDS, JACK)
    root[TRANSFORMER] = _scored_card(suits, ranks, CLUBS, TEN)
    return root


def _scored_card(suits: int, ranks: int, suit: int, full_rank: int) -> int:
    rank = full_rank - (MAX_RANKS - ranks)
    return 1 << suit * ranks + rank if suit < suits and rank >= 0 else 0


@functools.cache
def _highest_team_result(suits: int, ranks: int) -> int:
    """The largest result of a team over all ways to share out the scored cards.

    A seat's score is linear in its hearts but for one who has all of them, so it is enough to try one seat with all
    hearts, or with all but one that another seat has.
    """
    root = _root(suits, ranks)
    hearts = int(root[HEART_CARDS])
    special = [int(root[slot]) for slot in (PIG, SHEEP, TRANSFORMER) if root[slot]]
    single_hearts = [0] + [1 << card for card in scored_cards(root) if hearts >> card & 1]
    best = 0
    for owners in itertools.product(range(NUM_SEATS), repeat=len(special) + 2):
        for single in single_hearts:
            taken = [0] * NUM_SEATS
            taken[owners[0]] = hearts ^ single
            taken[owners[1]] |= single
            for card, owner in zip(special, owners[2:], strict=True):
                taken[owner] |= card
            scores = [int(score(root, cards)) for cards in taken]
            best = max(best, scores[0] + scores[2] - scores[1] - scores[3])
    return best


@compiled
def legal_cards(state):
    """The set of cards the seat to move may play."""
    return following(state[HAND + state[TURN]], state[LED_SUIT])


@compiled
def legal_actions(state, out):
    return bits.list_cards(legal_cards(state), 0, out)


@compiled
def apply_action(state, action):
    if deck.is_dealt(state):
        _play_card(state, action)
    elif deck.deal_card(state, action):
        _start_play(state)


@compiled
def _start_play(state):
    for seat in range(NUM_SEATS):
        state[HAND + seat] = state[deck.DEALT + seat]


@compiled
def _play_card(state, card):
    state[TABLE] |= 1 << card
    suit = bits.suit_cards(card // state[RANKS], state[RANKS])
    if tricks.play_card(state, TRICKS, card, suit, NO_TRUMPS):
        state[TAKEN + state[TURN]] |= state[TABLE]
        state[TABLE] = 0


@compiled
def chance_outcomes(state, outcomes, probabilities):
    return deck.deal_outcomes(state, outcomes, probabilities)


@compiled
def deal(state, generator):
    deck.deal_at_random(state, generator)
    _start_play(state)


@compiled
def resample(state, player, generator):
    """The others' cards, any of those the player has not seen; nobody holds a suit she has shown to be void in."""
    hands = np.zeros(NUM_SEATS, np.int64)
    needs = np.zeros(NUM_SEATS, np.int64)
    unseen = 0
    for seat in range(NUM_SEATS):
        if seat != player:
            unseen |= state[HAND + seat]
            needs[seat] = bits.count(state[HAND + seat])
    redeal(unseen, needs, state[VOID : VOID + NUM_SEATS], NUM_SEATS, hands, generator)
    for seat in range(NUM_SEATS):
        if seat != player:
            state[deck.DEALT + seat] = state[deck.DEALT + seat] ^ state[HAND + seat] | hands[seat]
            state[HAND + seat] = hands[seat]


@compiled
def raw_points(state, cards):
    """What the scored cards among `cards` are worth by themselves."""
    points = 0
    if cards & state[PIG]:
        points += PIG_POINTS
    if cards & state[SHEEP]:
        points += SHEEP_POINTS
    hearts = (cards & state[HEART_CARDS]) >> state[RANKS] << (MAX_RANKS - state[RANKS])
    if hearts:
        points -= 10 * (
            bits.count(hearts & HEARTS_FROM_5)
            + bits.count(hearts & HEARTS_FROM_J)
            + bits.count(hearts & HEARTS_FROM_Q)
            + bits.count(hearts & HEARTS_FROM_K)
            + bits.count(hearts & HEARTS_FROM_A)
        )
    return points


@compiled
def score(state, taken):
    """The final score of a seat that has taken these cards."""
    points = raw_points(state, taken)
    hearts = state[HEART_CARDS]
    if hearts and taken & hearts == hearts:
        points -= 2 * raw_points(state, hearts)
    if taken & state[TRANSFORMER]:
        alone = taken & (hearts | state[PIG] | state[SHEEP]) == 0
        points = LONE_TRANSFORMER_POINTS if alone else 2 * points
    return points


@compiled
def team_result(state):
    """What seats 0 and 2 have scored so far more than seats 1 and 3."""
    result = 0.0
    for seat in range(NUM_SEATS):
        points = score(state, state[TAKEN + seat])
        result += points if seat & 1 == 0 else -points
    return result


@compiled
def returns(state, out):
    """The difference of the teams' scores, to every seat of a team."""
    result = team_result(state) if state[CARDS_PLAYED] == state[deck.DECK_SIZE] else 0.0
    for seat in range(NUM_SEATS):
        out[seat] = result if seat & 1 == 0 else -result


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
