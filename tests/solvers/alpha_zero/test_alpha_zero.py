"""The AlphaZero-like trainer: learns, goes on bit by bit, saves players; ScrofaZero's worlds and weights."""

import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np
import pyspiel
import pytest
import torch

import cardspiel  # noqa: F401 registers the games
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player, read_player_file
from cardtable.randomness import generator, streams
from cardtable.ways import walked
from gongzhu_spiel import rules
from gongzhu_spiel import state as slots
from solvers.alpha_zero.learner import OpenHandLearner, Rows
from solvers.alpha_zero.network import Layout, forward, new_tensors, shapes
from solvers.alpha_zero.players import load_network, network_evaluator, save_alpha_zero, uniform_belief
from solvers.alpha_zero.scrofazero import BETA, ScrofaBelief, card_sets, key_cards, thirds_inputs
from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.alpha_zero.trainer import AlphaZeroTrainer
from solvers.alpha_zero.views import GongzhuSuitView, GongzhuView
from tests.gongzhu_spiel.test_endings import ending, minimax

SMALL = pyspiel.load_game("python_gongzhu(suits=2,ranks=4)")
FULL = pyspiel.load_game("python_gongzhu")
VIEW = GongzhuView()
# Without results in the targets: a loss against what came of a game falls as far as luck lets it.
SETTINGS = AlphaZeroSettings(width=32, blocks=1, games=16, batch_size=64, learning_rate=0.003, result_share=0.0)


def test_it_learns_what_deals_are_worth_and_goes_on_bit_by_bit() -> None:
    trainer = AlphaZeroTrainer(SMALL, SETTINGS, seed=3)
    trainer.run(4)
    first = trainer.metrics()["value_loss"]
    state = trainer.get_state()
    trainer.run(10)
    assert trainer.metrics()["value_loss"] < 0.8 * first
    again = AlphaZeroTrainer(SMALL, SETTINGS, seed=3)
    again.set_state(state)
    again.run(10)
    assert all((again.tensors[name] == tensor).all() for name, tensor in trainer.tensors.items())
    with pytest.raises(ValueError, match="lacks iterations"):
        again.set_state({name: value for name, value in state.items() if name != "iterations"})


def test_the_learning_rate_falls_if_it_is_wanted() -> None:
    steady = AlphaZeroTrainer(SMALL, SETTINGS, seed=3)
    falling = AlphaZeroTrainer(SMALL, dataclasses.replace(SETTINGS, halving=2), seed=3)
    for trainer in (steady, falling):
        trainer.run(1)
    assert all((steady.tensors[name] == tensor).all() for name, tensor in falling.tensors.items())
    for trainer in (steady, falling):
        trainer.run(1)
    assert any((steady.tensors[name] != tensor).any() for name, tensor in falling.tensors.items())
    assert steady.learning_rate() == 0.003
    assert falling.learning_rate() == pytest.approx(0.0015)


@pytest.mark.parametrize("layout", [Layout(5), Layout(11, alike=2, block=4)])
@pytest.mark.parametrize("mask", ["zero", "out"])
@pytest.mark.parametrize("value_loss", ["absolute", "squared"])
def test_steps_are_those_of_torch(
    mask: Literal["zero", "out"], value_loss: Literal["absolute", "squared"], layout: Layout
) -> None:
    """Derivatives by autograd, steps by torch's own Adam, the loss written down as in the paper."""
    settings = AlphaZeroSettings(
        width=8, blocks=2, learning_rate=0.01, weight_decay=0.02, mask=mask, value_loss=value_loss, averaging=0.5
    )
    tensors = new_tensors(shapes(layout, 8, 2, 6, 4), seed=2)
    learner = OpenHandLearner(tensors, settings)
    parameters = {name: torch.tensor(tensor, requires_grad=True) for name, tensor in tensors.items()}
    adam = torch.optim.Adam(parameters.values(), 0.01, betas=(0.3, 0.999), eps=1e-7, weight_decay=0.02)
    average = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    torch.manual_seed(1)
    for step in range(1, 4):
        legal = torch.rand(7, 6) < 0.6
        legal[:, 0] = True
        policy = torch.rand(7, 6) * legal
        rows = Rows(torch.randn(7, layout.size), legal, policy / policy.sum(1, keepdim=True), torch.randn(7, 4))
        rate = adam.param_groups[0]["lr"] = 0.01 / step
        losses = learner.fit(rows, rate)

        told = rows.inputs
        if layout.alike:
            found = [told[:, 8:]]
            for part in (told[:, 4:8], told[:, :4]):
                for name in ("shared_0", "shared_1"):
                    part = torch.relu(part @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"])
                found.insert(0, part)
            told = torch.cat(found, 1)
        hidden = torch.relu(told @ parameters["first.weight"] + parameters["first.bias"])
        for block in ("block_0", "block_1"):
            one = torch.relu(hidden @ parameters[f"{block}_0.weight"] + parameters[f"{block}_0.bias"])
            hidden = hidden + torch.relu(one @ parameters[f"{block}_1.weight"] + parameters[f"{block}_1.bias"])
        logits = hidden @ parameters["policy.weight"] + parameters["policy.bias"]
        logits = torch.where(legal, logits, torch.zeros(()) if mask == "zero" else torch.tensor(-torch.inf))
        chances = torch.softmax(logits, 1)
        likely = rows.policy > 0
        divergence = (rows.policy[likely] * torch.log(rows.policy[likely] / chances[likely])).sum() / 7
        plain = {name: parameter.detach().numpy() for name, parameter in parameters.items()}
        missed = hidden @ parameters["value.weight"] + parameters["value.bias"] - rows.value
        found_values = forward(plain, rows.inputs.numpy())[1] / 100
        assert found_values == pytest.approx((missed + rows.value).detach().numpy(), abs=1e-5)
        value = missed.abs().mean() if value_loss == "absolute" else (missed**2).mean()
        adam.zero_grad()
        (divergence + settings.value_weight * value).backward()
        adam.step()
        assert losses == pytest.approx((divergence.item(), value.item()), rel=1e-4)
        decay = min(0.5, step / (step + 10))
        for name, parameter in parameters.items():
            average[name] = decay * average[name] + (1 - decay) * parameter.detach().numpy()
    for name, tensor in learner.playing_tensors().items():
        assert tensor == pytest.approx(average[name], abs=2e-5)


def test_what_came_of_a_position_is_its_target_if_it_is_wanted() -> None:
    """All positions of a game have the same one: the result of one of the ways on from the last decision."""
    trainer = AlphaZeroTrainer(SMALL, AlphaZeroSettings(width=8, blocks=0, games=6, result_share=1.0), seed=5)
    trainer.run(1)
    state = trainer.get_state()
    positions = walked(SMALL.rules, state["memory.states"], 1000)
    games: dict[bytes, list[tuple[np.ndarray, float]]] = {}
    for position, value in zip(positions, 100 * state["memory.value"], strict=True):
        own = value[0] if position[slots.TURN] % 2 == 0 else -value[0]
        assert value == pytest.approx([value[0], -value[0], value[0], -value[0]])
        games.setdefault(position[slots.deck.DEALT : slots.deck.DEALT + 4].tobytes(), []).append((position, own))
    assert len(games) == 6
    for played in games.values():
        assert [own for _, own in played] == pytest.approx([played[0][1]] * len(played))
        last = played[-1][0]
        ways = [way for way in range(8) if int(rules.legal_cards(last)) >> way & 1]
        ends = []
        for way in ways:
            end = last.copy()
            rules.apply_action(end, way)
            while end[slots.CARDS_PLAYED] < 8:
                rules.apply_action(end, int(rules.legal_cards(end)).bit_length() - 1)
            ends.append(rules.team_result(end))
        assert any(played[0][1] == pytest.approx(end, abs=1e-3) for end in ends)


def test_what_it_learned_beats_random_and_is_saved(tmp_path: Path) -> None:
    trainer = AlphaZeroTrainer(SMALL, SETTINGS, seed=4)
    trainer.run(8)
    save_alpha_zero(tmp_path, SMALL, trainer.tensors, vars(SETTINGS), {})
    player = find_player(f"{tmp_path}(worlds=5)", SMALL)
    score = play_match(SMALL, player, find_player("random", SMALL), 150, seed=2).score
    assert score.mean > 2 * score.standard_error
    with pytest.raises(UserError, match="are for Gongzhu with the full deck"):
        find_player(f"{tmp_path}(sampling=stratified)", SMALL)
    with pytest.raises(UserError, match="weights is 'some'; allowed: none, iec, bayes"):
        find_player(f"{tmp_path}(weights=some)", SMALL)
    with pytest.raises(UserError, match="each is 0; allowed: 1 to 10000"):
        find_player(f"{tmp_path}(each=0)", SMALL)


def test_the_raw_network_looks_at_every_action_once(tmp_path: Path) -> None:
    """Its move is the one after which the value head promises most, in the only deal that is possible."""
    trainer = AlphaZeroTrainer(SMALL, SETTINGS, seed=4)
    trainer.run(1)
    save_alpha_zero(tmp_path, SMALL, trainer.tensors, vars(SETTINGS), {})
    player = find_player(f"{tmp_path}(worlds=1,fewest=0,each=1)", SMALL)
    view, tensors = load_network(tmp_path, read_player_file(tmp_path), SMALL)
    evaluate = network_evaluator(view, tensors)
    state = SMALL.rules.new_state()
    rules.deal(state, generator(5))
    chosen = []
    for number in range(4):  # the first trick; what is looked at are the same two worlds, redealt by the same stream
        stream = streams(number, (1,), range(1))
        world = uniform_belief(SMALL, 1)(state, int(state[slots.TURN]), stream[0].copy())[0][0]
        legal = [card for card in range(8) if int(rules.legal_cards(world)) >> card & 1]
        after = np.stack([world] * len(legal))
        for row, card in zip(after, legal, strict=True):
            rules.apply_action(row, card)
        values = evaluate(after, np.arange(len(legal)))[1][:, int(state[slots.TURN])]
        best = legal[int(np.argmax(values))]
        assert player.choose_rows is not None
        chosen.append(int(player.choose_rows(state[None, :], np.arange(1), stream)[0]))
        assert chosen[-1] == best
        rules.apply_action(state, chosen[-1])
    assert len(set(chosen)) == 4


def test_endings_are_solved() -> None:
    """With two cards in each hand a position's target is what minimax finds, whatever the network says."""
    settings = AlphaZeroSettings(width=8, blocks=0, games=12, endings=2, result_share=0.0)
    trainer = AlphaZeroTrainer(FULL, settings, seed=1)
    trainer.run(1)
    state = trainer.get_state()
    positions = walked(FULL.rules, state["memory.states"], 1000)
    late = np.flatnonzero(positions[:, slots.CARDS_PLAYED] >= 44)
    assert len(late) > 12
    for place in late:
        position = positions[place]
        found = 100 * state["memory.value"][place, 0] * (1 if position[slots.TURN] % 2 == 0 else -1)
        assert rules.team_result(position) + found == pytest.approx(minimax(position), abs=1e-3)
    with pytest.raises(UserError, match="endings are solved in Gongzhu with the full deck only"):
        AlphaZeroTrainer(SMALL, settings)
    with pytest.raises(UserError, match="endings is 7; allowed: 0 to 6"):
        AlphaZeroTrainer(FULL, dataclasses.replace(settings, endings=7))


def untrained() -> dict[str, np.ndarray]:
    return new_tensors(shapes(VIEW.layout, 16, 1, 52, 4), seed=1)


def test_suits_are_read_alike_and_only_in_gongzhu(tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, games=2, inputs="suits")
    trainer = AlphaZeroTrainer(FULL, settings, seed=1)
    trainer.run(1)
    save_alpha_zero(tmp_path, FULL, trainer.tensors, vars(settings), {})
    player = find_player(f"{tmp_path}(worlds=2,sampling=stratified,weights=iec)", FULL)
    assert play_match(FULL, player, find_player("random", FULL), 2, seed=2).score.mean != 0
    assert isinstance(trainer.view, GongzhuSuitView)
    state = ending(3, 20, scored_late=False)
    seat = int(state[slots.TURN])
    shares = np.stack([card_sets(int(state[slots.HAND + (seat + step) % 4])) for step in range(4)])
    known = trainer.view.inputs(state[None, :], np.arange(1))
    assert (trainer.view.inputs_of_shares(state, seat, shares[None, :]) == known).all()
    with pytest.raises(UserError, match="inputs=suits are for Gongzhu with the full deck"):
        AlphaZeroTrainer(SMALL, settings)
    for name, wrong in (("inputs", "nonsense"), ("inputs", [1]), ("endings", "four"), ("endings", 7)):
        save_alpha_zero(tmp_path, FULL, trainer.tensors, vars(settings) | {name: wrong}, {})
        with pytest.raises(UserError, match=f"{name} is .*; allowed"):
            find_player(str(tmp_path), FULL)


def test_strata_are_the_ways_to_hold_two_key_cards() -> None:
    state = FULL.rules.new_state()
    rules.deal(state, generator(1))
    hand = int(state[slots.HAND])
    unseen = (1 << 52) - 1 ^ hand
    keys = key_cards(state, unseen)
    expected = [card for card in (10, 12, 11, 35, 38, 37, 36) if unseen >> card & 1][:2]
    assert keys == expected
    worlds, weights = ScrofaBelief(FULL, VIEW, untrained(), 9, True, "none", 5.0)(state, 0, generator(2))
    owners = {
        tuple(int(np.argmax(world[slots.HAND : slots.HAND + 4] >> card & 1)) for card in keys) for world in worlds
    }
    assert len(owners) == len(worlds) == 9
    assert (weights == 1).all()


@pytest.mark.parametrize("weights", ["iec", "bayes"])
def test_weights_are_products_of_gammas(weights: str) -> None:
    """Written again, card by card, from the description of the paper."""
    tensors = untrained()
    state = ending(3, 32, scored_late=False)
    seat = int(state[slots.TURN])
    belief = ScrofaBelief(FULL, VIEW, tensors, 6, False, weights, 5.0)
    worlds, found = belief(state, seat, generator(5))
    logs = []
    for world in worlds:
        position = FULL.rules.new_state()
        position[: slots.deck.BLOCK_SIZE] = world[: slots.deck.BLOCK_SIZE]
        position[slots.HAND : slots.HAND + 4] = world[slots.deck.DEALT : slots.deck.DEALT + 4]
        total = 0.0
        for index in range(int(state[slots.CARDS_PLAYED])):
            mover, card = slots.tricks.played_card(state, slots.TRICKS, index)
            legal = [c for c in range(52) if int(rules.legal_cards(position)) >> c & 1]
            led = int(state[slots.LED_SUIT])
            if mover != seat and card % 13 >= 6 and (led == 0 or led >> card & 1):
                hand = position[slots.HAND + mover : slots.HAND + mover + 1]
                q = 5.0 * forward(tensors, thirds_inputs(VIEW, position, mover, hand))[0][0]
                same = [c for c in legal if c // 13 == card // 13] if weights == "iec" else legal
                gamma = {c: np.exp(-BETA * (max(q[same]) - q[c])) for c in same}
                total += np.log(gamma[card] / (1.0 if weights == "iec" else sum(gamma.values())))
            rules.apply_action(position, card)
        logs.append(total)
    expected = np.exp(np.array(logs) - max(logs))
    assert found / found.max() == pytest.approx(expected, rel=1e-3)
