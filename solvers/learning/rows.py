"""Decisions as rows of states, made into batches for a network when they are learnt from.

A state array takes a fraction of the memory of its features, and encoding it again costs a microsecond.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import types

from cardtable.compiled import entry_point
from cardtable.features import encode_decisions, encoding_at
from cardtable.rules import ADDRESSES, INTEGERS, STATES, kernel_at
from cardtable.search.action_values import ActionValues
from solvers.learning.action_learner import Batch

TENSORS = types.Array(types.float32, 2, "C")


def all_actions(values: ActionValues, states: np.ndarray, counts: np.ndarray, device: torch.device) -> Batch:
    """A batch of all legal actions of some states, of which there are `counts`."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    contexts = np.zeros((len(states), values.shape.context_size), np.float32)
    details = np.zeros((int(starts[-1]), values.shape.action_size), np.float32)
    rows = np.arange(len(states))
    encode_decisions(values.addresses, values.features, states, rows, starts, contexts, details)
    return _batch(contexts, details, np.repeat(rows, counts), device)


def chosen_actions(values: ActionValues, states: np.ndarray, places: np.ndarray, device: torch.device) -> Batch:
    """A batch of one action of each state."""
    contexts = np.zeros((len(states), values.shape.context_size), np.float32)
    details = np.zeros((len(states), values.shape.action_size), np.float32)
    most = np.array([values.most_actions], np.int64)
    _encode_chosen(values.addresses, values.features, states, places, most, contexts, details)
    return _batch(contexts, details, np.arange(len(states)), device)


def _batch(contexts: np.ndarray, details: np.ndarray, row_of: np.ndarray, device: torch.device) -> Batch:
    return Batch(*(torch.from_numpy(part).to(device, non_blocking=True) for part in (contexts, details, row_of)))


@entry_point(ADDRESSES, ADDRESSES, STATES, INTEGERS, INTEGERS, TENSORS, TENSORS, nogil=True)
def _encode_chosen(addresses, features, states, places, most_actions, contexts, details):
    kernel = kernel_at(addresses)
    encoding = encoding_at(features)
    actions = np.empty(most_actions[0], np.int64)
    room = np.zeros((most_actions[0], details.shape[1]), np.float32)
    for row in range(len(states)):
        count = kernel.legal_actions(states[row], actions)
        encoding.context(states[row], contexts[row])
        room[:count] = 0.0
        encoding.actions(states[row], actions, count, room)
        details[row] = room[places[row]]
