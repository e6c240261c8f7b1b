"""A kernel, or some players, as one argument of compiled code."""

import numpy as np
import pytest

from cardtable.compiled import JIT_DISABLED, _ingredients, compiled, entry_point
from cardtable.randomness import generator
from cardtable.rules import ADDRESSES, FUNCTION_TYPES, GENERATOR, STATE, WORDS, kernel_at, player_addresses, player_at
from kuhn_collab.rules import kuhn_collab_rules


@entry_point(ADDRESSES, STATE, GENERATOR, WORDS)
def deal_and_list(addresses, state, random_numbers, actions):
    kernel = kernel_at(addresses)
    kernel.deal(state, random_numbers)
    return kernel.current_player(state), kernel.legal_actions(state, actions)


@entry_point(ADDRESSES, STATE, GENERATOR)
def redeal(addresses, state, random_numbers):
    kernel_at(addresses).resample(state, 0, random_numbers)


@entry_point(ADDRESSES, STATE, GENERATOR)
def ask_both(addresses, state, random_numbers):
    return 10 * player_at(addresses, 0)(state, random_numbers) + player_at(addresses, 1)(state, random_numbers)


@compiled
def three(state, random_numbers):
    return 3


@compiled
def four(state, random_numbers):
    return 4


@compiled
def nothing_legal(state, out):
    return 0


def test_a_kernel_by_its_addresses_is_the_same_kernel() -> None:
    rules = kuhn_collab_rules(fold_topup=False)
    kernel = rules.compiled_kernel()
    state, expected = rules.new_state(), rules.new_state()
    actions, legal = np.zeros(rules.num_distinct_actions, np.int64), np.zeros(rules.num_distinct_actions, np.int64)
    answer = deal_and_list(kernel.addresses(), state, generator(1), actions)
    kernel.deal(expected, generator(1))
    assert answer == (kernel.current_player(expected), kernel.legal_actions(expected, legal))
    assert (state == expected).all()
    assert (actions == legal).all()


def test_a_function_can_be_replaced() -> None:
    rules = kuhn_collab_rules(fold_topup=False)
    kernel = rules.compiled_kernel()._replace(legal_actions=nothing_legal)
    actions = np.zeros(rules.num_distinct_actions, np.int64)
    assert deal_and_list(kernel.addresses(), rules.new_state(), generator(1), actions)[1] == 0


def test_errors_come_through() -> None:
    rules = kuhn_collab_rules(fold_topup=False)
    with pytest.raises(RuntimeError, match="cannot resample"):
        redeal(rules.compiled_kernel().addresses(), rules.new_state(), generator(1))


def test_players_are_called_by_their_place() -> None:
    state = kuhn_collab_rules(fold_topup=False).new_state()
    assert ask_both(player_addresses([three, four]), state, generator(1)) == 34
    assert ask_both(player_addresses([four, three]), state, generator(1)) == 43


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_machine_code_depends_on_the_contract() -> None:
    """Addresses have no types: a changed contract must not meet machine code made for the old one."""
    stamped = [part for part in _ingredients(deal_and_list._dispatcher.py_func, set()) if part.startswith("functions ")]
    assert len(stamped) == 1
    assert stamped[0] == f"functions {tuple(FUNCTION_TYPES.items())!r}"
