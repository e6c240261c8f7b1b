"""`@compiled`: numba's `njit` with an on-disk cache that cannot go stale.

numba caches machine code per source file: it notices an edit of the file that holds a function, but not an edit
of a function or constant imported *from another file*, both of which it has baked into the machine code. Here the
cache entry of a function is stamped with everything that went into it:

* the contents of its own source file,
* the stamps of all compiled functions it names, wherever they live,
* the values of the global constants it names (numba freezes them).

Where the cache lives is left to numba: beside the source, in a user-wide folder, or in `NUMBA_CACHE_DIR`; caches of
other packages are not touched. Where none of these can be written, or the disk is full, everything is compiled in
every process, and one line on stderr says so; a damaged cache file is compiled anew. Of several processes that want a
function at the same time one compiles it (`cardtable.compile_locks`). With `NUMBA_DISABLE_JIT=1` every
compiled function is the plain Python function.

Whoever waits for the compiler longer than a moment is told so, in one line on stderr (`compiling`).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib.util
import os
import sys
import threading
import types as python_types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.config import DISABLE_JIT
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.types.misc import unliteral
from numba.extending import _Intrinsic as Intrinsic
from numba.extending import overload

from cardtable.compile_locks import CompileLocks
from cardtable.linked_code import LinkedCodeCache, LinkedCodeCompiler

JIT_DISABLED = bool(DISABLE_JIT)
PATIENCE_SECONDS = 3.0
DIGEST_BYTES = hashlib.sha256().digest_size

# Functions as arguments are the ground that solvers stand on; tests would tell if numba changed them.
warnings.filterwarnings("ignore", "First-class function type feature", NumbaExperimentalFeatureWarning)


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compiles `function` with numba on its first call, and caches the machine code safely.

    Used as `@compiled` or with numba's options, `@compiled(parallel=True)`.
    """
    if function is None:
        return functools.partial(compiled, **options)
    if JIT_DISABLED:
        return numba.njit(function, **options)
    cache = _cache_for(function)
    if function.__closure__ is not None:
        # Machine code goes by its qualified name and a counter that starts anew in every process. Two closures that
        # come from one `def`, compiled by two processes and loaded by a third, must not be taken for each other.
        function.__qualname__ += f"_{source_digest(function)[:16]}"
    dispatcher = numba.njit(function, **options)
    if cache is not None:
        dispatcher._cache = cache
    dispatcher.inner = functools.cache(functools.partial(_without_wrappers, function, options))
    dispatcher.get_call_template = functools.partial(_call_template, dispatcher)
    dispatcher.get_overload = functools.partial(_overload, dispatcher)
    return dispatcher


def _without_wrappers(function: Callable, options: dict[str, Any]) -> Dispatcher:
    """`function` for callers that are compiled. What Python and C need to call it, and machine code of its own
    (`cardtable.linked_code`), take a third of compilation.

    It has a name of its own, by which its machine code and its cache file are told from those of the whole function.
    """
    copy = python_types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_inner"
    dispatcher = numba.njit(
        copy, no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=LinkedCodeCompiler, **options
    )
    cache = _cache_for(copy, _StampedLinkedCodeCache)
    if cache is not None:
        dispatcher._cache = cache
    return dispatcher


def _called(dispatcher: Any, types: tuple) -> Any:
    """Whom compiled code calls: the function without wrappers, unless Python has called the whole one already."""
    return dispatcher if types in dispatcher.overloads else dispatcher.inner()


def _call_template(dispatcher: Dispatcher, arguments: tuple, keywords: dict) -> Any:
    """How compiled code calls `dispatcher`. numba would compile `f(x, 0)` and `f(x, 1)` apart from `f(x, y)`.

    One version serves all of them; where it is inlined the optimiser knows the constants anyway.
    """
    types = tuple(map(unliteral, arguments))
    called = _called(dispatcher, types)
    plain = {name: unliteral(value) for name, value in keywords.items()}
    return type(called).get_call_template(called, types, plain)


def _overload(dispatcher: Dispatcher, types: tuple) -> Any:
    """The machine code behind such a call."""
    called = _called(dispatcher, tuple(types))
    return type(called).get_overload(called, types)


class EntryPoint:
    """A compiled function that Python calls with rules functions among its arguments.

    Its argument types are declared, with first-class function types for the rules functions, so there is exactly one
    compiled version for all games and it is cached. (Left to itself, numba would compile a new version for each
    function that is passed, in every process.) Compiled, or loaded from the cache, on the first call.
    """

    def __init__(self, function: Callable, argument_types: tuple, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.argument_types = argument_types
        self._dispatcher = compiled(function, **options)
        self._ready = False
        self._lock = threading.Lock()  # threads of a pool may make the first call together
        ENTRY_POINTS.append(self)

    def compile(self) -> None:
        with self._lock:
            if not self._ready and not JIT_DISABLED:
                self._dispatcher.compile(self.argument_types)
                self._dispatcher.disable_compile()
            self._ready = True

    def __call__(self, *arguments: Any) -> Any:
        if not self._ready:
            self.compile()
        return self._dispatcher(*arguments)


ENTRY_POINTS: list[EntryPoint] = []  # every one that has been imported, for tests


def entry_point(*argument_types: Any, **options: Any) -> Callable[[Callable], EntryPoint]:
    """Decorator: an `EntryPoint` with these argument types; options go to numba."""
    return lambda function: EntryPoint(function, argument_types, options)


@functools.cache  # before the first function is loaded or compiled
def _start_numba_without_scipy() -> None:
    """numba imports all of scipy.linalg, half of what loading a game takes, only to learn whether scipy is there.

    That can be had for less. Whoever compiles linear algebra later makes numba import it then.
    """
    import numba.np.linalg as linalg

    def ensure_scipy() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError("scipy is required for linear algebra")

    asked = getattr(linalg, "ensure_blas", None)
    if asked is None or "numba.np.arraymath" in sys.modules:  # another numba, or too late
        return
    linalg.ensure_blas = ensure_scipy
    try:
        import numba.np.arraymath as arraymath
    finally:
        linalg.ensure_blas = asked
    arraymath.ensure_blas = asked


@functools.cache
def _raise_without_shapes() -> None:
    """Where an array is assigned to a slice, numba compiles a message with both shapes, for three seconds a process.

    Ours say only that the shapes differ.
    """
    import numba.np.arrayobj as arrayobj

    def stand_in(source_shapes: Any, index_shape: Any) -> None: ...

    @overload(stand_in)
    def raise_without_shapes(source_shapes, index_shape):
        def implementation(source_shapes, index_shape):
            raise ValueError("cannot assign to a slice of another shape")

        return implementation

    if hasattr(arrayobj, "raise_with_shape_context"):  # not so in another numba, which will be slower
        arrayobj.raise_with_shape_context = stand_in


class _Troubles:
    """What stands in the way of caching. Said when something has been compiled in vain, and only once."""

    def __init__(self) -> None:
        self._found = ""
        self._said = False

    def note(self, what: str) -> None:
        self._found = self._found or what

    def say(self) -> None:
        if self._found and not self._said and sys.stderr is not None:
            self._said = True
            advice = "it will be compiled again by every process; NUMBA_CACHE_DIR may name another folder"
            print(f"compiled code cannot be cached ({self._found}): {advice}", file=sys.stderr, flush=True)


_troubles = _Troubles()
_locks = CompileLocks()


def _cache_for(function: Callable, kind: type[_StampedCache] | None = None) -> _StampedCache | None:
    """None on machines where neither the package's folder nor the user's can be written."""
    try:
        return (kind or _StampedCache)(function)
    except RuntimeError as error:
        if "locator" not in str(error):
            raise
        _troubles.note("no folder for it can be written")
        return None


class _CheckedCacheFile(IndexDataCacheFile):
    """numba's cache file with a checksum behind the machine code, which is only run if it is what was written."""

    def _dump(self, obj: Any) -> bytes:
        data = super()._dump(obj)
        return data + hashlib.sha256(data).digest()  # whoever reads the pickle stops before

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            content = file.read()
        if hashlib.sha256(content[:-DIGEST_BYTES]).digest() != content[-DIGEST_BYTES:]:
            raise ValueError(f"{name} is damaged")
        return super()._load_data(name)

    def discard(self) -> None:
        """Removes the index: what it names is compiled anew."""
        with contextlib.suppress(OSError):
            os.unlink(self._index_path)


class _StampedCache(FunctionCache):
    """numba's function cache that also knows what the function uses from other files.

    The digest of all that is taken on first use instead of at decoration, when the globals the function names all
    exist. It is part of the stamp of the cache file: when it changes, the old contents go. Closures that come from one
    `def` share a cache file, so theirs is part of the key inside the file instead.
    """

    def __init__(self, py_func: Callable) -> None:
        super().__init__(py_func)
        self._digest: str | None = None

    def _take_digest(self) -> None:
        if self._digest is None:
            self._digest = source_digest(self._py_func)
            alone = self._py_func.__closure__ is None
            self._cache_file = _CheckedCacheFile(
                cache_path=self._cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=(self._impl.locator.get_source_stamp(), self._digest if alone else ""),
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Finds the function in the cache; what is not there will be compiled now, by nobody else meanwhile."""
        _start_numba_without_scipy()
        _raise_without_shapes()
        self._take_digest()
        found = self._load(sig, target_context)
        if found is None:
            what = f"{self._py_func.__module__}.{self._py_func.__qualname__} {self._digest} {sig}"
            _locks.take(self._cache_path, what, len(_blocks_of_thread()), _said_to_be_compiling(self._py_func))
            found = self._load(sig, target_context)  # somebody else may have compiled it
            if found is not None:
                _locks.release(len(_blocks_of_thread()))
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # bytes that are no index and no machine code make numba raise almost anything
            self._cache_file.discard()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._take_digest()
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _troubles.note(str(error))
            _troubles.say()
        _locks.release(len(_blocks_of_thread()))

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """numba would pickle the closure, in which compiled functions look different in every process."""
        return sig, codegen.magic_tuple(), self._digest


class _StampedLinkedCodeCache(_StampedCache):
    _impl_class = LinkedCodeCache


def source_digest(function: Callable) -> str:
    """A digest of everything that determines the machine code of `function`."""
    digest = hashlib.sha256()
    for part in sorted(_ingredients(function, set())):
        digest.update(part.encode())
    return digest.hexdigest()


def _ingredients(function: Callable, seen: set[Callable]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    code = function.__code__
    yield f"{function.__qualname__} {_file_digest(code.co_filename)}"
    for name, value in _named_values(function):
        if isinstance(value, Dispatcher):
            yield from _ingredients(value.py_func, seen)
        elif isinstance(value, Intrinsic):
            yield from _ingredients(value._defn, seen)
        elif isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, int | float | str | tuple):
            yield f"{name} {value!r}"


def _named_values(function: Callable) -> Iterator[tuple[str, Any]]:
    """The global values a function mentions, by plain name or as an attribute of an imported module."""
    names = sorted(_names(function.__code__))
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, python_types.ModuleType):
            for attribute in names:
                yield f"{name}.{attribute}", getattr(value, attribute, None)
        else:
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _names(code: python_types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            names |= _names(constant)
    return names


@functools.cache
def _file_digest(path: str) -> str:
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()


class compiling:  # noqa: N801, as `with` blocks read
    """`with compiling("python_coinche"):` says so on stderr if the compiler is at work for longer than a moment.

    Silent if everything comes from the cache. In nested blocks the outermost speaks; compilation outside of any block
    speaks for itself. Each thread has its own blocks.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._timer: threading.Timer | None = None

    def __enter__(self) -> compiling:
        _blocks_of_thread().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _blocks_of_thread().remove(self)
        if self._timer is not None:
            self._timer.cancel()

    def begin(self) -> None:
        """Something is being compiled: the clock starts, unless it runs already."""
        if self._timer is None:
            self._timer = threading.Timer(PATIENCE_SECONDS, self._say)
            self._timer.daemon = True  # an impatient user may stop the program meanwhile
            self._timer.start()

    def _say(self) -> None:
        if sys.stderr is not None:  # programs without a console have none
            print(f"compiling {self._what} (once; cached afterwards) ...", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _said_to_be_compiling(function: Callable) -> Iterator[None]:
    with compiling(f"{function.__module__}.{function.__name__}"):
        _blocks_of_thread()[0].begin()
        yield


_of_thread = threading.local()


def _blocks_of_thread() -> list[compiling]:
    if not hasattr(_of_thread, "blocks"):
        _of_thread.blocks = []
    return _of_thread.blocks


class _CompilerAtWork(event.Listener):
    """numba tells of every function that it compiles, and not of those that it finds in the cache.

    Meanwhile Python does not look for cyclic garbage: among the objects that a compiler makes it finds little, and
    looking takes an eighth of the time, more where much else is in memory. numba compiles under a lock, nested.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._collects = False

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        function = event.data["dispatcher"].py_func
        own = compiling(f"{function.__module__}.{function.__name__}")
        own.__enter__()
        _blocks_of_thread()[0].begin()

    def on_end(self, event: Any) -> None:
        _troubles.say()
        _blocks_of_thread()[-1].__exit__()
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _CompilerAtWork())
