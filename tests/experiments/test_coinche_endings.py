"""Alpha-mu against what it must be: open cards in one world, never more than averaging, and a plain search for plans
that win in all worlds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.randomness import generator
from coinche_spiel import state as slots
from coinche_spiel.cards import list_cards, parse_cards
from coinche_spiel.scoring import is_made
from experiments.coinche.alpha_mu import AlphaMu, pareto
from experiments.coinche_endings import drawn_worlds, endings
from tests.commands import run

GAME = pyspiel.load_game("python_coinche")


def legal(state: np.ndarray) -> list[int]:
    out = np.empty(slots.NUM_ACTIONS, np.int64)
    return out[: GAME.rules.kernel.legal_actions(state, out)].tolist()


def after(state: np.ndarray, card: int) -> np.ndarray:
    child = state.copy()
    GAME.rules.kernel.apply_action(child, card)
    return child


def wins_everywhere(worlds: list[np.ndarray], seat: int) -> bool:
    """Whether a plan of this seat wins in all worlds, opponents seeing all hands and knowing the plan; the partner sees
    all hands too."""
    if GAME.rules.kernel.current_player(worlds[0]) < 0:
        attack = int(slots.attacking_team(worlds[0]))
        return all(bool(is_made(state)) == (attack == seat & 1) for state in worlds)
    turn = int(worlds[0][slots.TURN])
    if turn == seat:
        return any(wins_everywhere([after(state, card) for state in worlds], seat) for card in legal(worlds[0]))
    if (turn ^ seat) & 1:
        cards = sorted({card for state in worlds for card in legal(state)})
        return all(
            wins_everywhere([after(state, card) for state in worlds if card in legal(state)], seat) for card in cards
        )
    for plan in itertools.product(*(legal(state) for state in worlds)):
        parts = [
            [after(state, own) for state, own in zip(worlds, plan, strict=True) if own == card] for card in set(plan)
        ]
        if all(wins_everywhere(part, seat) for part in parts):
            return True
    return False


def test_vectors_that_are_contained_in_others_go() -> None:
    assert sorted(pareto([0b1010, 0b1000, 0b0101, 0b0101, 0, 0b1011])) == [0b0101, 0b1011]
    assert pareto([0]) == [0]


@pytest.mark.slow
def test_plans_for_all_worlds() -> None:
    averaging, deep = AlphaMu(GAME, 1), AlphaMu(GAME, 3)
    sure = 0
    for number, state in zip(range(14), endings(GAME, 3, seed=2), strict=False):
        alone = averaging.choose(state[None, :])[1]
        assert deep.choose(state[None, :])[1] == alone  # open cards
        worlds = drawn_worlds(GAME, state, 3, generator(number))
        believed, known = averaging.choose(worlds)[1], deep.choose(worlds)[1]
        for card, share in known.items():
            assert share <= believed[card]
            everywhere = wins_everywhere([after(world, card) for world in worlds], int(state[slots.TURN]))
            assert (share == 1.0) == everywhere
            sure += everywhere
    assert sure > 3


def test_a_guess_is_not_taken_for_knowledge() -> None:
    """Trumps are gone; South leads and needs 30 of the 49 points left: the ace of clubs, and the last trick for North.

    So South must lead the suit of East's ace first, and does not know which it is. After the ace of clubs open cards
    win in both worlds, and any plan in one of them.
    """
    worlds = np.stack([ending("AH 7D 7C", "AD 7H 8C"), ending("AD 7H 7C", "AH 7D 8C")])
    ace = list_cards(parse_cards("AC"))[0]
    assert AlphaMu(GAME, 1).choose(worlds)[1][ace] == 1.0
    assert AlphaMu(GAME, 2).choose(worlds)[1][ace] == 0.5
    for world in worlds:
        assert AlphaMu(GAME, 2).choose(world[None, :])[1][ace] == 1.0


def ending(north: str, east: str) -> np.ndarray:
    """South leads to the sixth trick; North has called 80 spades, North and South have 48 points so far."""
    state = GAME.rules.new_state()
    for seat, cards in enumerate((north, east, "AC QH QD", "8H 8D 9C")):
        state[slots.HAND + seat] = parse_cards(cards)
    state[[slots.PHASE, slots.TURN, slots.VALUE, slots.DECLARER]] = slots.PLAYING, 2, 0, 0
    state[[slots.TRUMP, slots.TRUMPS, slots.CARDS_PLAYED]] = 0, 0xFF, 20
    state[[slots.POINTS, slots.POINTS + 1, slots.TRICKS, slots.TRICKS + 1]] = 48, 65, 3, 2
    return state


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    assert "written to" in run("experiments.coinche_endings", "--quick", f"--out={tmp_path / 'run'}").stdout
