"""Figures 4.3 to 4.5 of the Toepen thesis: what abstraction rules are worth in the 3-3-3 game with betting.

python -m experiments.toepen_abstraction                                         the textbook, under the rules
python -m experiments.toepen_abstraction --algorithm=thesis --isomorphism=thesis --nofollow_suit  as the thesis did it

The seven rules of the thesis, and one of ours, are trained alike by external sampling. At each evaluation: the score
against the profile of the rule "none" with equal training (exact, each side in either seat half of the time; the thesis
sampled 20,000 games), the number of information sets met, and what the thesis could not measure: the exact NashConv of
the profile in the unabstracted game.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from absl import flags
from rich.progress import track

from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import chosen_executor, define_count, define_executor, define_out, open_directory
from experiments.toepen.abstractions import NONE, OURS, RULES, Plan, Result, prepared, train

FLAGS = flags.FLAGS

COLOURS = {
    NONE: "#222222",
    "naive": "#9a9a9a",
    "simple history": "#8c6bb1",
    "simple hand": "#b2182b",
    "advanced hand": "#d9822b",
    "advanced history": "#1f77b4",
    "advanced combined": "#3a7d44",
    OURS: "#e377c2",
}
SIZE = (3, 3, 3)
QUICK_SIZE = (3, 2, 2)
THESIS_EXPLOITABILITY = 0.914


def curves(results: list[Result], rule: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    """(evaluations,) iterations and (runs, evaluations) values."""
    own = [[row for row in result.rows if row["rule"] == rule] for result in results]
    return np.array([row["iteration"] for row in own[0]]), np.array([[row[column] for row in rows] for rows in own])


def summary(results: list[Result], sizes: dict[str, int]) -> list[dict[str, Any]]:
    rows = []
    for rule, (hand, history) in RULES.items():
        score, met, nash_conv = (
            curves(results, rule, column)[1] for column in ("score", "information_sets_met", "nash_conv")
        )
        rows.append(
            {
                "rule": rule,
                "hand": hand,
                "history": history,
                "information_sets": sizes[rule],
                "met": int(met[:, -1].mean()),
                "score": float(score[:, -1].mean()),
                "score_deviation": float(score[:, -1].std()),
                "nash_conv": float(nash_conv[:, -1].mean()),
                "nash_conv_deviation": float(nash_conv[:, -1].std()),
                "best_nash_conv": float(nash_conv.mean(axis=0).min()),
            }
        )
    return rows


def leading_until(results: list[Result], rule: str, column: str, sign: int) -> int:
    """The last iteration up to which the mean of the rule is better than without abstraction at all evaluations."""
    iterations, values = curves(results, rule, column)
    better = sign * (values.mean(axis=0) - curves(results, NONE, column)[1].mean(axis=0)) > 0
    ahead = len(better) if better.all() else int(np.argmin(better))
    return int(iterations[ahead - 1]) if ahead else 0


def claims(results: list[Result], rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What the thesis concludes from its Figures 4.3 to 4.5, beside what exact evaluation says."""
    final = {row["rule"]: row for row in rows}
    abstracted = [rule for rule in RULES if rule not in (NONE, OURS)]
    early = {rule: float(curves(results, rule, "score")[1][:, 0].mean()) for rule in abstracted}
    order = sorted(abstracted, key=lambda rule: -final[rule]["score"])
    least = min(abstracted, key=lambda rule: final[rule]["nash_conv"])
    measure = float(np.mean([result.measure for result in results]))
    leads = {
        "score": leading_until(results, "advanced history", "score", 1),
        "nash_conv": leading_until(results, "advanced history", "nash_conv", -1),
    }

    def verdict(holds: bool) -> str:
        return "holds" if holds else "does not hold"

    return [
        {
            "claim": "coarse rules (naive, simple history) are good at first and fall off",
            "ours": f"first score {early['naive']:+.3f} and {early['simple history']:+.3f}, last "
            f"{final['naive']['score']:+.3f} and {final['simple history']['score']:+.3f}",
            "verdict": verdict(
                all(final[rule]["score"] < early[rule] for rule in ("naive", "simple history"))
                and min(early["naive"], early["simple history"]) > 0
            ),
        },
        {
            "claim": "simple hand falls behind even naive and simple history",
            "ours": f"scores {final['simple hand']['score']:+.3f} against {final['naive']['score']:+.3f} and "
            f"{final['simple history']['score']:+.3f}; NashConv {final['simple hand']['nash_conv']:.2f} against "
            f"{final['naive']['nash_conv']:.2f} and {final['simple history']['nash_conv']:.2f}",
            "verdict": verdict(
                final["simple hand"]["score"] < min(final["naive"]["score"], final["simple history"]["score"])
            ),
        },
        {
            "claim": "advanced history is the best abstraction in the end",
            "ours": f"by score {order[0]} ({final[order[0]]['score']:+.3f}); by NashConv {least} "
            f"({final[least]['nash_conv']:.3f})",
            "verdict": "holds by score only"
            if order[0] == "advanced history" != least
            else verdict(order[0] == least == "advanced history"),
        },
        {
            "claim": "advanced hand alone does worse than combined with the history rule",
            "ours": f"scores {final['advanced hand']['score']:+.3f} and {final['advanced combined']['score']:+.3f}; "
            f"NashConv {final['advanced hand']['nash_conv']:.3f} and {final['advanced combined']['nash_conv']:.3f}",
            "verdict": verdict(final["advanced hand"]["score"] < final["advanced combined"]["score"]),
        },
        {
            "claim": "history abstraction is promising, hand abstraction bad",
            "ours": f"NashConv {final['advanced history']['nash_conv']:.3f} with advanced history, "
            f"{final['advanced hand']['nash_conv']:.3f} with advanced hand, {final[NONE]['nash_conv']:.3f} without",
            "verdict": verdict(final["advanced history"]["nash_conv"] < final["advanced hand"]["nash_conv"]),
        },
        {
            "claim": "abstraction pays when training is short",
            "ours": f"advanced history scores above 0 until iteration {leads['score']:,}, and its NashConv is below "
            f"that without abstraction until iteration {leads['nash_conv']:,}",
            "verdict": verdict(leads["score"] > 0),
        },
        {
            "claim": f"final exploitability without abstraction about {THESIS_EXPLOITABILITY}",
            "ours": f"by the thesis's measure {measure:.3f}, exactly {final[NONE]['nash_conv']:.3f}",
            "verdict": verdict(abs(measure - THESIS_EXPLOITABILITY) < 0.1 * THESIS_EXPLOITABILITY),
        },
    ]


def plot(results: list[Result], column: str, title: str, label: str, rules: list[str], log: bool) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    figure, axes = plt.subplots(figsize=(8, 4.5))
    last = {rule: curves(results, rule, column)[1][:, -1].mean() for rule in rules}
    for rule in sorted(rules, key=lambda rule: -last[rule]):  # the legend lists rules as their curves end
        iterations, values = curves(results, rule, column)
        mean, deviation = values.mean(axis=0), values.std(axis=0)
        axes.plot(iterations, mean, color=COLOURS[rule], label=rule, lw=2 if rule == NONE else 1.5)
        axes.fill_between(iterations, mean - deviation, mean + deviation, color=COLOURS[rule], alpha=0.15, linewidth=0)
    if column == "score":
        axes.axhline(0, color="#222222", lw=0.8)
    if log:
        axes.set_yscale("log")
        for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            axis(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_locator(matplotlib.ticker.LogLocator(subs=(2, 5)))
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("iterations")
    axes.set_ylabel(label)
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@command
def main() -> None:
    before = time.perf_counter()
    quick = FLAGS.quick
    plan = Plan(
        size=QUICK_SIZE if quick else SIZE,
        isomorphism=FLAGS.isomorphism,
        follow_suit=FLAGS.follow_suit,
        thesis=FLAGS.algorithm == "thesis",
        iterations=2_000 if quick else FLAGS.iterations,
        evaluations=10 if quick else FLAGS.evaluations,
        measure_iterations=1_000 if quick else FLAGS.measure_iterations,
    )
    seeds = range(2 if quick else FLAGS.seeds)
    run = open_directory({**plan._asdict(), "seeds": len(seeds)})
    results: list[Result] = []
    with chosen_executor(run.path) as executor:
        answers = executor.map(train, seeds, plan)
        for result in track(answers, "training", total=len(seeds), console=tables.console):
            results.append(result)
            write_csv(run.path / "curves.csv", [row for one in results for row in one.rows])
    samplers = prepared(plan.size, plan.isomorphism, plan.follow_suit).samplers
    rows = summary(results, {name: sampler.tree.num_information_sets for name, sampler in samplers.items()})
    judged = claims(results, rows)
    write_csv(run.path / "summary.csv", rows)
    abstracted = [rule for rule in RULES if rule != NONE]
    for column, title, label, rules in (
        ("score", "Score against the unabstracted profile", "points per game", abstracted),
        ("nash_conv", "Exploitability in the whole game", "exact NashConv", list(RULES)),
        ("information_sets_met", "Information sets met in training", "information sets", list(RULES)),
    ):
        run.save_figure(plot(results, column, title, label, rules, log=column != "score"), column)
    tables.show("After training", [{name: row[name] for name in ("rule", "met", "score", "nash_conv")} for row in rows])
    tables.show("Claims of the thesis", judged)
    size = "-".join(map(str, plan.size))
    run.write_report(
        f"# Abstractions of Toepen {size} with betting\n\n"
        f"{'The algorithm of the thesis' if plan.thesis else 'Textbook external sampling'}, isomorphism "
        f"`{plan.isomorphism}`, {plan.iterations:,} iterations, {len(seeds)} runs, "
        f"{'with' if plan.follow_suit else 'without'} the duty to follow suit. Scores and NashConv are exact; the "
        "deviation is that of the runs.\n\n"
        f"{tables.markdown(rows)}\n## Claims of the thesis\n\n{tables.markdown(judged)}\n"
        "![score](score.png)\n![NashConv](nash_conv.png)\n![information sets met](information_sets_met.png)\n\n"
        f"Everything took {time.perf_counter() - before:.0f} s.\n"
    )
    tables.console.print(f"report in {run.path}")


def define_flags() -> None:
    define_out("runs/toepen_abstraction")
    flags.DEFINE_enum("isomorphism", "orbit", ["orbit", "thesis"], "card isomorphism under the abstraction")
    flags.DEFINE_enum("algorithm", "textbook", ["textbook", "thesis"], "external sampling, or as the thesis did it")
    flags.DEFINE_bool("follow_suit", True, "False: the game of the thesis's program, without the duty")
    define_count("iterations", 100_000, "training iterations, each updating both players", seconds_each=1e-6)
    define_count("evaluations", 100, "evaluations on the way", bytes_each=1000, seconds_each=1e-3)
    define_count("measure_iterations", 100_000, "iterations of the thesis's final measure", seconds_each=1e-6)
    define_count("seeds", 15, "runs", bytes_each=100_000, seconds_each=0.1)
    define_executor("processes")
    flags.DEFINE_bool("quick", False, "a short run on a small game that only shows that everything works")


if __name__ == "__main__":
    define_flags()
    start(main)
