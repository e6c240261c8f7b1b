"""The exact solver of the last tricks, against a minimax in plain Python on the rules."""

import numpy as np
import pytest

from cardtable.randomness import generator
from gongzhu_spiel import rules
from gongzhu_spiel import state as slots
from gongzhu_spiel.endings import solve_positions, solve_worlds

RULES = rules.gongzhu_rules(4, 13, 0)


def minimax(state: np.ndarray) -> float:
    if slots.current_player(state) < 0:
        return float(rules.team_result(state))
    actions = np.empty(52, np.int64)
    values = []
    for action in actions[: rules.legal_actions(state, actions)].copy():
        child = state.copy()
        rules.apply_action(child, action)
        values.append(minimax(child))
    return max(values) if state[slots.TURN] % 2 == 0 else min(values)


def ending(seed: int, cards_left: int, scored_late: bool) -> np.ndarray:
    """A position of a random game; `scored_late` keeps hearts and the other scored cards back as long as possible."""
    state, rng, actions = RULES.new_state(), np.random.default_rng(seed), np.empty(52, np.int64)
    rules.deal(state, generator(seed))
    scored = set(slots.scored_cards(state))
    while state[slots.CARDS_PLAYED] < 52 - cards_left:
        legal = actions[: rules.legal_actions(state, actions)]
        plain = [card for card in legal if card not in scored]
        rules.apply_action(state, int(rng.choice(plain if scored_late and plain else legal)))
    return state


@pytest.mark.parametrize("cards_left", [5, 6, 7, 8, 9, 10, 11, 12])
def test_against_minimax(cards_left: int) -> None:
    for seed in range(12 if cards_left < 10 else 3):
        state = ending(seed, cards_left, scored_late=seed % 2 == 0)
        seat, legal = int(state[slots.TURN]), int(rules.legal_cards(state))
        cards = [card for card in range(52) if legal >> card & 1]
        found = np.empty((2, len(cards)))
        solve_worlds(np.repeat(state[None, :], 2, axis=0), seat, legal, found)
        assert (found[0] == found[1]).all()
        for card, value in zip(cards, found[0], strict=True):
            child = state.copy()
            rules.apply_action(child, card)
            assert value == minimax(child) * (1 if seat % 2 == 0 else -1)


def test_positions_are_worth_what_minimax_says() -> None:
    """Together, in another order than they are in, so that none finds what the hash table knows of another."""
    states = np.stack([ending(seed, 1 + seed % 10, scored_late=seed % 2 == 0) for seed in range(20)])
    rows = np.arange(20)[::-1].copy()
    found = np.empty(20)
    solve_positions(states, rows, found)
    assert found.tolist() == [minimax(states[row]) for row in rows]
