"""A finished deal looked at again: what the adviser thought of every decision, and what each gave away.

For Coinche the value with open cards stands beside it: what perfect play of all four takes after each card. That is
hindsight, and says so: the best card with open hands need not be the best one for somebody who does not see them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from playroom.advice import cost
from playroom.compute import FailedError, OverrunError
from playroom.records import Record, Replay

WITH_OPEN_CARDS = ("python_coinche", "python_coinche_match")  # games with a double-dummy solver
AdviceAt = Callable[[str, list[int], int, str], Awaitable[dict[str, Any]]]
OpenCardsAt = Callable[[str, list[int]], Awaitable[dict[str, int] | None]]


async def analyse(
    record: Record, seat: int | None, adviser: str, advice_at: AdviceAt, open_cards_at: OpenCardsAt
) -> AsyncIterator[dict[str, Any]]:
    """Frames with the decisions found so far; the last one marks the costliest. A seat of None means all seats."""
    replay = Replay(record)
    decisions: list[dict[str, Any]] = []
    wanted = [step for step in range(replay.steps) if _is_decision(replay, step, seat)]
    game = str(replay.game)
    for number, step in enumerate(wanted):
        state, action = replay.state(step), replay.action(step)
        try:
            found = await advice_at(game, replay.history(step), step, adviser)
        except (OverrunError, FailedError):
            continue
        decision = {
            "step": step,
            "seat": state.current_player(),
            "action": action,
            "name": state.action_to_string(state.current_player(), action),
            "cost": cost(found, action),
            **found,
        }
        if replay.game.get_type().short_name in WITH_OPEN_CARDS:
            values = await open_cards_at(game, replay.history(step))
            if values is not None:
                decision["open_cards"] = {"best": max(values.values()), "played": values[str(action)]}
        decisions.append(decision)
        yield {"decisions": [decision], "done": number + 1, "of": len(wanted), "finished": False}
    costs = [decision["cost"] or 0.0 for decision in decisions]
    costliest = decisions[costs.index(max(costs))]["step"] if costs and max(costs) > 0 else None
    yield {"decisions": [], "done": len(wanted), "of": len(wanted), "finished": True, "costliest": costliest}


def _is_decision(replay: Replay, step: int, seat: int | None) -> bool:
    state = replay.state(step)
    return (seat is None or state.current_player() == seat) and len(state.legal_actions()) > 1
