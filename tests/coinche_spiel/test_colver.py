"""Decision by decision against colver, an independent engine for the same federation rules, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from cardtable import deck
from cardtable.randomness import generator
from coinche_spiel import state as slots
from coinche_spiel.rules import coinche_rules

colver = pytest.importorskip("colver")

SUIT_OF_COLVER = (0, 1, 3, 2)  # its suits are ♠ ♥ ♦ ♣, ours ♠ ♥ ♣ ♦; the same map leads back


def other_card(card: int) -> int:
    return 8 * SUIT_OF_COLVER[card // 8] + card % 8


def to_colver(action: int) -> int:
    if action < 32:
        return other_card(action)
    call = action - 32
    return 1 + (call - 1) // 4 * 4 + SUIT_OF_COLVER[(call - 1) % 4] if 1 <= call <= 40 else call


@pytest.mark.parametrize("dealer", range(4))
def test_legal_calls_and_cards_and_points(dealer: int) -> None:
    rules = coinche_rules(dealer=dealer)
    kernel = rules.compiled_kernel()
    stream = generator(dealer)
    rng = np.random.default_rng(dealer)
    out = np.empty(75, np.int64)
    decisions = 0
    for _ in range(250):
        state = rules.new_state()
        kernel.deal(state, stream)
        hands = [
            [other_card(card) for card in range(32) if int(state[deck.DEALT + seat]) >> card & 1] for seat in range(4)
        ]
        env = colver.Env.deal_with_hands(dealer, hands)
        while kernel.current_player(state) >= 0:
            assert env.phase() == state[slots.PHASE] - slots.BIDDING
            assert env.current_player() == kernel.current_player(state)
            actions = out[: kernel.legal_actions(state, out)].tolist()
            assert sorted(env.legal_actions()) == sorted(map(to_colver, actions))
            modest = actions[0] == slots.PASS and rng.random() < 0.8
            action = int(rng.choice(actions[:6] if modest else actions))
            kernel.apply_action(state, action)
            env.step(to_colver(action))
            decisions += 1
        assert env.is_terminal()
        if state[slots.VALUE] != slots.NONE:
            tricks = state[slots.TRICKS : slots.TRICKS + 2].tolist()
            assert env.get_tricks_won() == tricks
            # colver counts 100 instead of 10 for the last trick when one side takes all eight.
            points = state[slots.POINTS : slots.POINTS + 2].tolist()
            assert env.get_points() == [have + 90 * (won == 8) for have, won in zip(points, tricks, strict=True)]
    assert decisions > 9_000
