"""Deals in which two players part, told from the results of a match: cards, calls, tricks, and what decided.

A deal was played twice, once with each player as North and South. Where both tables reached the same contract the
cards decided; where one was coinched the coinche did; else the calls. Of the player who is told of, every decision is
shown that the other would have made otherwise, with what the player thought of both actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cardtable import deck
from cardtable.match import Match, dealt_around
from cardtable.player import Explanation, Player, player_streams
from cardtable.replay import past
from cardtable.spiel import CardGame
from coinche_spiel import state as slots
from coinche_spiel.cards import cards_text

SEATS = ("North", "East", "South", "West")
KINDS = ("calls", "coinche", "cards")


class Told(NamedTuple):
    """One deal: its number, what the first player is ahead, what decided, and the final positions of both tables."""

    deal: int
    gain: float
    kind: str
    tables: tuple[np.ndarray, np.ndarray]  # the first player is North and South at the first


def contract_of(state: np.ndarray) -> tuple[int, int, int, int]:
    """Who attacks, trump, value and level; the same for all void deals."""
    if state[slots.VALUE] == slots.NONE:
        return (-1, -1, -1, 0)
    attack = int(slots.attacking_team(state))
    return attack, int(state[slots.TRUMP]), int(state[slots.VALUE]), int(slots.level(state))


def what_decided(one: np.ndarray, two: np.ndarray) -> str:
    first, second = contract_of(one), contract_of(two)
    if first == second:
        return "cards"
    return "coinche" if first[3] != second[3] else "calls"


def telling_deals(match: Match, each: int) -> list[Told]:
    """For each thing that can decide, the deals in which the first player gained most by it, the largest gain first."""
    tables = [games.states for games in match.games]
    assert tables[0] is not None
    assert tables[1] is not None
    gains = match.per_deal()
    found: list[Told] = []
    for deal in np.argsort(-gains, kind="stable"):
        both = (tables[0][deal], tables[1][deal])
        kind = what_decided(*both)
        if gains[deal] > 0 and sum(told.kind == kind for told in found) < each:
            found.append(Told(int(deal), float(gains[deal]), kind, both))
    return found


def decisions_told(
    game: CardGame, players: tuple[Player, Player], told: Told, seating: int, seed: int
) -> list[dict[str, str]]:
    """Decisions of the first player at one table that the second would have made otherwise."""
    table = dealt_around(game)[told.deal % len(dealt_around(game))]
    positions, actions = past(table.rules, told.tables[seating])
    rows = []
    for number, action in enumerate(actions):
        state = positions[number]
        seat = int(table.rules.kernel.current_player(state))
        if seat & 1 != seating or not _has_choice(table, state):
            continue
        streams = player_streams(seed, seat, range(told.deal, told.deal + 1))
        other = int(players[1].choose_rows(state[None, :].copy(), np.zeros(1, np.int64), streams)[0])  # type: ignore[misc]
        if other == action:
            continue
        streams = player_streams(seed, seat, range(told.deal, told.deal + 1))
        thought = players[0].explain(state[None, :].copy(), np.zeros(1, np.int64), streams)
        rows.append(
            {
                "seat": SEATS[seat],
                "holds": cards_text(int(state[slots.HAND + seat])),
                "after": _lately(table, positions, actions, number),
            }
            | {
                player.label: table.wording.action(state, chosen) + (_worth(thought[0], chosen) if thought else "")
                for player, chosen in zip(players, (int(action), other), strict=True)
            }
        )
    return rows


def _has_choice(table: CardGame, state: np.ndarray) -> bool:
    return table.rules.kernel.legal_actions(state, np.empty(table.num_distinct_actions(), np.int64)) > 1


def _lately(table: CardGame, positions: np.ndarray, actions: np.ndarray, number: int) -> str:
    """The calls so far, or the cards of the trick."""
    state = positions[number]
    calling = state[slots.PHASE] == slots.BIDDING
    first = 0 if calling else number - int(state[slots.CARDS_PLAYED]) % 4
    return " ".join(table.wording.action(positions[i], int(actions[i])) for i in range(first, number)) or "-"


def _worth(thought: Explanation, action: int) -> str:
    """What a player thinks of an action, in brackets, if it can say."""
    if thought.values is None:
        return ""
    place = int(np.flatnonzero(thought.actions == action)[0])
    if thought.tried is not None and not thought.tried[place]:
        return " (not tried)"
    error = "" if thought.errors is None else f" ± {thought.errors[place]:.0f}"
    return f" ({thought.values[place]:+.0f}{error})"


def auction_and_tricks(table: CardGame, state: np.ndarray) -> tuple[str, list[str]]:
    """The auction in one line; each trick in one line, its leader first."""
    positions, actions = past(table.rules, state)
    names = [table.wording.action(positions[i], int(action)) for i, action in enumerate(actions)]
    seats = [int(table.rules.kernel.current_player(positions[i])) for i in range(len(actions))]
    calls = len(actions) - int(state[slots.CARDS_PLAYED])
    auction = ", ".join(f"{SEATS[seat]} {name}" for seat, name in zip(seats[:calls], names[:calls], strict=True))
    tricks = [f"{SEATS[seats[start]]}: {' '.join(names[start : start + 4])}" for start in range(calls, len(actions), 4)]
    return auction, tricks


def tell(
    game: CardGame, players: tuple[Player, Player], told: Told, seed: int
) -> tuple[str, list[list[dict[str, str]]]]:
    """A deal in Markdown, and the decisions of the first player at both tables as rows."""
    tables = dealt_around(game)
    table = tables[told.deal % len(tables)]
    labels = [player.label for player in players]
    lines = [f"## Deal {told.deal}: {labels[0]} {told.gain:+.0f} a table, decided by the {told.kind}", ""]
    lines += [f"{SEATS[int(table.rules.root[slots.DEALER])]} deals.", ""]
    for seat in range(4):
        lines.append(f"* {SEATS[seat]}: {cards_text(int(told.tables[0][deck.DEALT + seat]))}")
    rows = []
    for seating, state in enumerate(told.tables):
        auction, tricks = auction_and_tricks(table, state)
        returns = np.empty(4)
        table.rules.kernel.returns(state, returns)
        points = state[slots.POINTS : slots.POINTS + 2]
        lines += ["", f"**{labels[seating]} is North and South.** {auction}.", ""]
        lines += [f"{number}. {trick}" for number, trick in enumerate(tricks, start=1)]
        lines += ["", f"North and South {points[0]}, East and West {points[1]}: {returns[0]:+.0f} for North and South."]
        rows.append(decisions_told(game, players, told, seating, seed))
    return "\n".join(lines) + "\n", rows


def chosen_kinds(found: Sequence[Told]) -> list[Told]:
    """In the order of `KINDS`."""
    return sorted(found, key=lambda told: (KINDS.index(told.kind), -told.gain))
