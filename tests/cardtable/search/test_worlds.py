"""Worlds weighed by models, against Bayes by enumeration in plain Python."""

from collections import Counter

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable import deck
from cardtable.compiled import compiled
from cardtable.parameters import UserError
from cardtable.randomness import generator
from cardtable.search.worlds import Model, Worlds, models_of
from gongzhu_spiel.rules import legal_actions

GONGZHU = "python_gongzhu(suits=2,ranks=6)"
HIGH_NOISE, LOW_NOISE, HIGH_PRIOR, LOW_PRIOR = 0.2, 0.05, 3.0, 1.0


@compiled
def highest(state, generator):
    return _extreme(state, True)


@compiled
def lowest(state, generator):
    return _extreme(state, False)


@compiled
def _extreme(state, want_highest):
    actions = np.empty(64, np.int64)
    n = legal_actions(state, actions)
    return actions[n - 1] if want_highest else actions[0]


def played(name: str, moves: int, seed: int) -> pyspiel.State:
    """Some cards into a game in which seats 1 and 3 mostly play high and seat 2 low."""
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(int(rng.choice(state.legal_actions())))
    for _ in range(moves):
        legal = state.legal_actions()
        high = state.current_player() % 2 == 1
        state.apply_action(int(rng.choice(legal)) if rng.random() < 0.2 else legal[-1] if high else legal[0])
    return state


def plain_weight(game: pyspiel.Game, piles: tuple[int, ...], moves: list[int], seat: int) -> float:
    """The formula at the top of the module, through pyspiel alone."""
    state = game.new_initial_state()
    for card in range(12):
        if state.is_chance_node():
            state.apply_action(next(pile for pile in range(4) if piles[pile] >> card & 1))
    likelihoods = {other: [1.0, 1.0] for other in range(4) if other != seat}
    for action in moves:
        mover, legal = state.current_player(), state.legal_actions()
        if mover != seat:
            for model, (noise, choice) in enumerate(((HIGH_NOISE, max(legal)), (LOW_NOISE, min(legal)))):
                likelihoods[mover][model] *= noise / len(legal) + (1 - noise) * (choice == action)
        state.apply_action(action)
    weight = 1.0
    for by_high, by_low in likelihoods.values():
        weight *= (HIGH_PRIOR * by_high + LOW_PRIOR * by_low) / (HIGH_PRIOR + LOW_PRIOR)
    return weight


def piles_of(world: np.ndarray) -> tuple[int, ...]:
    return tuple(world[deck.DEALT : deck.DEALT + 4].tolist())


@pytest.mark.parametrize(("moves", "power"), [(5, 1.0), (6, 0.7), (8, 1.0)])
def test_weights_and_draws_are_those_of_bayes(moves: int, power: float) -> None:
    state = played(GONGZHU, moves, seed=moves)
    game, seat = state.get_game(), state.current_player()
    models = [Model(highest, HIGH_NOISE, HIGH_PRIOR), Model(lowest, LOW_NOISE, LOW_PRIOR)]
    worlds = Worlds(game, models, drawn=60_000, kept=20_000, power=power)
    some = worlds.uniform(state.array, seat, generator(1), 5000)
    actions = [move.action for move in state.full_history() if move.player >= 0]
    weights = {piles: plain_weight(game, piles, actions, seat) ** power for piles in {piles_of(w) for w in some}}
    assert len(weights) > 5
    found = {piles_of(world): log for world, log in zip(some, worlds.log_weights(some, seat), strict=True)}
    highest_weight = max(weights.values())
    for piles, weight in weights.items():
        assert found[piles] == pytest.approx(np.log(weight / highest_weight), abs=1e-9)
    counts = Counter(piles_of(world) for world in worlds.draw(state.array, seat, generator(2)))
    total = sum(weights.values())
    assert set(counts) <= set(weights)
    for piles, weight in weights.items():
        share = weight / total
        assert counts[piles] / 20_000 == pytest.approx(share, abs=5 * np.sqrt(share / 20_000) + 0.004)


def test_without_models_all_worlds_are_alike_and_the_log_score_is_zero() -> None:
    state = played(GONGZHU, 6, seed=1)
    worlds = Worlds(state.get_game(), kept=50)
    assert worlds.draw(state.array, 2, generator(3)).shape == (50, len(state.array))
    assert worlds.log_score(state.array, state.current_player(), generator(4)) == 0


def test_a_mixture_knows_something_and_one_sure_model_of_the_wrong_player_less_than_nothing() -> None:
    mixture, sure = [Model(highest, 0.2), Model(lowest, 0.2)], [Model(highest, 0.001)]
    scores = []
    for models in (mixture, sure):
        found = []
        for seed in range(40):
            state = played(GONGZHU, 8, seed)
            worlds = Worlds(state.get_game(), models)
            found.append(worlds.log_score(state.array, state.current_player(), generator(seed)))
        scores.append(np.mean(found))
    assert scores[0] > 0 > scores[1]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"drawn": 0}, "drawn is 0"),
        ({"drawn": 10, "kept": 11}, "kept is 11; allowed: 1 to 10"),
        ({"power": float("nan")}, "power is nan"),
        ({"models": [Model(highest, 0.0)]}, "noise is 0.0"),
        ({"models": [Model(highest, 0.1, -1.0)]}, "prior is -1.0"),
    ],
)
def test_bad_settings(settings: dict, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        Worlds(pyspiel.load_game(GONGZHU), **settings)


def test_models_by_name() -> None:
    game = pyspiel.load_game("python_gongzhu")
    assert len(models_of(game, ["greed", "team"])) == 2
    with pytest.raises(UserError, match="models is 'nobody'"):
        models_of(game, ["nobody"])
