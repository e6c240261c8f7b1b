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


@pytest.mark.parametrize("deals", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_card_points_scored_beside_the_contract_are_its_score(deals: int) -> None:
    parameters: dict[str, int | float | bool | str] = {"reward": "points", "belote": True, "surcoinche_factor": 3}
    tables = [coinche_rules(dealer=dealer, **parameters) for dealer in range(4)]
    kernel = tables[0].compiled_kernel()
    stream = generator(7)
    rng = np.random.default_rng(7)
    out = np.empty(75, np.int64)
    returns = np.empty(4)
    levels = set()
    for deal in range(deals):
        state = tables[deal % 4].new_state()
        kernel.deal(state, stream)
        hands = [
            [other_card(card) for card in range(32) if int(state[deck.DEALT + seat]) >> card & 1] for seat in range(4)
        ]
        env = colver.Env.deal_with_hands(deal % 4, hands)
        while kernel.current_player(state) >= 0:
            actions = out[: kernel.legal_actions(state, out)].tolist()
            cheap = actions[:8] if rng.random() < 0.9 else actions  # few capots
            if actions[0] == slots.PASS and actions[-1] >= slots.COINCHE and rng.random() < 0.2:
                cheap = actions[-1:]
            action = int(rng.choice(cheap))
            kernel.apply_action(state, action)
            env.step(to_colver(action))
        kernel.returns(state, returns)
        ours, theirs = env.rewards()
        assert returns.tolist() == [ours - theirs, theirs - ours] * 2
        if state[slots.VALUE] != slots.NONE:
            levels.add((int(slots.level(state)), returns[slots.attacking_team(state)] > 0))
    assert len(levels) == 6  # plain, coinched, surcoinched; made and not
