"""Executors: answers in order, exceptions as themselves, a bounded number under way, dead workers replaced."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cardtable.executors import WINDOW, Executor, Processes, Serial, Threads, find_executor
from cardtable.parameters import UserError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """One pool for many tests: starting processes takes a second."""
    with Processes(2) as executor:
        yield executor


@pytest.fixture(params=["serial", "threads:1", "threads:3", "processes"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return request.getfixturevalue("processes") if request.param == "processes" else find_executor(request.param)


class OddError(Exception):
    """Cannot be made again from its arguments alone, as pickle tries to."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def slowly(shared: int, item: int) -> int:
    time.sleep(0.01 if item % 3 else 0.03)
    if item == 13:
        raise LookupError("no thirteen")
    return shared + item


def test_answers_come_in_the_order_of_the_items(executor: Executor) -> None:
    assert list(executor.map(slowly, range(12), 100)) == list(range(100, 112))
    assert list(executor.map(slowly, [], 100)) == []


def test_an_exception_is_raised_as_itself_with_the_number_of_its_item(executor: Executor) -> None:
    answers = executor.map(slowly, range(5, 20), 0)
    assert [next(answers) for _ in range(8)] == list(range(5, 13))
    with pytest.raises(LookupError, match="no thirteen") as raised:
        next(answers)
    assert raised.value.__notes__ == ["in work item 8"]
    assert list(executor.map(slowly, range(3), 0)) == [0, 1, 2]  # and it goes on


def fill(shared: np.ndarray, item: np.ndarray) -> np.ndarray:
    shared[:] = 1.0
    item[:] = 2.0
    return item


def test_arrays_are_writable(executor: Executor) -> None:
    (answer,) = executor.map(fill, [np.zeros(5)], np.zeros(100_000))
    answer += 1.0
    assert answer.tolist() == [3.0] * 5


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_only_a_window_of_items_is_under_way(kind: str, processes: Processes) -> None:
    taken = 0
    lock = threading.Lock()

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(20, 1000):
            with lock:
                taken += 1
            yield item

    answers = (Threads(2) if kind == "threads" else processes).map(slowly, items(), 0)
    assert [next(answers) for _ in range(10)] == list(range(20, 30))
    assert taken <= 10 + 2 * WINDOW
    assert isinstance(answers, Generator)
    answers.close()


# ------------------------------------------------------------------------------------------------ processes


def log(shared: str, item: int) -> tuple[int, int]:
    """Notes that it ran, in a file; item 3 kills its process the first time."""
    with open(f"{shared}/{item}", "a") as file:
        file.write("x")
    if item == 3 and (Path(shared) / "3").stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item, os.getpid()


def test_what_a_dead_process_did_is_done_again_and_answered_once(processes: Processes, tmp_path: Path) -> None:
    answers = list(processes.map(log, range(12), str(tmp_path)))
    assert [item for item, _ in answers] == list(range(12))
    assert os.getpid() not in {process for _, process in answers}
    assert (tmp_path / "3").stat().st_size == 2
    later = {process for _, process in processes.map(log, range(20, 24), str(tmp_path))}
    assert later <= {process for _, process in answers[3:]}  # processes are kept from one map to the next


def die(shared: None, item: int) -> None:
    os._exit(1)


def test_work_that_always_kills_its_process_is_given_up(processes: Processes) -> None:
    with pytest.raises(RuntimeError, match="3 processes died on this item"):
        list(processes.map(die, [1], None))


def odd(shared: None, item: int) -> Any:
    if item:
        raise OddError("this", "that")
    return lambda: 0


def test_what_cannot_travel_is_told(processes: Processes) -> None:
    with pytest.raises(RuntimeError, match="OddError: this and that"):
        list(processes.map(odd, [1], None))
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        list(processes.map(odd, [0], None))


def test_work_that_cannot_be_imported_is_refused(processes: Processes) -> None:
    def inner(shared: None, item: int) -> int:
        return item

    with pytest.raises(UserError, match=r"inner is made on the way; allowed: a function of a module"):
        processes.map(inner, [1], None)
    with pytest.raises(UserError, match="allowed: a function of a module that other processes can import"):
        processes.map(functools.partial(slowly, item=1), [1], None)


MAIN = """
    import os, signal, subprocess, sys, time
    from collections import namedtuple
    from cardtable.executors import Processes
    from tests.cardtable.test_executors import slowly, stay

    Pair = namedtuple("Pair", "a b")

    def work(shared, item):
        return item

    def refusal(*arguments):
        try:
            return list(Processes(1).map(*arguments))
        except ValueError as error:
            return str(error)

    if __name__ == "__main__":
        print(refusal(work, [1], None))
        print(refusal(slowly, [1], Pair(1, 2)))
        with Processes(2) as executor:
            answers = executor.map(stay, range(4), None)
            print(*(next(answers) for _ in range(2)), flush=True)
            if sys.argv[1] == "die":
                os.kill(os.getpid(), signal.SIGKILL)
"""


def stay(shared: None, item: int) -> int:
    if item > 1:
        time.sleep(60)
    return os.getpid()


@pytest.mark.parametrize("end", ["leave", "die"])
def test_functions_and_classes_of_main_are_refused_and_no_process_is_left(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(MAIN))
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, script, end],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=50,
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("the work function work is defined in __main__"), done.stderr
    assert lines[1].startswith("Pair is defined in __main__")
    workers = {int(word) for word in lines[2].split()}
    while any(_is_alive(worker) for worker in workers):
        assert time.monotonic() < start + 50
        time.sleep(0.05)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_names() -> None:
    assert isinstance(find_executor("serial"), Serial)
    threads, processes = find_executor("threads:3"), find_executor("processes:2")
    assert isinstance(threads, Threads)
    assert threads.count == 3
    assert isinstance(processes, Processes)
    assert processes.count == 2
    for text in ("", "serial:2", "threads:0", "threads:-1", "processes:x", "ray:", "fast"):
        with pytest.raises(UserError, match="allowed: serial, threads:<number>, processes:<number>, ray"):
            find_executor(text)
