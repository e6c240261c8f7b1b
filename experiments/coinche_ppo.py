"""The PPO experiments of the Coinche paper: `python -m experiments.coinche_ppo --executor=processes:2`.

sb3-contrib's MaskablePPO with the paper's settings (64 environments, 512 steps, minibatches of 512, else the defaults),
one model for North and South. Its Figure 2: against random, simple and strong players, paid by `good` and 0.1 a card
point. Its Figure 4: against strong under four reward schemes; `classic` also with the rule of the paper's program, by
which the coincher becomes the attacker. Its side note: extreme bids masked, in two ways. Several seeds of each; the
report compares what happened with the claims C3, C4, C5, C9 and C10. A run that was killed goes on with --resume,
and so does one that is to have more decisions, seeds or settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from absl import flags
from rich.progress import track

from cardtable.executors import Serial
from cardtable.parameters import UserError
from experiments.coinche.ppo_claims import SETTINGS, Curves, claims, figure, last_figures
from experiments.coinche.ppo_runs import Job, train_run
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import holds_a_run
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_out,
    define_seed,
    open_directory,
)
from solvers.ppo.settings import Settings

FLAGS = flags.FLAGS
define_count("decisions", 1_000_000, "of the learner in each run", lowest=1, seconds_each=1e-4)
define_count(
    "long_decisions", 3_000_000, "of the learner in the runs against strong, `good`", lowest=1, seconds_each=1e-4
)
define_count("seeds", 2, "runs of each setting", lowest=1, highest=100)
define_count("games", 2000, "games per evaluation", lowest=2, bytes_each=500, seconds_each=1e-5)
flags.DEFINE_list("only", [], f"some of the settings: {', '.join(SETTINGS)}")
flags.DEFINE_bool("quick", False, "a few decisions that only show that it works")
define_seed("of the first run of each setting; the next have the next seeds")
define_out("runs/coinche_ppo", resume="the runs")
define_executor()

LONG = "against strong"  # the most telling setting
QUICK: dict[str, Any] = {"num_envs": 4, "n_steps": 16, "batch_size": 32, "n_epochs": 1}
QUICK_GAMES = 20


@command
def main() -> None:
    chosen = FLAGS.only or list(SETTINGS)
    unknown = [name for name in chosen if name not in SETTINGS]
    if unknown:
        raise UserError(f"--only={unknown[0]}; allowed: {', '.join(SETTINGS)}")
    # How long, how often and which are left out: --resume may ask for more.
    directory = open_directory({name: FLAGS[name].value for name in ("games", "quick", "seed")})
    runs = [(name, FLAGS.seed + number) for name in chosen for number in range(FLAGS.seeds)]
    with chosen_executor(directory.path) as executor:
        quiet = not isinstance(executor, Serial)
        answers = executor.map(train_run, [job(*run) for run in runs], quiet)
        found: Curves = dict(zip(runs, track(answers, "runs", total=len(runs), disable=not quiet), strict=True))
    tables.console.quiet = False
    rows, last = claims(found), last_figures(found)
    if rows:  # some claims need several settings
        tables.show("Claims of the paper", rows)
    pictures = [
        directory.save_figure(figure(found, names), title)
        for title, names in (
            ("opponents", ["against random", "against simple", "against strong"]),
            ("rewards", [name for name in chosen if SETTINGS[name].opponents == "strong"]),
        )
        if any(name in chosen for name in names)
    ]
    directory.write_report(
        "# PPO on Coinche\n\n"
        f"`python -m experiments.coinche_ppo --decisions={FLAGS.decisions} --seeds={FLAGS.seeds}`\n\n"
        f"{tables.markdown(rows) if rows else ''}\n"
        f"Last evaluation of each run, {FLAGS.games:,} games:\n\n{tables.markdown(last)}\n"
        + "\n".join(f"![{picture.stem}]({picture.name})" for picture in pictures)
        + "\n"
    )
    tables.console.print(f"Written to {directory.path}: report.md, a run in each folder")


def job(name: str, seed: int) -> Job:
    setting = SETTINGS[name]
    chosen = dict(QUICK) if FLAGS.quick else {}
    settings = Settings(**chosen)
    per_iteration = settings.num_envs * settings.n_steps
    decisions = FLAGS.long_decisions if name == LONG else FLAGS.decisions
    path = Path(FLAGS.out) / f"{name.replace(' ', '_')}_{seed}"
    return Job(
        name,
        setting.game,
        setting.opponents,
        chosen,
        seed,
        QUICK_GAMES if FLAGS.quick else FLAGS.games,
        str(path),
        2 if FLAGS.quick else -(-decisions // per_iteration),
        FLAGS.resume and holds_a_run(path),
        FLAGS.overwrite,
    )


if __name__ == "__main__":
    start(main)
