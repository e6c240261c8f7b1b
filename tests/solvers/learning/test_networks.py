"""The networks' own differentiation and optimiser against torch's, and that nothing stays behind on another device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from solvers.deep_cfr.settings import Settings, find_device
from solvers.learning.networks import (
    Learner,
    masked_softmax,
    normalised,
    regression_gradient,
    strategy_gradient,
)

ROWS, INPUTS, OUTPUTS = 20, 7, 3


def learner(device: str = "cpu", hidden_sizes: tuple[int, ...] = (8, 8, 6), **options: Any) -> Learner:
    made = Learner(
        INPUTS, hidden_sizes, OUTPUTS, 1e-2, torch.Generator().manual_seed(1), torch.device(device), **options
    )
    if device == "cpu":  # outputs start at zero; tests want all layers to matter
        made.set_weights(made.weights() + 0.1 * np.random.default_rng(0).standard_normal(len(made.weights())))
    return made


def data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    legal = torch.rand(ROWS, OUTPUTS) < 0.7
    legal[:, 0] = True
    return torch.randn(ROWS, INPUTS), torch.randn(ROWS, OUTPUTS), legal


def losses(
    name: str, targets: torch.Tensor, legal: torch.Tensor
) -> tuple[Callable, Callable[[torch.Tensor], torch.Tensor]]:
    """A gradient as the trainers use it, and the same loss written plainly for autograd."""
    row_weights = torch.linspace(0.1, 1.0, ROWS)
    weights = row_weights[:, None] * legal
    if name == "strategy":
        probabilities = torch.softmax(targets.masked_fill(~legal, -torch.inf), 1)

        def plain(outputs: torch.Tensor) -> torch.Tensor:
            mine = torch.log_softmax(outputs.masked_fill(~legal, -torch.inf), 1)
            return -(row_weights * (mine.masked_fill(~legal, 0.0) * probabilities).sum(1)).sum()

        return strategy_gradient(probabilities, legal, row_weights), plain

    def regression(outputs: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(())
        for row in range(ROWS):
            for action in range(OUTPUTS):
                target, output = targets[row, action], outputs[row, action]
                if name == "one_sided" and target <= 0:
                    total = total + weights[row, action] * (output**2 if output > 0 else 0.0 * output)
                else:
                    total = total + weights[row, action] * (output - target) ** 2
        return total

    return regression_gradient(targets, weights, name == "one_sided"), regression


def test_a_strategy_network_that_is_sure_of_the_wrong_action_learns_better() -> None:
    """With squares between probabilities it would not: their derivative is nearly zero there."""
    legal = torch.ones(1, 2, dtype=torch.bool)
    outputs = torch.tensor([[20.0, -20.0]])
    derivative = strategy_gradient(torch.tensor([[0.0, 1.0]]), legal, torch.ones(1))(outputs)
    assert derivative.tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize("name", ["squared", "one_sided", "strategy"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"skip_connections": True},
        {"layer_norm": True},
        {"skip_connections": True, "layer_norm": True},
        {"negative_slope": 0.05},
        {"skip_connections": True, "negative_slope": 0.3},
        {"layer_norm": True, "negative_slope": 0.3},
    ],
)
def test_training_is_what_torch_would_do(name: str, options: dict) -> None:
    features, targets, legal = data()
    ours, theirs = learner(**options), learner(**options).network
    gradient, plain = losses(name, targets, legal)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=1e-2)
    for _ in range(5):
        ours.fit(features, gradient)
        optimiser.zero_grad()
        plain(theirs(features)).backward()
        optimiser.step()
    for mine, other in zip(ours.network.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("negative_slope", [0.0, 0.05])
def test_dead_units_learn_again_if_the_activation_leaks(negative_slope: float) -> None:
    features, targets, _ = data()
    one = learner(hidden_sizes=(8,), negative_slope=negative_slope)
    with torch.no_grad():
        one.network.linear[0].bias.fill_(-100.0)  # no feature is so large: every unit is off
    before = one.weights()
    gradient = regression_gradient(targets, torch.ones_like(targets), False)
    for _ in range(20):
        one.fit(features, gradient)
    first_layer = INPUTS * 8
    assert np.array_equal(one.weights()[:first_layer], before[:first_layer]) == (negative_slope == 0.0)


@pytest.mark.parametrize("options", [{}, {"layer_norm": True}])
def test_nothing_is_left_behind_on_the_cpu(options: dict) -> None:
    """The meta device has no numbers but refuses to mix with tensors of another device."""
    there = learner("meta", **options)
    features, targets, legal = (part.numpy() for part in data())
    gradient = regression_gradient(there.to_device(targets), there.to_device(legal.astype(np.float32)), True)
    there.fit(there.to_device(features), gradient)
    weights = there.to_device(np.ones(ROWS, np.float32))
    there.fit(there.to_device(features), strategy_gradient(there.to_device(targets), there.to_device(legal), weights))
    assert there.forward(there.to_device(features)).device.type == "meta"
    assert {parameter.device.type for parameter in there.network.parameters()} == {"meta"}
    with pytest.raises(RuntimeError, match="device"):
        there.fit(torch.from_numpy(features), gradient)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_agrees_with_the_cpu() -> None:
    features, targets, legal = data()
    here, there = learner(), learner("cuda")
    there.set_weights(here.weights())
    for one in (here, there):
        weights = one.to_device(legal.numpy().astype(np.float32))
        one.fit(one.to_device(features.numpy()), regression_gradient(one.to_device(targets.numpy()), weights, True))
    np.testing.assert_allclose(here.weights(), there.weights(), rtol=1e-4, atol=1e-5)


def test_mixed_precision_learns_nearly_the_same() -> None:
    features, targets, legal = data()
    plain, mixed = learner(), learner(mixed_precision=True)
    gradient = regression_gradient(targets, legal.float(), False)
    before = [one.evaluate(features) for one in (plain, mixed)]
    assert before[1].dtype == np.float32
    assert 0.0 < np.abs(before[0] - before[1]).max() < 0.02 * np.abs(before[0]).max()  # sixteen bits, and they suffice
    losses = []
    for one in (plain, mixed):
        for _ in range(50):
            one.fit(features, gradient)
        losses.append(float((legal.numpy() * (one.evaluate(features) - targets.numpy()) ** 2).sum()))
    assert losses[1] == pytest.approx(losses[0], rel=0.1)
    assert losses[0] < 0.5 * float((legal * targets**2).sum())
    assert mixed.network.output.weight.dtype == torch.float32


def test_a_new_network_is_indifferent() -> None:
    made = Learner(INPUTS, (8,), OUTPUTS, 1e-2, torch.Generator().manual_seed(1), torch.device("cpu"))
    assert not made.evaluate(torch.randn(4, INPUTS)).any()


def test_training_goes_on_from_a_checkpoint_bit_by_bit() -> None:
    features, targets, legal = data()
    gradient = regression_gradient(targets, legal.float(), False)
    first = learner()
    first.fit(features, gradient)
    second = learner(hidden_sizes=(8, 8, 6))
    second.set_state("x", first.state("x"))
    for one in (first, second):
        one.fit(features, gradient)
    assert (first.weights() == second.weights()).all()
    with pytest.raises(ValueError, match=r"x.weights of the solver state has shape \(211,\)"):
        learner(hidden_sizes=(4,)).set_state("x", first.state("x"))


def test_illegal_actions_have_no_probability() -> None:
    _, outputs, legal = data()
    probabilities = masked_softmax(outputs, legal)
    assert (probabilities[~legal] == 0).all()
    torch.testing.assert_close(probabilities.sum(1), torch.ones(ROWS))


def test_one_sided_targets_are_measured_by_their_positive_parts() -> None:
    targets, weights = np.array([[3.0, -100.0], [-7.0, 4.0]]), np.full((2, 2), 0.25)
    scale = np.sqrt((3.0**2 + 4.0**2) / 4)
    np.testing.assert_allclose(normalised(targets, weights, True), targets / scale, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "message"),
    [("gpu", "allowed: cpu"), ("cuda:x", "allowed: cpu"), ("mps", "no Apple GPU"), ("cuda", "no CUDA device")],
)
def test_devices_that_are_not_there(name: str, message: str) -> None:
    if name == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match=message):
        find_device(name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"traversal": "outcome"},
        {"networks": "one"},
        {"loss": "mse"},
        {"tries": 0},
        {"epsilon": 0.0},
        {"negative_slope": -0.1},
        {"negative_slope": 1.0},
        {"batch_size": -1},
        {"memory_rows": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"strategy_learning_rate": float("inf")},
        {"hidden_sizes": ()},
    ],
)
def test_settings_are_checked(wrong: dict) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .*allowed"):
        Settings(**wrong)
