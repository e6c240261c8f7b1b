"""Benchmarks: every speed claim of the project, measured beside what it is compared with in one run.

python -m experiments.benchmark --suite=playouts
"""

from __future__ import annotations

import importlib
import sys

from absl import app, flags

from cardtable.executors import Serial
from experiments.running.flags import chosen_executor, define_executor

SUITES = {
    "playouts": "random games per second of each game, beside OpenSpiel's C++ hearts and euchre",
    "tabular": "speed of the tabular solvers, beside OpenSpiel's and LiteEFG",
    "exploitability": "NashConv against iterations and seconds, all solvers on many games",
    "executors": "pieces of work a second by executor, and what limits Deep CFR on a cluster",
    "deep": "Deep CFR on known ground, three seeds, beside OpenSpiel's torch Deep CFR",
}

FLAGS = flags.FLAGS
flags.DEFINE_enum("suite", None, list(SUITES), "; ".join(f"{name}: {what}" for name, what in SUITES.items()))
flags.DEFINE_string("out", None, "run directory; default runs/benchmark_<suite>")
flags.DEFINE_bool("quick", False, "a short run that only shows that the suite works")
define_executor()
flags.mark_flag_as_required("suite")


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    with chosen_executor() as executor:
        if not isinstance(executor, Serial) and FLAGS.suite != "deep":
            sys.exit(f"the {FLAGS.suite} suite measures speed and runs alone; allowed: --executor=serial")
        options = {"executor": executor} if FLAGS.suite == "deep" else {}
        suite = importlib.import_module(f"experiments.suites.{FLAGS.suite}")
        suite.run(FLAGS.out or f"runs/benchmark_{FLAGS.suite}", quick=FLAGS.quick, **options)


if __name__ == "__main__":
    app.run(main)
