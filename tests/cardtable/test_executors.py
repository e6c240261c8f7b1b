"""Executors: answers in order, exceptions as themselves, a bounded number under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator

import pytest

from cardtable.executors import WINDOW, Executor, Serial, Threads, find_executor
from cardtable.parameters import UserError

EXECUTORS = [Serial(), Threads(1), Threads(3)]


def slowly(shared: int, item: int) -> int:
    time.sleep(0.01 if item % 3 else 0.03)
    if item == 13:
        raise LookupError("no thirteen")
    return shared + item


@pytest.mark.parametrize("executor", EXECUTORS)
def test_answers_come_in_the_order_of_the_items(executor: Executor) -> None:
    assert list(executor.map(slowly, range(12), 100)) == list(range(100, 112))
    assert list(executor.map(slowly, [], 100)) == []


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_exception_is_raised_as_itself_with_the_number_of_its_item(executor: Executor) -> None:
    answers = executor.map(slowly, range(5, 20), 0)
    assert [next(answers) for _ in range(8)] == list(range(5, 13))
    with pytest.raises(LookupError, match="no thirteen") as raised:
        next(answers)
    assert raised.value.__notes__ == ["in work item 8"]


def test_only_a_window_of_items_is_under_way() -> None:
    taken = 0
    lock = threading.Lock()

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(1000):
            with lock:
                taken += 1
            yield item

    answers = Threads(2).map(lambda shared, item: item, items(), None)
    assert [next(answers) for _ in range(10)] == list(range(10))
    assert taken <= 10 + 2 * WINDOW
    assert isinstance(answers, Generator)
    answers.close()


def test_names() -> None:
    assert isinstance(find_executor("serial"), Serial)
    threads = find_executor("threads:3")
    assert isinstance(threads, Threads)
    assert threads.count == 3
    for text in ("", "serial:2", "threads:0", "threads:-1", "threads:x", "fast"):
        with pytest.raises(UserError, match="allowed: serial, threads:<number>"):
            find_executor(text)
