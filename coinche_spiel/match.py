"""A whole match as one OpenSpiel game: `python_coinche_match(target=1000,max_deals=100,...)`.

Deals follow one another with the classic score: the side that kept or broke the contract adds its points, the other
nothing. The dealer moves on after every deal, void ones included. The first team with `target` points wins +1, the
other gets -1; after `max_deals` deals without a winner the match is drawn.

A state is a state of Coinche with a few slots behind it; all other parameters are those of `python_coinche`, and the
players of `coinche_spiel.players` play it as it is. What a player knows is the present deal, the score, and how many
deals have been played: earlier cards say nothing about the next ones, so they are forgotten. (A strategy that studies
its opponents over a match would want more.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.display import Table
from cardtable.parameters import require_known, require_whole
from cardtable.rules import CHANCE, Kernel, Piece, Rules
from cardtable.spiel import CardGame, CardState, card_game_type
from coinche_spiel import observation, rules
from coinche_spiel.game import CoincheWording, register_coinche_players
from coinche_spiel.scoring import is_made, team_scores
from coinche_spiel.state import (
    CLASSIC,
    DEALER,
    NONE,
    NUM_TEAMS,
    OVER,
    PHASE,
    PLAYERS,
    STATE_SIZE,
    VALUE,
    attacking_team,
    clear_table,
    next_seat,
)

SCORE = STATE_SIZE  # SCORE + team
DEALS_PLAYED = SCORE + NUM_TEAMS
TARGET = DEALS_PLAYED + 1
MAX_DEALS = DEALS_PLAYED + 2
MATCH_STATE_SIZE = DEALS_PLAYED + 3

NAME = "python_coinche_match"
VERSION = 1  # of the rules: raised with that of `rules`, whose positions these contain, or when the match changes
DEFAULTS: dict[str, Any] = rules.DEFAULTS | {"target": 1000, "max_deals": 100}
for _name in ("reward", "trick_reward"):  # a match is scored in its own way
    del DEFAULTS[_name]


def match_type(num_players: int) -> pyspiel.GameType:
    return card_game_type(NAME, "Coinche, a whole match", num_players, DEFAULTS)


GAME_TYPE = match_type(4)  # as the default game is; one for two players says so in its own type
MATCH_PIECE = Piece("match", (3,), "observer")  # own score and theirs / target, deals played / max_deals


def match_rules(
    target: int = DEFAULTS["target"], max_deals: int = DEFAULTS["max_deals"], **parameters: int | float | bool | str
) -> Rules:
    """The rules record of a match, by the parameters in `DEFAULTS`; raises UserError if there is no such game."""
    require_known(parameters, DEFAULTS, NAME)
    require_whole("target", target, 1, 1_000_000, NAME)
    require_whole("max_deals", max_deals, 1, 1000, NAME)
    one_deal = rules.coinche_rules(**parameters)
    root = np.zeros(MATCH_STATE_SIZE, np.int64)
    root[:STATE_SIZE] = one_deal.root
    root[[TARGET, MAX_DEALS]] = target, max_deals
    return Rules(
        kernel=KERNEL,
        root=root,
        version=VERSION,
        num_players=one_deal.num_players,
        num_distinct_actions=one_deal.num_distinct_actions,
        max_chance_outcomes=one_deal.max_chance_outcomes,
        max_game_length=max_deals * one_deal.max_game_length,
        max_chance_nodes=max_deals * one_deal.max_chance_nodes,
        min_utility=-1.0,
        max_utility=1.0,
        utility_sum=0.0,
        key_words=one_deal.key_words + 1,
        information_pieces=(*one_deal.information_pieces, MATCH_PIECE),
        observation_pieces=(*one_deal.observation_pieces, MATCH_PIECE),
        teams=one_deal.teams,
        interchangeable_suits=one_deal.interchangeable_suits,
        recall=rules.RECALL,  # of the present deal
        moves_inside=one_deal.moves,
        begin=begin_deal,
        forgotten=(
            (DEALER, 0, one_deal.num_players - 1),
            *((SCORE + team, 0, target - 1) for team in range(NUM_TEAMS)),
            (DEALS_PLAYED, 0, max_deals - 1),
        ),
    )


@compiled
def apply_action(state, action):
    rules.apply_action(state, action)
    if state[PHASE] == OVER:
        _score_deal(state)
        if _winner(state) == NONE and state[DEALS_PLAYED] < state[MAX_DEALS]:
            _next_deal(state)


@compiled
def _score_deal(state):
    _count_deal(state, state, 1)


@compiled
def _count_deal(state, match, times):
    """Adds the deal that is over in `state` to the score in `match`; -1 times takes it back."""
    match[DEALS_PLAYED] += times
    if state[VALUE] != NONE:
        attack, defence = team_scores(state, is_made(state), CLASSIC)
        team = attacking_team(state)
        match[SCORE + team] += times * attack
        match[SCORE + 1 - team] += times * defence


@compiled
def begin_deal(state, out):
    """Makes `out`, a root, the position before the present deal."""
    out[DEALER] = state[DEALER]
    for slot in range(SCORE, TARGET):
        out[slot] = state[slot]
    if state[PHASE] == OVER:
        _count_deal(state, out, -1)


@compiled
def _winner(state):
    """The team that has reached the target; in a deal only one of them scores."""
    for team in range(NUM_TEAMS):
        if state[SCORE + team] >= state[TARGET]:
            return team
    return NONE


@compiled
def _next_deal(state):
    """The cards go back to the deck, and the next seat deals."""
    for pile in range(state[deck.NUM_PILES]):
        state[deck.ROOM + pile] = bits.count(state[deck.DEALT + pile])
        state[deck.DEALT + pile] = 0
    state[deck.NEXT_CARD] = bits.lowest(state[deck.DECK_CARDS])
    clear_table(state)
    state[DEALER] = next_seat(state, state[DEALER])


@compiled
def returns(state, out):
    winner = _winner(state) if state[PHASE] == OVER else NONE
    for seat in range(state[PLAYERS]):
        out[seat] = 0.0
        if winner != NONE:
            out[seat] = 1.0 if seat & 1 == winner else -1.0


@compiled
def information_key(state, player, out):
    """The key of the deal, and a word for the match."""
    observation.information_key(state, player, out)
    out[observation.KEY_WORDS] = state[DEALS_PLAYED] | state[SCORE] << 10 | state[SCORE + 1] << 36


@compiled
def information_tensor(state, player, out):
    observation.information_tensor(state, player, out)
    _write_match(state, player, out)


@compiled
def observation_tensor(state, player, out):
    observation.observation_tensor(state, player, out)
    _write_match(state, player, out)


@compiled
def _write_match(state, player, out):
    at = len(out) - 3
    team = player & 1
    out[at] = state[SCORE + team] / state[TARGET]
    out[at + 1] = state[SCORE + 1 - team] / state[TARGET]
    out[at + 2] = state[DEALS_PLAYED] / state[MAX_DEALS]


KERNEL = Kernel(
    current_player=rules.current_player,
    legal_actions=rules.legal_actions,
    apply_action=apply_action,
    chance_outcomes=rules.chance_outcomes,
    deal=rules.deal,
    resample=rules.resample,
    returns=returns,
    information_key=information_key,
    information_tensor=information_tensor,
    observation_tensor=observation_tensor,
)


class CoincheMatchGame(CardGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        rules_of_match = match_rules(**params)
        super().__init__(match_type(rules_of_match.num_players), rules_of_match, MatchWording(), params)

    def new_initial_state(self) -> CoincheMatchState:
        return CoincheMatchState(self)


class CoincheMatchState(CardState):
    def resample_from_infostate(self, player: int, probability_sampler: Any) -> CoincheMatchState:
        """Finished deals stay as they were; the present one is dealt again as the player may imagine it."""
        array = self.table.resampled(player, probability_sampler)
        state = self.get_game().new_initial_state()
        for move in self.full_history():
            if state.array[DEALS_PLAYED] < array[DEALS_PLAYED]:
                state.apply_action(move.action)
                continue
            state.follow_chance(array, probability_sampler)
            if move.player != CHANCE:
                state.apply_action(move.action)
        state.follow_chance(array, probability_sampler)
        return state


class MatchWording(CoincheWording):
    def public_history(self, state: np.ndarray) -> str:
        deal = super().public_history(state)
        return f"{self._match(state)} | {deal}" if deal else self._match(state)

    def public_now(self, state: np.ndarray) -> str:
        deal = super().public_now(state)
        return f"{self._match(state)} | {deal}" if deal else self._match(state)

    def table(self, state: np.ndarray, seat: int) -> Table:
        """The present deal, with the score of the match."""
        shown = super().table(state, seat)
        shown["facts"] += [["target", int(state[TARGET])], ["deals_played", int(state[DEALS_PLAYED])]]
        sides = shown["teams"] or shown["seats"]
        for number, side in enumerate(sides):
            side["figures"]["score"] = int(state[SCORE + number])
        return shown

    def finished_deal(self, state: np.ndarray, action: int) -> np.ndarray | None:
        """The end of the deal that this action ends, which the next position has forgotten; None if it goes on."""
        after = state.copy()
        rules.apply_action(after, action)
        if after[PHASE] != OVER:
            return None
        _score_deal(after)
        return after

    def _match(self, state: np.ndarray) -> str:
        return f"deals played {state[DEALS_PLAYED]}, score {state[SCORE]} to {state[SCORE + 1]}"


pyspiel.register_game(GAME_TYPE, CoincheMatchGame)
register_coinche_players(GAME_TYPE.short_name)
