"""Runs are killed at random moments, resumed, and compared with runs that were not: `python -m tests.kills --kills=20`.

Every kind of run that can be resumed is killed with -9 again and again until it is done; then every file must be equal:
arrays and tables by content, pictures by pixels, TensorBoard events by their values. Clocks stand still in all of them
(`tests.frozen_clock`), so that times are equal too. Killed are all solvers of the catalogue that can be resumed, both
engines of Deep CFR, other learners, matches, tournaments, and the sizes of Toepen.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.image
import numpy as np
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

from experiments.running.checkpoints import TEXT
from experiments.running.directory import LOCK, holds_a_run
from experiments.running.solver_catalogue import SOLVERS
from solvers.learning.trainer import CannotResumeError
from tests.commands import import_everything
from tests.forked import Fork, freeze_clocks

LONGEST_SECONDS = 900.0  # of a run that compiles everything on a machine with much else to do
GONGZHU = "--game=python_gongzhu"


class Kind(NamedTuple):
    command: str
    arguments: tuple[str, ...]
    named: bool = True  # one of those that are killed most often


def _solve(solver: str, game: str, iterations: int, named: bool = False) -> Kind:
    arguments = (f"--game={game}", f"--solver={solver}", f"--iterations={iterations}", "--checkpoint_seconds=0.05")
    return Kind("solve", arguments, named)


def _deep(game: str, iterations: int, *arguments: str) -> Kind:
    return Kind("deep_cfr", (f"--game={game}", f"--iterations={iterations}", "--checkpoint_seconds=0.1", *arguments))


SMALL_LARGE = (
    "--traversals=4",
    "--training_steps=10",
    "--strategy_training_steps=10",
    "--memory_rows=5000",
    "--games=50",
)
TRAINED = ("--context_sizes=8", "--head_sizes=8", "--checkpoint_seconds=0.1", "--distil_iterations=10")
LEARNER = (*TRAINED[:-1], "--iterations=20", "--games=16", "--deals=20", "--memory_rows=200", "--training_steps=5")
KINDS: dict[str, Kind] = {
    "cfr_plus": _solve("cfr_plus", "leduc_poker", 60_000, True),
    "tree_cfr": _solve("tree_cfr", "leduc_poker", 2_000, True),
    "external": _solve("external", "leduc_poker", 600_000, True),
    "outcome": _solve("outcome", "leduc_poker", 600_000, True),
    "toepen_frontier": Kind("toepen_frontier", ("--sizes=2-2-2,2-3-2,3-2-2",)),
    "deep_cfr, tabulated": _deep("kuhn_poker", 60, "--traversals=200", "--strategy_training_steps=50"),
    "deep_cfr, levels": _deep("python_kuhn_collab", 12, "--engine=levels", *SMALL_LARGE, "--strategy_memory_rows=5000"),
    "train": Kind("train", ("--game=python_kuhn_collab", "--iterations=30", "--games=64", "--deals=20", *TRAINED)),
    "train, dqn": Kind("train", ("--game=python_kuhn_collab", "--learner=dqn", *LEARNER)),
    "train, nfsp": Kind("train", ("--game=python_toepen(suits=2,ranks=2,hand_size=2)", "--learner=nfsp", *LEARNER)),
    "tournament": Kind(
        "tournament", (GONGZHU, "--players=random,if,monte_carlo(worlds=2)", "--deals=48", "--checkpoint_seconds=0")
    ),
    "arena": Kind(
        "arena",
        (GONGZHU, "--north_south=greed", "--east_west=monte_carlo(worlds=2)", "--deals=64", "--checkpoint_seconds=0"),
    ),
    "cego_ablation": Kind(
        "cego_ablation",
        (
            "--quick",
            "--subgame=bettel",
            "--reference=random",
            "--seeds=1",
            "--only=distilling alone,returns from the start",
        ),
        False,
    ),
    "cego_agents": Kind("cego_agents", ("--quick", "--subgames=ultimo", "--checkpoint_seconds=0"), False),
    "cego_lessons": Kind("cego_lessons", ("--quick", "--players=random", "--checkpoint_seconds=0"), False),
    "coinche_bidder": Kind("coinche_bidder", ("--quick", "--solved=solved"), False),
    "coinche_foresight": Kind("coinche_foresight", ("--quick",), False),
    "coinche_calls": Kind("coinche_calls", ("--quick", "--solved=solved", "--opponents=strong"), False),
    "coinche_deals": Kind("coinche_deals", ("--quick", "--checkpoint_seconds=0"), False),
    "coinche_expert": Kind("coinche_expert", ("--quick", "--colver=false", "--checkpoint_seconds=0"), False),
    "coinche_ppo": Kind("coinche_ppo", ("--quick", "--only=against simple,mirror", "--seeds=1"), False),
    "gongzhu_expert": Kind("gongzhu_expert", ("--quick", "--threads=1"), False),
    "gongzhu_lessons": Kind("gongzhu_lessons", ("--quick", "--checkpoint_seconds=0"), False),
    "gongzhu_scrofazero": Kind("gongzhu_scrofazero", ("--quick", "--checkpoint_seconds=0"), False),
    "gongzhu_study": Kind("gongzhu_study", ("--quick", "--only=1,2", "--checkpoint_seconds=0"), False),
    "toepen_expert": Kind(
        "toepen_expert", ("--size=3-3-2", "--iterations=3000", "--hands=2", "--checkpoint_seconds=0.1"), False
    ),
    "toepen_response": Kind("toepen_response", ("--player=uniform", "--size=3-3-3", "--hands=20"), False),
}
SHORT: dict[str, Kind] = {
    "cfr_plus": _solve("cfr_plus", "kuhn_poker", 3_000, True),
    "arena": Kind("arena", (*KINDS["arena"].arguments[:-2], "--deals=32", "--checkpoint_seconds=0")),
}
SLOW_ITERATIONS = {"openspiel_cfr": 60, "openspiel_cfr_plus": 60}
# Twelve runs of deep_cfr one after the other, which end by the clock.
EXCUSED = {"coinche_deep_cfr"}


def all_kinds() -> dict[str, Kind]:
    """Those above, and all other solvers that can be resumed."""
    import pyspiel

    kinds = dict(KINDS)
    for name, make in SOLVERS.items():
        try:
            make(pyspiel.load_game("kuhn_poker"), 1, None).get_state()
        except CannotResumeError:
            continue
        ours = not name.startswith("openspiel")
        kinds.setdefault(name, _solve(name, "kuhn_poker", 20_000 if ours else SLOW_ITERATIONS.get(name, 2_000)))
    return kinds


# ------------------------------------------------------------------------------------------------ comparing


def contents(folder: Path) -> dict[str, Any]:
    """What a run left behind, file by file, as values that can be compared."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and path.name != LOCK:
            if path.name.startswith("events.out"):  # and when it was written
                events = str(path.relative_to(folder).with_name("events"))
                name = name if events in found else events
            found[name] = _content(path)
    return found


def _content(path: Path) -> Any:
    if path.name.startswith("events.out"):
        return [
            (event.step, value.tag, np.float32(value.simple_value).tobytes())
            for event in LegacyEventFileLoader(str(path)).Load()
            for value in event.summary.value
        ]
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return {name: _array(archive[name]) for name in archive.files if name != TEXT} | _values(archive)
    if path.suffix == ".png":
        return _array(matplotlib.image.imread(path))
    if path.suffix == ".safetensors":
        return path.read_bytes()
    return json.loads(path.read_text()) if path.suffix == ".json" else path.read_text()


def _values(archive: Any) -> dict[str, Any]:
    """The plain values of a checkpoint. OpenSpiel's C++ solvers write their tables in the order of a hash table."""
    if TEXT not in archive.files:
        return {}
    content = json.loads(archive[TEXT].tobytes().decode())
    text = content["values"].pop("text", "")
    return {"values": content, "parts of the text": sorted(re.split("<~>|\n", text))}


def _array(array: np.ndarray) -> tuple:
    return array.dtype.str, array.shape, array.tobytes()


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


# ------------------------------------------------------------------------------------------------ killing


class DifferenceError(Exception):
    """A run that was killed is not what it would have been."""


def fork(kind: Kind, out: Path, resume: bool) -> Fork:
    arguments = [*kind.arguments, f"--out={out}", *(["--resume"] if resume else [])]
    return Fork(kind.command, arguments, out.parent)


def finished(kind: Kind, out: Path, resume: bool = False) -> float:
    end = fork(kind, out, resume).wait(LONGEST_SECONDS)
    if end.code != 0:
        raise DifferenceError(f"ended with {end.code}: {end.stderr}")
    return end.seconds


def kill_often(kind: Kind, kills: int, rng: random.Random, folder: Path) -> int:
    """Kills a run so many times; returns how many runs that took. DifferenceError if one of them differs."""
    whole = folder / "whole"
    seconds = finished(kind, whole)
    expected = contents(whole)
    for runs in itertools.count(1):
        out = folder / f"killed_{runs}"
        while kills > 0:
            under_way = fork(kind, out, resume=holds_a_run(out))
            end = under_way.wait(rng.uniform(0.0, 0.8 * seconds))
            if end.code == 0:
                seconds = min(seconds, end.seconds)  # the machine may have been busy before
                break
            if end.code is not None:
                raise DifferenceError(f"run {runs} ended with {end.code}: {end.stderr}")
            kills -= 1
        finished(kind, out, resume=holds_a_run(out))
        differing = differences(contents(out), expected)
        if differing:
            raise DifferenceError(f"run {runs} differs in {', '.join(differing)}; see {folder}")
        if kills == 0:
            return runs
    raise AssertionError


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each of the kinds named in KINDS")
    parser.add_argument("--other_kills", type=int, default=2, help="of each other solver")
    parser.add_argument("--kinds", default="", help="only these, with semicolons between them")
    parser.add_argument("--short", action="store_true", help="only short runs of two kinds")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args(arguments)
    freeze_clocks()
    import_everything()
    kinds = SHORT if asked.short else all_kinds()
    if asked.kinds:
        kinds = {name: kinds[name] for name in asked.kinds.split(";")}
    print(f"seed {asked.seed}", flush=True)
    failed = False
    for name, kind in kinds.items():
        folder = Path(tempfile.mkdtemp(prefix="kills_"))
        kills, before = asked.kills if kind.named else asked.other_kills, time.monotonic()
        try:
            runs = kill_often(kind, kills, random.Random(f"{asked.seed} {name}"), folder)
        except DifferenceError as complaint:
            failed = True
            print(f"{name}: {complaint}", flush=True)
        else:
            seconds = time.monotonic() - before
            print(f"{name}: {kills} kills in {runs} runs, every file equal ({seconds:.0f} s)", flush=True)
            shutil.rmtree(folder)
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
