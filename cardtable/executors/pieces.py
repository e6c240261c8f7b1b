"""What goes to another process and comes back: bytes, and the name of a function.

Arguments and answers are pickled here and not by whoever carries them. So arrays arrive writable, as they do within
one process, and an exception comes back as itself, whatever its class looks like.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib
import io
import os
import pickle
import tempfile
import traceback
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cardtable.executors.nodes import registering_modules
from cardtable.parameters import UserError

MAIN = "__main__"
MAINS = (MAIN, "__mp_main__")  # what the second is called in a process that was spawned


class Call(NamedTuple):
    """All that the items of one map have in common."""

    work: str  # module:function
    modules: tuple[str, ...]  # to be imported before anything is unpacked: they register games
    key: str  # of this map, so that a worker unpacks what is shared once
    shared: bytes


class WorkerTraceback(Exception):  # noqa: N818 as in Python's own pools: it is where, not what
    """Where an exception of a work item came from, as text: tracebacks do not travel."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def make_call(work: Callable, shared: Any) -> Call:
    return Call(name_of(work), registering_modules(), uuid.uuid4().hex, pack(shared))


def name_of(work: Callable) -> str:
    """The function as text; UserError if other processes could not import it."""
    module, name = getattr(work, "__module__", None), getattr(work, "__qualname__", None)
    if module is None or name is None:
        raise UserError(f"work is {work!r}; allowed: a function of a module that other processes can import")
    if module in MAINS:
        raise UserError(_in_main(f"the work function {name}"))
    if "<" in name:
        raise UserError(f"the work function {module}.{name} is made on the way; allowed: a function of a module")
    return f"{module}:{name}"


def _in_main(what: str) -> str:
    return f"{what} is defined in {MAIN}, which is another module in other processes; move it to a module of its own"


class _Pickler(pickle.Pickler):
    """Refuses what lives in `__main__`: some other process would look for it in its own."""

    def reducer_override(self, thing: Any) -> Any:
        kind = thing if isinstance(thing, type) else type(thing)
        if kind.__module__ in MAINS:
            raise UserError(_in_main(kind.__qualname__))
        if getattr(thing, "__module__", None) in MAINS:
            raise UserError(_in_main(getattr(thing, "__qualname__", repr(thing))))
        return NotImplemented


def pack(thing: Any) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(thing)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------------ in the worker


def perform(call: Call, item: bytes) -> bytes:
    """Does one item in a worker; what `open_answer` makes of the bytes is its answer, or its exception."""
    try:
        work, shared = _prepared(call)
        return pack((work(shared, pickle.loads(item)), None, ""))
    except Exception as error:
        return pack((None, _portable(error), traceback.format_exc()))


_latest: dict[str, tuple[Callable, Any]] = {}  # of the map that this worker has seen last


def open_answer(answer: bytes) -> Any:
    found, error, where = pickle.loads(answer)
    if error is not None:
        raise error from WorkerTraceback(where)
    return found


def _prepared(call: Call) -> tuple[Callable, Any]:
    """The function and what is shared, which is prepared first if it can be: loading a game may compile it.

    One process of a machine at a time, so that the others find what it compiled in the cache.
    """
    if call.key not in _latest:
        module, _, name = call.work.partition(":")
        with _alone_on_this_machine():
            for other in call.modules:
                importlib.import_module(other)
            work: Any = functools.reduce(getattr, name.split("."), importlib.import_module(module))
            shared = pickle.loads(call.shared)
            if hasattr(shared, "prepare"):
                shared.prepare()
        _latest.clear()
        _latest[call.key] = work, shared
    return _latest[call.key]


@contextlib.contextmanager
def _alone_on_this_machine() -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"cardspiel_{os.getuid()}.lock"
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # let go of when the file is closed, or the process dies
        yield


def _portable(error: Exception) -> Exception:
    """The exception, if it survives the journey; otherwise one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
