"""Benchmarks: every speed claim of the project, measured beside what it is compared with in one run.

python -m experiments.benchmark --suite=playouts
"""

from __future__ import annotations

import importlib
from pathlib import Path

from absl import flags

from cardtable.executors import Serial
from cardtable.parameters import UserError
from experiments.running.command import command, start
from experiments.running.flags import chosen_executor, define_executor, define_out, open_directory

SUITES = {
    "playouts": "random games per second of each game, beside OpenSpiel's C++ hearts and euchre",
    "tabular": "speed of the tabular solvers, beside OpenSpiel's and LiteEFG",
    "exploitability": "NashConv against iterations and seconds, all solvers on many games",
    "executors": "pieces of work a second by executor, and what limits Deep CFR on a cluster",
    "environments": "steps a second of Coinche as an environment, beside the same through pyspiel",
    "deep": "Deep CFR on known ground, three seeds, beside OpenSpiel's torch Deep CFR",
}

FLAGS = flags.FLAGS
flags.DEFINE_enum("suite", None, list(SUITES), "; ".join(f"{name}: {what}" for name, what in SUITES.items()))
define_out(None, "runs/benchmark_<suite>")
flags.DEFINE_bool("quick", False, "a short run that only shows that the suite works")
define_executor()
flags.mark_flag_as_required("suite")


@command
def main() -> None:
    out = Path(FLAGS.out or f"runs/benchmark_{FLAGS.suite}")
    with chosen_executor(out) as executor:
        if not isinstance(executor, Serial) and FLAGS.suite != "deep":
            raise UserError(f"the {FLAGS.suite} suite measures speed and runs alone; allowed: --executor=serial")
        options = {"executor": executor} if FLAGS.suite == "deep" else {}
        suite = importlib.import_module(f"experiments.suites.{FLAGS.suite}")
        directory = open_directory({"suite": FLAGS.suite, "quick": FLAGS.quick}, out)
        suite.run(directory, quick=FLAGS.quick, **options)


if __name__ == "__main__":
    start(main)
