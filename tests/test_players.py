"""What every player must pass, on every game it says it plays.

Legal actions only; the same answers from the same seed; no peeking (the same answer after everything that the seat
cannot see was dealt again); and one answer, whether it is asked in a batch, in compiled code or as a bot.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.player import Player, find_player, player_streams, players_of
from cardtable.randomness import generator
from tests.variants import ALL

OPTIONS = {"monte_carlo": "(worlds=3)"}  # cheaper than the defaults
OPTIONS_OF = {  # the same for the players of one package
    "coinche_spiel": {"cards": "(worlds=2)", "caller": "(worlds=2)", "expert": "(worlds=2,simulated=2)"},
    "gongzhu_spiel": {"expert": "(worlds=6)", "scrofazero": "(worlds=2)"},
}
GAMES = 4
MOST_POSITIONS = 24  # of one game


def positions(game: pyspiel.Game, seed: int) -> Iterator[pyspiel.State]:
    """Decisions between two or more actions, on the way through random games."""
    rng = np.random.default_rng(seed)
    for _ in range(GAMES):
        state = game.new_initial_state()
        met = 0
        while not state.is_terminal() and met < MOST_POSITIONS:
            legal = state.legal_actions()
            if not state.is_chance_node() and len(legal) > 1:
                met += 1
                yield state
            if state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(int(rng.choice(outcomes, p=chances)))
            else:
                cheap = legal[:6] if rng.random() < 0.9 else legal  # long auctions: mostly low bids
                state.apply_action(int(rng.choice(cheap)))


@pytest.mark.parametrize("name", ALL)
def test_players(name: str) -> None:
    game = pyspiel.load_game(name)
    inside = game
    while hasattr(inside, "base"):
        inside = inside.base
    options = OPTIONS | OPTIONS_OF.get(type(inside).__module__.partition(".")[0], {})
    for player in players_of(game):
        check_player(game, find_player(player + options.get(player, ""), game))


def check_player(game: pyspiel.Game, player: Player) -> None:
    assert player.choose_rows is not None
    kernel = game.rules.compiled_kernel(resample=True)
    bots = [player.bot(game, seat, seed=7) for seat in range(game.num_players())]
    arrays, seats, answers = [], [], []
    for deal, state in enumerate(positions(game, seed=1)):
        seat = state.current_player()
        row = np.zeros(1, np.int64)
        mine = player_streams(7, seat, range(deal, deal + 1))
        answer = int(player.choose_rows(state.array[None, :].copy(), row, mine.copy())[0])
        assert answer in state.legal_actions()
        arrays.append(state.array.copy())
        seats.append(seat)
        answers.append(answer)
        if player.compiled is not None:
            assert player.compiled(state.array.copy(), mine[0].copy()) == answer
        bots[seat].start(deal)
        before = state.array.copy()
        assert bots[seat].step(state) == answer
        assert (state.array == before).all(), "a bot changed the state it was asked about"
        for again in range(3):
            other = state.array.copy()
            kernel.resample(other, seat, generator(100 * deal + again))
            assert player.choose_rows(other[None, :], row, mine.copy())[0] == answer, "the player peeks"

    # All positions at once, in another order.
    states = np.stack(arrays)
    order = np.random.default_rng(2).permutation(len(states))
    own = np.concatenate([player_streams(7, seats[deal], range(deal, deal + 1)) for deal in order])
    assert player.choose_rows(states, order, own).tolist() == [answers[deal] for deal in order]
    assert (states == np.stack(arrays)).all(), "a player changed the states it was asked about"

    explained = player.explain(states, order[:5], own[:5])
    if explained is None:
        return
    for deal, found in zip(order[:5], explained, strict=True):
        mask = np.empty(game.num_distinct_actions(), np.int64)
        legal = mask[: kernel.legal_actions(states[deal], mask)]
        assert found.actions.tolist() == legal.tolist()
        if found.probabilities is not None:
            assert found.probabilities.sum() == pytest.approx(1)
        else:
            assert found.values is not None
            if found.errors is not None:
                assert found.errors[int(np.argmax(found.values))] == 0
                assert (found.errors >= 0).all()
