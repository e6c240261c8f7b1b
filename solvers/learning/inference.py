"""Trained networks without torch: a few matrix products in numpy, so that whoever plays needs nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cardtable.parameters import UserError

NORMALISATION_EPSILON = 1e-5  # as in torch


class FrozenNetwork:
    """A `Perceptron` of `solvers.learning.networks` whose weights, one flat array, no longer change.

    `shape` is that of its `Learner`. Layers lie in `weights` as torch orders them: weight and bias of each hidden
    layer, those of the output layer, then those of the normalisation if there is one.
    """

    def __init__(self, shape: Mapping[str, Any], weights: np.ndarray) -> None:
        self._shape = shape
        sizes = [shape["inputs"], *shape["hidden_sizes"], shape["outputs"]]
        self._layers = []
        place = 0
        for before, after in itertools.pairwise(sizes):
            weight = weights[place : place + before * after].reshape(after, before)
            place += before * after
            self._layers.append((weight.T, weights[place : place + after]))
            place += after
        self._normalisation = weights[place:].reshape(2, -1) if shape["layer_norm"] else None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        slope = np.float32(self._shape["negative_slope"])
        for weight, bias in self._layers[:-1]:
            y = x @ weight
            y += bias
            if self._shape["skip_connections"] and x.shape[1] == y.shape[1]:
                y += x
            x = np.where(y > 0, y, slope * y)
        if self._normalisation is not None:
            centred = x - x.mean(axis=1, keepdims=True)
            x = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + NORMALISATION_EPSILON)
            x = x * self._normalisation[0] + self._normalisation[1]
        weight, bias = self._layers[-1]
        return x @ weight + bias


def number_of_weights(shape: Mapping[str, Any]) -> int:
    """How many numbers a network of this shape has; UserError if the shape is none."""
    hidden = shape.get("hidden_sizes")
    sizes = [
        shape.get("inputs"),
        *(hidden if isinstance(hidden, list | tuple) and hidden else [None]),
        shape.get("outputs"),
    ]
    if not all(isinstance(size, int) and 1 <= size <= 1_000_000 for size in sizes):
        raise UserError(f"a network has the shape {dict(shape)}; allowed: sizes of layers, each from 1 to 1,000,000")
    slope = shape.get("negative_slope")
    if (
        not isinstance(slope, int | float)
        or not math.isfinite(slope)
        or not all(isinstance(shape.get(k), bool) for k in ("skip_connections", "layer_norm"))
    ):
        raise UserError(f"a network has the shape {dict(shape)}, in which something is missing")
    layers = sum((before + 1) * after for before, after in itertools.pairwise(sizes))
    return layers + (2 * sizes[-2] if shape["layer_norm"] else 0)
