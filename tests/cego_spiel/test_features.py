"""What networks are told of Cego, where the rules of a sub-game say how much it matters."""

from __future__ import annotations

import pyspiel
import pytest

import cego_spiel  # noqa: F401 registers the game
from cego_spiel.features import TRICKS_OF
from cego_spiel.restrictions import HAND_SIZE
from tests.test_features import encoded
from tests.test_players import positions


@pytest.mark.parametrize(("subgame", "told"), [("piccolo", 1.0), ("solo", 1 / HAND_SIZE)])
def test_the_only_trick_of_piccolo_is_told_as_a_whole(subgame: str, told: float) -> None:
    game = pyspiel.load_game(f"python_cego(subgame={subgame})")
    tricks_of_single_player = set()
    for state in positions(game, seed=2):
        player, seats = state.current_player(), game.wording.table(state.array, 0)["seats"]
        context, _ = encoded(game.rules, state.array)
        for seat in range(4):
            won = seats[seat]["figures"]["tricks"]
            wanted = won * told if seat == 0 else won / HAND_SIZE
            assert context[TRICKS_OF + (seat - player) % 4] == pytest.approx(wanted)
        tricks_of_single_player.add(seats[0]["figures"]["tricks"])
    assert {0, 1} <= tricks_of_single_player
