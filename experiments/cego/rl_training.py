"""Training OpenSpiel's torch agents on our games: the library behind `experiments.rl_agents`.

A return that comes only at the end of a long game is hard to learn from. Where points are won on the way, the agent is
paid as it goes: at each of its decisions what its score has risen since the one before, which adds up to the same
return less what it was at the start, and leaves the best play what it was (Ng, Harada and Russell, "Policy invariance
under reward transformations", 1999). All rewards are divided by the game's payoff range.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import random_agent
from open_spiel.python.pytorch import dqn, nfsp

from cardtable.match import Estimate, play_games
from cardtable.player import Player, drawing_player, legal_mask, random_player
from cardtable.progress import LateProgress
from cardtable.rows import encode_rows
from cardtable.spiel import CardGame
from cego_spiel import rules as cego
from cego_spiel import state as cego_slots
from experiments.running.directory import RunDirectory
from experiments.running.plots import plt
from gongzhu_spiel import rules as gongzhu

LEARNER = 0
LAYERS = [128, 128]
SETTINGS: dict[str, Any] = {
    "hidden_layers_sizes": LAYERS,
    "batch_size": 128,
    "learn_every": 3,
    "min_buffer_size_to_learn": 500,
    "optimizer_str": "adam",
    "epsilon_decay_schedule_str": "linear",
    "replay_buffer_capacity": 100_000,
    "update_target_network_every": 100,
}


def train(
    game: CardGame,
    kind: str,
    episodes: int,
    measurements: int,
    evaluation_games: int,
    seed: int,
    directory: RunDirectory,
) -> list[dict]:
    """Trains an agent; one row per measurement, the first before any training."""
    environment = rl_environment.Environment(
        game,
        observation_type=rl_environment.ObservationType.OBSERVATION,
        chance_event_sampler=rl_environment.ChanceEventSampler(seed),
    )
    agent = make_agent(kind, game, episodes, seed)
    others = [
        random_agent.RandomAgent(player_id=seat, num_actions=game.num_distinct_actions())
        for seat in range(game.num_players())
    ]
    score = running_score(game)
    rows = []
    steps = 0
    start = time.monotonic()

    def measure(episode: int) -> None:
        mean, error, _ = evaluate(game, agent, kind, evaluation_games, seed)
        row = {"games": episode, "steps": steps, "mean return": round(mean, 3), "s.e.": round(error, 3)}
        rows.append(row | {"seconds": round(time.monotonic() - start, 1)})
        directory.log(episode, {"mean_return": mean, "standard_error": error, "agent_steps": steps})

    measure(0)
    due = {round(episodes * (number + 1) / measurements) for number in range(measurements)}
    with LateProgress(f"training {kind}", episodes) as progress:
        for episode in range(1, episodes + 1):
            steps += play_episode(environment, agent, others, score)
            progress.update(episode)
            if episode in due:
                measure(episode)
    return rows


def make_agent(kind: str, game: CardGame, episodes: int, seed: int) -> Any:
    decisions = episodes * game.max_game_length() // game.num_players()
    size, actions = game.rules.observation_size, game.num_distinct_actions()
    settings = SETTINGS | {"epsilon_decay_duration": max(decisions // 2, 1), "seed": seed}
    if kind == "dqn":
        return dqn.DQN(LEARNER, size, actions, learning_rate=1e-3, epsilon_start=1.0, epsilon_end=0.1, **settings)
    # What NFSP explores goes into its average policy too, so it explores less.
    return nfsp.NFSP(
        LEARNER,
        size,
        actions,
        reservoir_buffer_capacity=100_000,
        anticipatory_param=0.5,
        rl_learning_rate=1e-3,
        sl_learning_rate=1e-3,
        epsilon_start=0.1,
        epsilon_end=0.02,
        **settings,
    )


def running_score(game: CardGame) -> Callable[[np.ndarray], float]:
    """What the learner has won so far, from the state array: 0 throughout where nothing is won before the end."""
    name, root = game.get_type().short_name, game.rules.root
    if name == "python_cego" and root[cego_slots.POINT_REWARD] and not root[cego_slots.ZERO_SUM]:
        return lambda array: cego.single_player_half_points(array) / 2
    if name == "python_gongzhu":
        return gongzhu.team_result
    return lambda array: 0.0


def play_episode(
    environment: rl_environment.Environment, agent: Any, others: list, score: Callable[[np.ndarray], float]
) -> int:
    """One game; returns the number of the agent's decisions."""
    game = environment.game
    payoff_range = game.max_utility() - game.min_utility()
    steps = 0
    won = 0.0
    time_step = environment.reset()
    while not time_step.last():
        seat = time_step.observations["current_player"]
        if seat == LEARNER:
            now = score(environment.get_state.array)
            output = agent.step(_paid(time_step, (now - won) / payoff_range))
            won = now
            steps += 1
        else:
            output = others[seat].step(time_step)
        time_step = environment.step([output.action])
    agent.step(_paid(time_step, (time_step.rewards[LEARNER] - won) / payoff_range))
    return steps


def _paid(time_step: rl_environment.TimeStep, reward: float) -> rl_environment.TimeStep:
    """The same moment with another reward for the learner, the only one who looks at it."""
    return time_step._replace(rewards=[reward] * len(time_step.observations["info_state"]))


def agent_player(game: CardGame, agent: Any, kind: str) -> Player:
    """The agent as a player: DQN plays its best action; NFSP draws from its average policy."""
    network = agent._q_network if kind == "dqn" else agent._avg_network
    kernel = game.rules.compiled_kernel().addresses()

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        seen = np.zeros((len(rows), game.rules.observation_size), np.float32)
        encode_rows(kernel, states, rows, False, seen)
        with torch.no_grad():
            values = network(torch.from_numpy(seen)).double()
        legal = torch.from_numpy(legal_mask(game.rules, states, rows))
        values = values.masked_fill(~legal, -torch.inf)
        if kind == "dqn":
            return torch.nn.functional.one_hot(values.argmax(dim=1), values.shape[1]).double().numpy()
        return torch.softmax(values, dim=1).numpy()

    return drawing_player(kind, game, probabilities_rows)


def evaluate(game: CardGame, agent: Any, kind: str, games: int, seed: int) -> Estimate:
    """The mean return of the agent in its seat against random players."""
    seats = [random_player(game)] * game.num_players()
    seats[LEARNER] = agent_player(game, agent, kind)
    return Estimate.of(play_games(game, seats, games, seed).returns[:, LEARNER])


def learning_figure(rows: list[dict], title: str) -> Figure:
    figure, axis = plt.subplots(figsize=(7, 4))
    axis.errorbar(
        [row["games"] for row in rows],
        [row["mean return"] for row in rows],
        yerr=[1.96 * row["s.e."] for row in rows],
        marker="o",
        capsize=3,
    )
    axis.set(xlabel="games of training", ylabel="mean return, 95% intervals", title=title)
    axis.grid(alpha=0.3)
    figure.tight_layout()
    return figure
