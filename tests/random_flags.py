"""Random command lines for every command: `python -m tests.random_flags --count=500`; `--texts`: all odd texts.

The flags of a command are those that it lists itself (`--helpxml`); their values are drawn from what people type, by
mistake or on purpose. Whatever comes: exit code 0, or 1 with one line on stderr that begins with the command's name;
no traceback, no crash, no hang, and nothing written outside of the folder.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.commands import import_everything
from tests.forked import COMMANDS, Ended, Fork

LONGEST_SECONDS = 600.0  # also where something has to be compiled, on a machine with much else to do
DEFINED_HERE = re.compile(r"experiments|__main__|flags")  # and not in absl
SMALL = ("1", "2", "3", "5")
ODD_NUMBERS = (
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1000000000000",
    "9" * 30,
    "",
    "three",
    "1,2",
    "0x10",
    "٣",
    "1e-320",
)
GAMES = (
    "kuhn_poker",
    "python_kuhn_collab",
    "python_toepen(suits=2,ranks=2,hand_size=2)",
    "python_gongzhu",
)
ODD_GAMES = (
    "",
    "kuhn_pokr",
    "python_toepen(suits=9)",
    "python_toepen(suit=2)",
    "python_toepen(suits=2",
    "python_tied_rewards(game=python_kuhn_colab())",
    "matrix_rps",
    "catch",
    "((((((((",
    "(" * 3000,
    "ü" * 300,
    "python_bucketing(game=kuhn_poker)",
)
PLAYERS = ("random", "if", "monte_carlo(worlds=1)")
ODD_PLAYERS = (
    "",
    "rndom",
    "monte_carlo(worlds=0)",
    "monte_carlo(worlds=1000000000000)",
    "monte_carlo(",
    "os:getcwd",
    "no.such:thing",
    ":",
    "/",
    "/etc/passwd",
)
OUTS = ("new", "ünïcödé ♠", "a/b/c")
ODD_OUTS = (
    "file",
    "file/under",
    "/sys/nothing",
    "x" * 300,
    "/".join(["x" * 200] * 25),
    "",
    "full of things",
    "/dev/null",
    "run",
)
ODD_TEXTS = ("§", "99", "three", "1,")  # for all other texts
TEXTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "game": (GAMES, ODD_GAMES),
    "out": (OUTS, ODD_OUTS),
    "north_south": (PLAYERS, ODD_PLAYERS),
    "east_west": (PLAYERS, ODD_PLAYERS),
    "opponents": (("random", ""), ODD_PLAYERS),
    "players": (("random,if", "random,monte_carlo(worlds=1)"), ("random", "random,random", ",", *ODD_PLAYERS)),
    "hand": (("JS 9S AS 7S AH 10H 8C KD",), ("", "JS 9S", "JS JS JS JS JS JS JS JS", "ÜS")),
    "executor": (("serial", "threads:2"), ("", "threads:0", "threads:-1", "threads:x", "cluster", "serial:3")),
    "sizes": (("2-2-2",), ("", "2-2", "9-9-9", "a-b-c", "-1-2-2", "2-2-2-2", "2-2-99999999999999")),
    "worlds": (("2", "2,3"), ODD_NUMBERS),
    "profiles": (("places",), ("", "plces", "places,nothing")),
    "hidden_sizes": (("4", "4,4"), ("100000,100000", "1000000000000", *ODD_NUMBERS)),
    "strategy_hidden_sizes": (("4",), ("100000,100000", *ODD_NUMBERS)),
    "device": (("cpu",), ("cuda:99", "gpu", "")),
}
# What keeps a command line short that has nothing wrong in it.
BRIEF: dict[str, tuple[str, ...]] = {
    "solve": ("--iterations=3", "--game=kuhn_poker"),
    "arena": ("--quick", "--game=python_gongzhu", "--north_south=random", "--east_west=if"),
    "deep_cfr": ("--quick", "--game=kuhn_poker", "--traversals=3", "--strategy_training_steps=3", "--games=5"),
    "tournament": ("--quick", "--game=python_gongzhu", "--players=random,if"),
    "cego_agents": ("--quick", "--agents=random,monte_carlo(worlds=1)", "--subgames=bettel"),
    "train": ("--quick", "--game=python_kuhn_collab"),
    "toepen_advice": ("--size=2-3-2", "--games=20", "--player=random"),
    "toepen_expert": ("--size=2-3-2", "--iterations=20", "--hands=2"),
    "toepen_response": ("--size=2-3-2", "--player=uniform", "--hands=2"),
}
# Too long even if brief: these get at least one flag that they must refuse.
LONG = {"benchmark", "coinche_deep_cfr", "demo", "kuhn_collab", "rl_agents", "toepen_abstraction", "toepen_mccfr"}


class Flag(NamedTuple):
    name: str
    kind: str

    def drawn(self, rng: random.Random, odd: bool) -> str:
        if self.kind == "bool":
            return f"--{self.name}=maybe" if odd else rng.choice([f"--{self.name}", f"--no{self.name}"])
        numbers = (SMALL, ODD_NUMBERS)
        good, bad = TEXTS.get(self.name, numbers if self.kind in ("int", "float") else (("",), ODD_TEXTS))
        return f"--{self.name}={rng.choice(bad if odd else good)}"


def flags_in(listed: str) -> list[Flag]:
    """What a command prints with --helpxml, without the flags of absl."""
    flags = ElementTree.fromstring(listed).iter("flag")
    texts = [[flag.findtext(part) or "" for part in ("name", "type", "file")] for flag in flags]
    return [Flag(name, kind) for name, kind, file in texts if DEFINED_HERE.search(file) and name != "quick"]


def command_line(command: str, flags: Sequence[Flag], rng: random.Random) -> list[str]:
    chosen = rng.sample(list(flags), min(len(flags), rng.randint(1, 4)))
    odd = [rng.random() < 0.4 for _ in chosen]
    if command in LONG and not any(odd):
        odd = [True] * len(odd)
    if "enum" in [flag.kind for flag in chosen] and command not in LONG and rng.random() < 0.5:
        chosen, odd = chosen[:1], odd[:1]
    line = [*BRIEF.get(command, ("--quick",)), *map(lambda flag, is_odd: flag.drawn(rng, is_odd), chosen, odd)]
    if rng.random() < 0.05:
        line.append(rng.choice(["stray", "--no_such_flag", "--resume", "-1", "--", "--out"]))
    return line


def each_text(command: str, flags: Sequence[Flag]) -> list[list[str]]:
    """A command line for every odd value of every text."""
    texts = [flag for flag in flags if flag.kind not in ("bool", "int", "float", "enum")]
    brief = BRIEF.get(command, ("--quick",))
    return [[*brief, f"--{flag.name}={odd}"] for flag in texts for odd in TEXTS.get(flag.name, ((), ODD_TEXTS))[1]]


def problem_of(command: str, end: Ended) -> str:
    """What is wrong with how a command ended; empty if nothing is."""
    code, _, stdout, stderr = end
    if code is None:
        return f"still runs after {LONGEST_SECONDS:.0f} seconds"
    if code not in (0, 1):
        return f"exit code {code}"
    if "Traceback" in stdout + stderr:
        return "a traceback"
    if code == 1:
        lines = [line for line in stderr.splitlines() if not line.startswith(("compiling ", "OpenSpiel exception"))]
        if len(lines) != 1 or not lines[0].startswith(f"experiments.{command}: "):
            return f"{len(lines)} lines on stderr"
    return ""


def prepare(folder: Path) -> None:
    (folder / "file").write_text("a file")
    (folder / "full of things").mkdir()
    (folder / "full of things" / "thesis.csv").write_text("years of work")
    (folder / "run").mkdir()
    (folder / "run" / "config.json").write_text("{garbled")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--texts", action="store_true", help="every odd value of every text, nothing at random")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args(arguments)
    import_everything()
    print(f"seed {asked.seed}", flush=True)
    rng = random.Random(asked.seed)
    folder = Path(tempfile.mkdtemp(prefix="random_flags_"))
    names = [name for name in asked.commands.split(",") if name != "demo"]  # it has no flags
    listed = {name: Fork(name, ["--helpxml"], folder).wait(LONGEST_SECONDS).stdout for name in names}
    known = {name: flags_in(text) for name, text in listed.items()}
    refused = failed = 0
    if asked.texts:
        lines = [(name, line) for name in names for line in each_text(name, known[name])]
    else:
        turns = itertools.islice(itertools.cycle(names), asked.count)
        lines = [(name, command_line(name, known[name], rng)) for name in turns]
    for number, (command, line) in enumerate(lines):
        place = folder / str(number)
        place.mkdir()
        prepare(place)
        end = Fork(command, line, place).wait(LONGEST_SECONDS)
        refused += end.code == 1
        problem = problem_of(command, end)
        if (place / "full of things" / "thesis.csv").read_text() != "years of work":
            problem = "touched what is not its own"
        if problem:
            failed += 1
            print(f"experiments.{command} {' '.join(map(repr, line))}: {problem}\n{end.stderr[-1500:]}", flush=True)
        shutil.rmtree(place)
    shutil.rmtree(folder)
    print(f"{len(lines)} command lines of {len(names)} commands: {refused} refused in one line, {failed} failures")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
