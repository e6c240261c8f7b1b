"""Small networks over the actions of any game, with numpy alone: what they are told, and what they say.

A network is told what the rules' `Features` say of a position or, where a game has none, its information tensor. Its
tensors are `weight_0`, `bias_0`, `weight_1`, ... (inputs by outputs), ReLU between layers, and one number comes out for
each action: what it is worth, or the logit of its chance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np

from cardtable.compiled import compiled
from cardtable.parameters import UserError
from cardtable.rows import encode_rows
from cardtable.rules import Kernel, Rules


def context_size(rules: Rules) -> int:
    return rules.information_size if rules.features is None else rules.features.context_size


def context_kernel(rules: Rules) -> Kernel:
    """The kernel, with what networks are told in the place of the information tensor, for the seat to move."""
    kernel = rules.compiled_kernel()
    if rules.features is None:
        return kernel
    return kernel._replace(information_tensor=_of_mover(rules.features.context))


@functools.cache
def _of_mover(context: Callable) -> Callable:
    @compiled
    def information(state, player, out):
        context(state, out)

    return information


def context_rows(rules: Rules, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(rows, context_size): what a network is told in these rows of `states`."""
    tensors = np.zeros((len(rows), context_size(rules)), np.float32)
    encode_rows(context_kernel(rules).addresses(), states, rows, True, tensors)
    return tensors


def require_network(rules: Rules, tensors: Mapping[str, np.ndarray], where: str) -> None:
    """UserError unless these are the tensors of a network for the actions of this game."""
    layers = len(tensors) // 2
    names = [f"{kind}_{number}" for number in range(layers) for kind in ("weight", "bias")]
    if not layers or set(tensors) != set(names):
        raise UserError(f"{where} holds {', '.join(sorted(tensors))}; allowed: weight_0, bias_0, weight_1, ...")
    size = context_size(rules)
    for number in range(layers):
        weight, bias = tensors[f"weight_{number}"], tensors[f"bias_{number}"]
        if weight.ndim != 2 or weight.shape[0] != size or bias.shape != weight.shape[1:]:
            raise UserError(f"{where}: weight_{number} has the shape {weight.shape}; allowed: {size} rows and a bias")
        size = weight.shape[1]
    if size != rules.num_distinct_actions:
        raise UserError(f"{where} has {size} outputs; the game has {rules.num_distinct_actions} actions")


def outputs_of(tensors: Mapping[str, np.ndarray], contexts: np.ndarray) -> np.ndarray:
    """What a network says of all actions, one row for each row of contexts."""
    layers = len(tensors) // 2
    for number in range(layers):
        contexts = contexts @ tensors[f"weight_{number}"] + tensors[f"bias_{number}"]
        if number < layers - 1:
            np.maximum(contexts, 0.0, out=contexts)
    return contexts


def chances_of(outputs: np.ndarray, legal: np.ndarray, temperature: float, noise: float) -> np.ndarray:
    """softmax(outputs / temperature) over the legal actions, but for a share of `noise` that is anything legal."""
    logits = np.where(legal, outputs / temperature, -np.inf)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    return (1.0 - noise) * chances + noise * legal / legal.sum(axis=1, keepdims=True)
