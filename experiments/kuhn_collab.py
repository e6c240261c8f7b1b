"""Collaborative Kuhn Poker: the paper's experiments over many starts, and the team solution it was looking for.

    python -m experiments.kuhn_collab                  # everything, under five minutes on two cores
    python -m experiments.kuhn_collab --quick          # seconds: shows that it works

Hartley, Zheng and Yue, "Multi-agent counterfactual regret minimization for partial-information collaborative games",
report single runs of CFR with and without tied rewards and partner oracles. CFR in a four-player game ends elsewhere
for every start; here every algorithm runs from many random starts, with simultaneous and with alternating updates. All
evaluations are exact. Then the team-maxmin equilibrium with correlation (TMECor), by `solvers.team`: of this game, of
the same game in which teams see their partners' cards, of OpenSpiel's kuhn_poker(players=4) and of a mini Coinche.

Writes table_1.csv, table_2.csv, guarantees.csv, claims.csv, equilibria.csv, plans.csv (the optimal lotteries),
metrics.csv (the bounds as they close in), pictures and report.md into the run directory.
"""

from __future__ import annotations

import time
from typing import Any

from absl import flags
from rich.progress import Progress as ProgressBar

from cardtable.executors import Executor
from experiments.kuhn.claims import Study, claims
from experiments.kuhn.equilibria import OTHER_GAMES, SHARED_CARDS, bounds_of, solve_all
from experiments.kuhn.models import BASE, MODELS, SEATS, UPDATES, Laboratory, Player
from experiments.kuhn.plots import advantage_figure, opening_figure, team_value_figure, transfer_figure
from experiments.kuhn.report import Findings, bounds_rows, report
from experiments.kuhn.signals import opening_signals, signals_figure
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import RunDirectory, write_csv
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_out,
    define_seed,
    open_directory,
)
from solvers import team
from solvers.team import Progress, TeamEquilibrium

FLAGS = flags.FLAGS
define_count("starts", 20, "random starts of each algorithm", 2, bytes_each=100_000, seconds_each=1e-2)
define_count("iterations", 1000, "full-batch CFR iterations of each start", seconds_each=1e-4)
define_seed("of the random starts")
define_executor("processes:2")
define_out("runs/kuhn_collab")
flags.DEFINE_bool("quick", False, "3 starts, 30 iterations, team equilibria that stop early, no shared cards")

QUICK_STARTS, QUICK_ITERATIONS, QUICK_ORACLE_ITERATIONS = 3, 30, 8
ORACLE_ITERATIONS = 1000  # far more than any of the games needs


@command
def main() -> None:
    starts, iterations, oracle_iterations = FLAGS.starts, FLAGS.iterations, ORACLE_ITERATIONS
    if FLAGS.quick:
        starts, iterations, oracle_iterations = QUICK_STARTS, QUICK_ITERATIONS, QUICK_ORACLE_ITERATIONS
    config = {"starts": starts, "iterations": iterations, "seed": FLAGS.seed, "quick": FLAGS.quick}
    directory = open_directory(config)
    with chosen_executor(directory.path) as executor:
        run(directory, starts, iterations, oracle_iterations, executor)


def run(directory: RunDirectory, starts: int, iterations: int, oracle_iterations: int, executor: Executor) -> None:
    clock = time.monotonic()
    laboratory = Laboratory()
    study = _study(laboratory, directory, starts, iterations, executor)
    steps: list[Progress] = []
    cpu_clock = time.process_time()
    equilibrium = team.solve(
        laboratory.team_game, max_iterations=oracle_iterations, report=lambda step: _note(step, steps, directory)
    )
    bounds = [bounds_of(BASE, equilibrium, time.process_time() - cpu_clock)]
    shared = [] if FLAGS.quick else solve_all(SHARED_CARDS, oracle_iterations, executor)
    others = solve_all(OTHER_GAMES, oracle_iterations, executor)
    bounds += shared + others
    tables.show("Team-maxmin equilibria with correlation", bounds_rows(bounds))
    write_csv(directory.path / "equilibria.csv", [row._asdict() for row in bounds])
    write_csv(directory.path / "plans.csv", _plan_rows(laboratory, equilibrium))
    signals = [signal for strategy in equilibrium.strategies for signal in opening_signals(laboratory, strategy)]
    directory.save_figure(team_value_figure(study, steps, equilibrium.value, shared), "team_value")
    directory.save_figure(signals_figure(signals), "signals")
    seconds = time.monotonic() - clock
    found = Findings(iterations, study, claims(study), equilibrium, bounds, signals, seconds)
    directory.write_report(report(found))
    print(f"written to {directory.path} after {seconds:.0f} s")


def _study(laboratory: Laboratory, directory: RunDirectory, starts: int, iterations: int, executor: Executor) -> Study:
    """Trains, evaluates, and writes down what the paper's tables are about."""
    study = Study(laboratory, _trained(laboratory, starts, iterations, executor))
    tables.show(f"Table 1: chips over {starts} starts", study.table_1())
    tables.show("Table 2: advantage of the column model over all pairs of starts", study.table_2())
    verdicts = [claim._asdict() for claim in claims(study)]
    tables.show("Claims", verdicts)
    write_csv(directory.path / "table_1.csv", study.table_1_csv())
    write_csv(directory.path / "table_2.csv", study.table_2_csv())
    write_csv(directory.path / "guarantees.csv", study.guarantee_csv())
    write_csv(directory.path / "claims.csv", verdicts)
    directory.save_figure(transfer_figure(study), "transfers")
    directory.save_figure(advantage_figure(study), "advantages")
    directory.save_figure(opening_figure(study), "opening")
    return study


def _trained(laboratory: Laboratory, starts: int, iterations: int, executor: Executor) -> list[Player]:
    jobs = sum(not model.fed_noise for model in MODELS) * len(UPDATES) * starts
    with ProgressBar(transient=True) as bar:
        task = bar.add_task(f"{jobs} runs of CFR", total=jobs)
        return laboratory.train(starts, iterations, FLAGS.seed, executor, lambda: bar.advance(task))


def _note(step: Progress, steps: list[Progress], directory: RunDirectory) -> None:
    steps.append(step)
    if step.iteration:
        first, second = step.prescriptions
        directory.log(
            step.iteration,
            {"lower": step.lower, "upper": step.upper, "north_south": first, "west_east": second},
        )


def _plan_rows(laboratory: Laboratory, equilibrium: TeamEquilibrium) -> list[dict[str, Any]]:
    """The certificate: both lotteries, one row for each card and public history of each plan."""
    tree = laboratory.tree
    history = [""] * tree.num_nodes
    for node in range(1, tree.num_nodes):
        history[node] = history[tree.parent[node]] + "kbfcr"[tree.action[node]]
    return [
        {
            "team": number,
            "plan": index,
            "probability": probability,
            "seat": SEATS[tree.player[node]],
            "card": int(laboratory.card_of_type[tree.player[node], own_type]),
            "history": history[node],
            "action": "kbfcr"[action],
        }
        for number, strategy in enumerate(equilibrium.strategies)
        for index, (probability, plan) in enumerate(strategy.plans())
        for (node, own_type), action in sorted(plan.told().items())
    ]


if __name__ == "__main__":
    start(main)
