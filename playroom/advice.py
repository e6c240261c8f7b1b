"""What a player does and thinks in one position: its move, or a bar for every legal action.

A policy gives probabilities, a search values with the standard error of each one's difference to the best; a player
that can do neither says which action it would choose. Two actions are too close to call where the 95% interval of their
difference holds zero.

Random numbers belong to the decision: seed, deal, seat and the number of moves so far. So an answer does not depend on
which process gave it, and the same question has the same answer.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pyspiel

from cardtable.bots import SeatBot
from cardtable.match import CONFIDENCE
from cardtable.parameters import UserError
from cardtable.player import Explanation, Player, find_player, player_streams
from cardtable.randomness import streams
from cardtable.rules import CHANCE
from cardtable.spiel import CardState
from playroom import rollouts

DECISIONS = 4  # the path of the streams of decisions, beside those of cards and players in a match


def find_seat_player(text: str, game: pyspiel.Game) -> Player:
    """`find_player`, and the search for games that are not ours."""
    return _find(text, str(game))


@functools.lru_cache(maxsize=64)
def _find(text: str, game_name: str) -> Player:
    game = _game(game_name)
    name, _, options = text.removesuffix(")").partition("(")
    if name == rollouts.NAME and not hasattr(game, "rules"):
        if not options:
            return rollouts.rollouts(game)
        option, _, value = options.partition("=")
        if option != "worlds" or not value.isdecimal():
            raise UserError(f"the player {text!r} cannot be read; allowed: {rollouts.NAME}(worlds={rollouts.WORLDS})")
        return rollouts.rollouts(game, int(value))
    return find_player(text, game)


@functools.lru_cache(maxsize=64)
def _game(name: str) -> pyspiel.Game:
    return pyspiel.load_game(name)


def is_quick(player: Player) -> bool:
    """Whether its answer takes no time worth mentioning: compiled heuristics, and policies in tables."""
    return player.compiled is not None or (player.probabilities_rows is not None and player.explain_rows is None)


def decision_stream(seed: int, seat: int, deal: int, moves: int) -> np.ndarray:
    """The random numbers of one decision; the second word, for those who draw once a game, is that of the deal."""
    stream = player_streams(seed, seat, range(deal, deal + 1))
    start = int(streams(seed, (DECISIONS, seat), range(deal, deal + 1))[0, 0] >> np.uint64(1))
    stream[:, 0] = streams(start, (0,), range(moves, moves + 1))[:, 0]
    return stream


def choose(player: Player, state: pyspiel.State, seed: int, deal: int, moves: int) -> int:
    """The action of the seat to move."""
    seat = state.current_player()
    legal = state.legal_actions()
    if len(legal) == 1:
        return int(legal[0])
    stream = decision_stream(seed, seat, deal, moves)
    if player.choose_rows is not None and isinstance(state, CardState):
        return int(player.choose_rows(state.array[None, :].copy(), np.zeros(1, np.int64), stream)[0])
    return int(_informed_bot(player, state, int(stream[0, 0] >> np.uint64(33))).step(state))


def _informed_bot(player: Player, state: pyspiel.State, seed: int) -> pyspiel.Bot:
    """A bot for the seat to move that has seen the game so far."""
    seat = state.current_player()
    bot = player.bot(state.get_game(), seat, seed)
    bot.restart()
    if not isinstance(bot, SeatBot | rollouts.RolloutBot):
        before = state.get_game().new_initial_state()
        for move in state.full_history():
            if move.player not in (CHANCE, seat):
                bot.inform_action(before, move.player, move.action)
            before.apply_action(move.action)
    return bot


def advise(player: Player, state: pyspiel.State, seed: int, deal: int, moves: int) -> dict[str, Any]:
    """What the player thinks of every legal action, for the seat to move, as plain values."""
    seat = state.current_player()
    stream = decision_stream(seed, seat, deal, moves)
    found: Explanation | None = None
    if isinstance(state, CardState) and (player.explain_rows or player.probabilities_rows):
        explained = player.explain(state.array[None, :].copy(), np.zeros(1, np.int64), stream)
        found = None if explained is None else explained[0]
    elif player.make_policy is not None:
        chances = player.policy(state.get_game()).action_probabilities(state, seat)
        legal = state.legal_actions()
        found = Explanation(np.array(legal), probabilities=np.array([chances.get(action, 0.0) for action in legal]))
    else:
        bot = _informed_bot(player, state, int(stream[0, 0] >> np.uint64(33))) if player.make_bot else None
        if isinstance(bot, rollouts.RolloutBot):
            found = bot.explain(state)
    if found is None:
        return {"kind": "choice", "bars": [{"action": choose(player, state, seed, deal, moves)}]}
    return bars(found)


def bars(found: Explanation) -> dict[str, Any]:
    """An explanation as plain values, the best action first."""
    if found.probabilities is not None and found.values is None:
        order = np.argsort(-found.probabilities, kind="stable")
        return {
            "kind": "probabilities",
            "bars": [
                {"action": int(found.actions[place]), "probability": float(found.probabilities[place])}
                for place in order
            ],
        }
    assert found.values is not None, "an explanation has values or probabilities"
    errors = found.errors if found.errors is not None else np.full(len(found.values), math.nan)
    untried = np.zeros(len(found.values), bool) if found.tried is None else ~found.tried
    order = np.lexsort((-found.values, untried))
    best = float(found.values[order[0]])
    bars = []
    for place in order:
        value, error = float(found.values[place]), float(errors[place])
        if untried[place]:  # its value is no estimate
            bars.append({"action": int(found.actions[place]), "untried": True})
            continue
        bar: dict[str, Any] = {"action": int(found.actions[place]), "value": value, "behind": best - value}
        if math.isfinite(error):
            bar["error"] = error
            bar["close"] = bool(place != order[0] and best - value <= CONFIDENCE * error)
        bars.append(bar)
    if len(bars) > 1:
        bars[0]["close"] = any(bar.get("close") for bar in bars[1:])
    return {"kind": "values", "bars": bars}


def cost(advice: dict[str, Any], action: int) -> float | None:
    """What an action gave away by this advice: value behind the best, or how much less likely than the likeliest.

    None where the adviser does not say: it only chooses, or did not look at the action.
    """
    bar = next((bar for bar in advice["bars"] if bar["action"] == action), None)
    if advice["kind"] == "values":
        return None if bar is None or "behind" not in bar else float(bar["behind"])
    if advice["kind"] == "probabilities":
        return advice["bars"][0]["probability"] - (0.0 if bar is None else bar["probability"])
    return None
