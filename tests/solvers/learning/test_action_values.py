"""The networks on legal actions: compiled against torch, the written gradient against torch's own."""

from __future__ import annotations

import itertools

import numpy as np
import pyspiel
import pytest
import torch

import cardspiel  # noqa: F401 registers our games
from cardtable.features import encode_decisions
from cardtable.parameters import UserError
from cardtable.search.action_values import ActionValues, Shape, shape_for, tensors_of, weights_of
from solvers.learning.action_learner import ActionLearner, Batch, squared_gradient
from tests.test_players import positions

SIZES = [((12,), (9, 5)), ((12, 7), (6,)), ((), (8, 8)), ((10,), ()), ((), ())]


def learner(shape: Shape) -> ActionLearner:
    made = ActionLearner(shape, 1e-2, torch.Generator().manual_seed(3), torch.device("cpu"), 0.99)
    made.set_weights(0.3 * np.random.default_rng(1).standard_normal(shape.num_weights).astype(np.float32))
    return made


def some_batch(shape: Shape) -> Batch:
    drawn = torch.Generator().manual_seed(5)
    row_of = torch.tensor([0, 0, 0, 1, 2, 2, 3, 3, 3, 3])
    contexts = torch.randn(4, shape.context_size, generator=drawn)
    return Batch(contexts, torch.randn(len(row_of), shape.action_size, generator=drawn), row_of)


def plain_forward(shape: Shape, weights: torch.Tensor, batch: Batch) -> torch.Tensor:
    """The formula of `action_values`, written again for one action at a time."""
    part, place = {}, 0
    for name, size in shape.blocks():
        part[name] = weights[place : place + int(np.prod(size))].reshape(size)
        place += int(np.prod(size))
    active = lambda x: torch.where(x > 0, x, shape.negative_slope * x)  # noqa: E731
    values = []
    for action, row in zip(batch.details, batch.row_of, strict=True):
        h = batch.contexts[row]
        for number in range(len(shape.context_sizes)):
            h = active(h @ part[f"context.{number}.weight"] + part[f"context.{number}.bias"])
        if not shape.head_sizes:
            values.append(action @ (part["actions.weight"] @ h + part["actions.bias"]))
            continue
        z = active(action @ part["head.actions"] + h @ part["head.context"] + part["head.bias"])
        for number in range(1, len(shape.head_sizes) + 1):
            z = z @ part[f"head.{number}.weight"] + part[f"head.{number}.bias"]
            z = active(z) if number < len(shape.head_sizes) else z
        values.append(z[0])
    return torch.stack(values)


@pytest.mark.parametrize(("context_sizes", "head_sizes"), SIZES)
def test_forward_and_gradient_are_those_of_the_formula(
    context_sizes: tuple[int, ...], head_sizes: tuple[int, ...]
) -> None:
    shape = Shape(6, 4, context_sizes, head_sizes, 0.1)
    made, batch = learner(shape), some_batch(shape)
    weights = torch.from_numpy(made.weights()).requires_grad_()
    values = plain_forward(shape, weights, batch)
    torch.testing.assert_close(made.forward(batch), values.detach())
    targets, importance = torch.randn(10), torch.rand(10)
    (importance * (values - targets) ** 2).sum().backward()
    made.fit(batch, squared_gradient(targets, importance))
    torch.testing.assert_close(made._gradients, weights.grad)


@pytest.mark.parametrize(("context_sizes", "head_sizes"), SIZES)
@pytest.mark.parametrize("kind", ["features", "observation"])
def test_compiled_values_are_those_of_torch(
    context_sizes: tuple[int, ...], head_sizes: tuple[int, ...], kind: str
) -> None:
    rules = pyspiel.load_game("python_cego").rules
    shape = shape_for(rules, context_sizes, head_sizes, 0.05, kind)
    made = learner(shape)
    frozen = ActionValues(rules, shape, made.weights(), kind)
    game = pyspiel.load_game("python_cego")
    states = np.stack([state.array for state in itertools.islice(positions(game, seed=2), 12)])
    rows = np.array([7, 0, 3, 11, 5])
    actions, counts, values = frozen(states, rows)
    starts = np.concatenate([[0], np.cumsum(counts)])
    contexts = np.zeros((len(rows), shape.context_size), np.float32)
    details = np.zeros((starts[-1], shape.action_size), np.float32)
    encode_decisions(frozen.addresses, frozen.features, states, rows, starts, contexts, details)
    row_of = torch.from_numpy(np.repeat(np.arange(len(rows)), counts))
    expected = made.forward(Batch(torch.from_numpy(contexts), torch.from_numpy(details), row_of)).numpy()
    found = np.concatenate([row[:count] for row, count in zip(values, counts, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    alone = frozen(states, rows[2:3])
    assert (alone[2][0, : alone[1][0]] == values[2, : counts[2]]).all(), "a value depends on who else is asked"
    assert (alone[0][0, : alone[1][0]] == actions[2, : counts[2]]).all()


def test_room_without_an_action_holds_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search multiplies whole rows, and whatever lay in memory may be too large for that."""
    game = pyspiel.load_game("python_cego")
    shape = shape_for(game.rules, (4,), (4,), 0.0)
    frozen = ActionValues(game.rules, shape, learner(shape).weights())
    states = np.stack([state.array for state in itertools.islice(positions(game, seed=2), 4)])
    monkeypatch.setattr(np, "empty", lambda size, kind: np.full(size, 99, kind))
    _, counts, values = frozen(states, np.arange(4))
    for row, count in zip(values, counts, strict=True):
        assert (row[count:] == 0.0).all()


def test_learns_and_averages() -> None:
    shape = Shape(6, 4, (16,), (16, 8))
    made, batch = learner(shape), some_batch(shape)
    targets = torch.linspace(-1, 1, 10)
    for _ in range(300):
        made.fit(batch, squared_gradient(targets, torch.full((10,), 0.1)))
    assert float((made.forward(batch) - targets).square().mean()) < 0.01
    made.set_weights(made.playing_weights())
    assert float((made.forward(batch) - targets).square().mean()) < 0.02


def test_weights_go_through_files_and_wrong_ones_are_refused() -> None:
    shape = Shape(6, 4, (5,), (3, 2))
    weights = np.linspace(-1, 1, shape.num_weights).astype(np.float32)
    found = weights_of(shape, tensors_of(shape, weights, np.float32))
    assert (found == weights).all()
    assert Shape.of_json(shape.as_json()) == shape
    with pytest.raises(UserError, match="not those of a network"):
        weights_of(Shape(6, 4, (5,), (3, 3)), tensors_of(shape, weights))
    for wrong in (None, {}, {**shape.as_json(), "head_sizes": [0]}, {**shape.as_json(), "negative_slope": "x"}):
        with pytest.raises(UserError, match="a network has the shape"):
            Shape.of_json(wrong)


def test_rmsprop_is_torchs_with_short_gradients() -> None:
    shape = Shape(6, 4, (), (5,))
    made = ActionLearner(shape, 1e-2, torch.Generator().manual_seed(3), torch.device("cpu"), 0.0, "rmsprop")
    made.set_weights(0.3 * np.random.default_rng(1).standard_normal(shape.num_weights).astype(np.float32))
    batch = some_batch(shape)
    weights = torch.from_numpy(made.weights()).requires_grad_()
    theirs = torch.optim.RMSprop([weights], lr=1e-2, alpha=0.99, eps=1e-5)
    for size in (1.0, 1000.0, 1.0):  # the second gradient is far too long
        targets = torch.linspace(-size, size, 10)
        theirs.zero_grad()
        ((plain_forward(shape, weights, batch) - targets) ** 2).sum().backward()
        torch.nn.utils.clip_grad_norm_([weights], 40.0)
        theirs.step()
        made.fit(batch, squared_gradient(targets, torch.ones(10)))
    torch.testing.assert_close(torch.from_numpy(made.weights()), weights.detach())
    assert (made.playing_weights() == made.weights()).all()
