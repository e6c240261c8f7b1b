"""What Gongzhu's networks are told, and the compiled network against numpy and against the model of any game."""

from collections.abc import Iterator

import numpy as np
import pytest

from cardtable.parameters import UserError
from cardtable.randomness import generator
from cardtable.search.models import NetworkModel
from cardtable.search.networks import outputs_of
from gongzhu_spiel import knowledge, rules
from gongzhu_spiel import state as slots
from gongzhu_spiel.inference import CardModel
from gongzhu_spiel.network import best_card, look, new_mind, pack, play, value_rows
from tests.gongzhu_spiel import oracle

RULES = rules.gongzhu_rules(4, 13, 0)
CARDS = oracle.full_deck()


def tensors_of(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = (knowledge.KNOWLEDGE, 32, 32, 52)
    found = {f"weight_{number}": 0.3 * rng.normal(size=sizes[number : number + 2]) for number in range(3)}
    found |= {f"bias_{number}": rng.normal(size=sizes[number + 1]) for number in range(3)}
    return {name: tensor.astype(np.float32) for name, tensor in found.items()}


def positions(games: int) -> Iterator[np.ndarray]:
    """All positions of random games, before every card."""
    actions = np.empty(52, np.int64)
    for game in range(games):
        state, rng = RULES.new_state(), np.random.default_rng(game)
        rules.deal(state, generator(game))
        while slots.current_player(state) >= 0:
            yield state.copy()
            rules.apply_action(state, actions[rng.integers(rules.legal_actions(state, actions))])


def told(state: np.ndarray) -> np.ndarray:
    out = np.zeros(knowledge.KNOWLEDGE, np.float32)
    knowledge.context(state, out)
    return out


def test_what_a_network_is_told_in_plain_words() -> None:
    """Every input written down a second time, from the cards and the tricks as a person would."""
    for state in positions(3):
        seat = int(state[slots.TURN])
        out = told(state)
        history = [slots.tricks.played_card(state, slots.TRICKS, i) for i in range(int(state[slots.CARDS_PLAYED]))]
        hand = {c for c in range(52) if int(state[slots.HAND + seat]) >> c & 1}
        assert set(np.flatnonzero(out[:52])) == hand
        for step in range(4):
            own = {card for who, card in history if who == (seat + step) % 4}
            assert set(np.flatnonzero(out[52 + 52 * step : 104 + 52 * step])) == own
        table = [card for _, card in history[len(history) - len(history) % 4 :]]
        for back in range(3):
            found = np.flatnonzero(out[324 + 52 * back : 376 + 52 * back]).tolist()
            assert found == ([table[-1 - back]] if back < len(table) else [])
        if table:
            follows = [card for card in table if card // 13 == table[0] // 13]
            assert np.flatnonzero(out[480:532]).tolist() == [max(follows)]
        lengths = [sum(card // 13 == suit for card in hand) for suit in range(4)]
        assert np.flatnonzero(out[544:600].reshape(4, 14))[0] == lengths[0]
        assert (out[544:600].reshape(4, 14).argmax(axis=1) == lengths).all()
        gone = {card for _, card in history} | hand
        unseen = [sum(card // 13 == suit and card not in gone for card in range(52)) for suit in range(4)]
        assert (out[600:656].reshape(4, 14).argmax(axis=1) == unseen).all()
        assert np.flatnonzero(out[656:669]).tolist() == [len(history) // 4]
        takers = {step for step in range(4) if out[260 + 16 * step : 273 + 16 * step].any()}
        expected = [0] if not takers else [1 + takers.pop()] if len(takers) == 1 else []
        assert np.flatnonzero(out[669:674]).tolist() == expected


def test_features_do_not_depend_on_hidden_cards() -> None:
    features = RULES.features
    assert features is not None
    actions = np.empty(52, np.int64)
    for number, state in enumerate(positions(2)):
        n = rules.legal_actions(state, actions)
        other = state.copy()
        rules.resample(other, int(state[slots.TURN]), generator(number))
        assert (told(state) == told(other)).all()
        both = np.zeros((2, n, features.action_size), np.float32)
        for place, position in enumerate((state, other)):
            features.actions(position, actions, n, both[place])
        assert (both[0] == both[1]).all()
        assert (both[0][:, :52].argmax(axis=1) == actions[:n]).all()
        assert len(np.unique(both[0], axis=0)) == n
    assert rules.gongzhu_rules(2, 4, 0).features is None


def test_the_compiled_network_is_the_plain_one() -> None:
    tensors = tensors_of(1)
    states = np.stack(list(positions(4)))
    expected = outputs_of(tensors, np.stack([told(state) for state in states]))
    values = np.full((len(states), 52), np.nan, np.float32)
    value_rows(pack(tensors), states, np.arange(len(states)), values)
    known = np.isfinite(values)
    assert known.sum() > 500
    assert values[known] == pytest.approx(expected[known], abs=1e-3)


def test_a_mind_that_follows_the_game_is_the_same_as_a_fresh_one() -> None:
    weights = pack(tensors_of(2))
    state, kept, fresh = RULES.new_state(), new_mind(), new_mind()
    rules.deal(state, generator(9))
    look(state, weights, kept)
    while slots.current_player(state) >= 0:
        look(state, weights, fresh)
        assert kept.sums[:4] == pytest.approx(fresh.sums[:4], abs=1e-3)
        card = best_card(state, weights, kept)
        assert card == best_card(state, weights, fresh)
        play(state, card, weights, kept)


def test_the_fast_model_is_the_one_of_any_game() -> None:
    """Two implementations: one asks again at every past position of every world, the other shares what is public."""
    tensors = tensors_of(3)
    for number, state in enumerate(positions(2)):
        if number % 13 == 12:
            seat = int(state[slots.TURN])
            worlds = np.repeat(state[None, :], 4, axis=0)
            for world in worlds[1:]:
                rules.resample(world, seat, generator(number))
            plain = NetworkModel(tensors, 0.7, 0.1).log_likelihoods(RULES, worlds, seat)
            fast = CardModel(pack(tensors), 0.7, 0.1).log_likelihoods(RULES, worlds, seat)
            assert fast == pytest.approx(plain, abs=1e-3)
            assert plain.any()


def test_networks_of_another_shape_are_refused() -> None:
    tensors = tensors_of(1)
    with pytest.raises(UserError, match="a network of Gongzhu has tensors of the shapes"):
        pack(tensors | {"bias_2": np.zeros(51, np.float32)})
