"""How strong Gongzhu's expert is, and what each of its parts is worth: `python -m experiments.gongzhu_study`.

Matches on duplicate deals (every deal is played twice, the teams exchanged), the same deals for all, so that players
can be compared deal by deal:

* --group=bar: the expert, with and without a clone of Mr. Greed among its models, against Mr. Greed, flat Monte Carlo,
  Mr. If and Random; and its bare network against Mr. Greed.
* --group=ablation: against Mr. Greed with one part after the other: rollouts of Mr. Team or of the network, more
  worlds, inference by its own network, by a clone of Mr. Greed, exact endings. Differences are paired.

Writes <group>.csv and report.md, and for the ablation a picture. Games are filed as they are played: --resume goes on.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from absl import flags
from matplotlib.figure import Figure

import gongzhu_spiel  # noqa: F401 registers the game
from cardtable.match import CONFIDENCE, Estimate
from cardtable.parameters import UserError
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import file_name, write_csv
from experiments.running.filed_games import played_once
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    define_seed,
    open_directory,
)
from experiments.running.plots import plt
from experiments.running.round_robin import PairResult, load_pair, save_pair, timed

FLAGS = flags.FLAGS
flags.DEFINE_enum("group", "bar", ["bar", "ablation"], "which matches")
define_count("deals", 1024, "duplicate deals of each match", 2, bytes_each=1000, seconds_each=1e-3)
define_seed("of deals and players; other deals than those that anything was tuned on")
define_executor("threads:2")
define_out(None, "runs/gongzhu_<group>", resume="the matches")
define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
flags.DEFINE_list("only", [], "just the matches with these numbers, such as 1,2")
flags.DEFINE_bool("quick", False, "4 deals")

FLAT = "monte_carlo(worlds=100,rollout=team)"


class Planned(NamedTuple):
    first: str
    second: str
    remark: str


BAR = [
    Planned("expert", "greed", "paper 73.9 ± 3.3; must 100, aim 125"),
    Planned("expert(models=own)", "greed", "must 82, aim 95"),
    Planned("expert", FLAT, "must 20, aim 40"),
    Planned("expert(models=own)", FLAT, ""),
    Planned("expert", "if", "paper 127; must 180, aim 210"),
    Planned("expert", "random", "paper 319; must 310, aim 340"),
    Planned("network", "greed", "paper (policy head) 7 ± 5; must -15, aim 10"),
]
ABLATION = [
    Planned(FLAT, "greed", "rollouts by Mr. Team, 100 worlds"),
    Planned("expert(models=none,worlds=100,endings=false)", "greed", "rollouts by the network, 100 worlds, halving"),
    Planned("expert(models=none,worlds=400,endings=false)", "greed", "400 worlds"),
    Planned("expert(models=none)", "greed", "and exact endings"),
    Planned("expert(models=own)", "greed", "and worlds weighed by its own network"),
    Planned("expert(models=greed)", "greed", "or by a clone of Mr. Greed alone"),
    Planned("expert", "greed", "or by both"),
    Planned("expert(endings=false)", "greed", "by both, without exact endings"),
    Planned("expert(level=medium)", "greed", "a sixth of the worlds, no endings"),
]


@command
def main() -> None:
    game = load_game("python_gongzhu")
    deals = 4 if FLAGS.quick else FLAGS.deals
    planned = BAR if FLAGS.group == "bar" else ABLATION
    if FLAGS.only:
        known = {str(number): match for number, match in enumerate(planned, 1)}
        unknown = [name for name in FLAGS.only if name not in known]
        if unknown:
            raise UserError(f"--only={unknown[0]}; allowed: numbers from 1 to {len(planned)} with commas between them")
        planned = [known[name] for name in FLAGS.only]
    config = {"group": FLAGS.group, "seed": FLAGS.seed, "deals": deals}
    directory = open_directory(config, f"runs/gongzhu_{FLAGS.group}")
    results: list[PairResult] = []
    rows: list[dict[str, Any]] = []
    with chosen_executor(directory.path) as executor:
        for match in planned:
            file = directory.path / f"{file_name(f'{match.first} {match.second}')}.npz"
            with LateProgress(f"{match.first} against {match.second}", 2 * deals) as progress:
                play = timed(game, match.first, match.second, deals, FLAGS.seed, progress.advance)
                load = functools.partial(load_pair, deals=deals)
                results.append(played_once(file, executor, FLAGS.checkpoint_seconds, play, save_pair, load))
            rows.append(_row(match, results, planned))
            tables.show(match.first, rows[-1:])
            write_csv(directory.path / f"{FLAGS.group}.csv", rows)
    words = f"Points of the first player over the second, {deals:,} duplicate deals (seed {FLAGS.seed}), 95% intervals."
    text = f"# Gongzhu's expert: {FLAGS.group}\n\n{words}\n\n{tables.markdown(rows)}"
    if FLAGS.group == "ablation":
        directory.save_figure(_figure(rows, results), "ablation")
        text += "\n![](ablation.png)\n"
    directory.write_report(text)
    tables.console.print(f"written to {directory.path}")


def _row(match: Planned, results: list[PairResult], planned: list[Planned]) -> dict[str, Any]:
    score = results[-1].score
    row = {"first": match.first, "second": match.second, "points": str(score), "s.e.": round(score.standard_error, 1)}
    row |= {"ms a move": round(float(results[-1].milliseconds[0]), 2), "remark": match.remark}
    if FLAGS.group == "ablation":
        before = results[-2] if len(results) > 1 else None
        row["over the line above"] = str(Estimate.of(results[-1].per_deal - before.per_deal)) if before else ""
    return row


def _figure(rows: list[dict[str, Any]], results: list[PairResult]) -> Figure:
    figure, axis = plt.subplots(figsize=(9, 1 + 0.45 * len(rows)))
    places = range(len(rows))
    means = [result.score.mean for result in results]
    errors = [CONFIDENCE * result.score.standard_error for result in results]
    axis.errorbar(means, places, xerr=errors, fmt="o", capsize=3)
    axis.axvline(73.9, color="grey", linestyle="--", linewidth=1, label="ScrofaZero, best published (73.9)")
    axis.set_yticks(places, [f"{row['remark']} ({row['ms a move']:.1f} ms)" for row in rows])
    axis.invert_yaxis()
    axis.set(xlabel="points over Mr. Greed, 95% intervals", title="What each part of the expert is worth")
    axis.grid(axis="x", alpha=0.3)
    axis.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    start(main)
