"""Loops over runs of numbers that become vector instructions, however short the runs are.

LLVM turns a plain loop into vector instructions for 32 numbers at a time and does the rest one by one, so a loop over
thirty numbers gains nothing, and one over sixty little. These go in steps of eight, then four, two and one.

    @elementwise("target")
    def add_product(target, source, *, factor):         # arrays; behind the star numbers
        return target + factor * source                 # the new values of the arrays that are named above

    add_product(target, 0, source, 7, factor, 30)       # in compiled code: target[:30] += factor * source[7:37]

Every array is followed by the place where its run starts; the length comes last. Arrays are contiguous, of one
dimension and of one type, float32 or float64; numbers are of that type too. Each step reads all its numbers before it
writes any, so runs may be the same, but not overlap. Bodies calculate with + - * and the functions below. With
`NUMBA_DISABLE_JIT=1` numpy does the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from cardtable.compiled import JIT_DISABLED, source_digest

STEPS = (8, 4, 2, 1)


class _Lanes:
    """Some neighbouring numbers inside the code that is being built."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _with(self, operation: str, other: _Lanes) -> _Lanes:
        return _Lanes(self.builder, getattr(self.builder, operation)(self.value, other.value))

    def __add__(self, other: _Lanes) -> _Lanes:
        return self._with("fadd", other)

    def __sub__(self, other: _Lanes) -> _Lanes:
        return self._with("fsub", other)

    def __mul__(self, other: _Lanes) -> _Lanes:
        return self._with("fmul", other)

    def __neg__(self) -> _Lanes:
        return _Lanes(self.builder, self.builder.fneg(self.value))

    def above(self, other: _Lanes) -> Any:
        return self.builder.fcmp_ordered(">", self.value, other.value)

    def chosen(self, condition: Any, otherwise: _Lanes) -> _Lanes:
        return _Lanes(self.builder, self.builder.select(condition, self.value, otherwise.value))

    def zero(self) -> _Lanes:
        return _Lanes(self.builder, ir.Constant(self.value.type, [0.0] * self.value.type.count))


def larger(first: Any, second: Any) -> Any:
    """The larger one of two numbers, place by place."""
    if isinstance(first, _Lanes):
        return first.chosen(first.above(second), second)
    return np.maximum(first, second)


def positive(number: Any) -> Any:
    """The number, or zero if it is negative."""
    return larger(number, number.zero() if isinstance(number, _Lanes) else np.zeros_like(number))


def share(part: Any, total: Any, otherwise: Any) -> Any:
    """part / total; `otherwise` where the total is not positive."""
    if isinstance(part, _Lanes):
        quotient = _Lanes(part.builder, part.builder.fdiv(part.value, total.value))
        return quotient.chosen(total.above(total.zero()), otherwise)
    there = total > 0
    return np.where(there, part / np.where(there, total, 1), otherwise)


def where_positive(test: Any, first: Any, second: Any) -> Any:
    """The first where the test is positive, else the second."""
    if isinstance(test, _Lanes):
        return first.chosen(test.above(test.zero()), second)
    return np.where(test > 0, first, second)


def elementwise(*written: str) -> Callable[[Callable], Any]:
    """Decorator: a loop that can be called in compiled code."""

    def make(body: Callable) -> Any:
        kinds = {name: parameter.kind for name, parameter in inspect.signature(body).parameters.items()}
        arrays = [name for name, kind in kinds.items() if kind is not inspect.Parameter.KEYWORD_ONLY]
        numbers = [name for name in kinds if name not in arrays]
        targets = [arrays.index(name) for name in written]
        return _in_numpy(body, arrays, numbers, targets) if JIT_DISABLED else _in_llvm(body, arrays, numbers, targets)

    return make


def _in_numpy(body: Callable, arrays: list[str], numbers: list[str], targets: list[int]) -> Any:
    def loop(*arguments: Any) -> None:
        size = arguments[-1]
        runs = [arguments[2 * place][arguments[2 * place + 1] :][:size] for place in range(len(arrays))]
        given = dict(zip(numbers, arguments[2 * len(arrays) : -1], strict=True))
        found = body(*runs, **given)
        for place, values in zip(targets, found if len(targets) > 1 else (found,), strict=True):
            runs[place][:] = values

    return loop


def _in_llvm(body: Callable, arrays: list[str], numbers: list[str], targets: list[int]) -> Any:
    stamp = source_digest(body)  # so that machine code in caches goes by the body too

    def one_step(builder: Any, pointers: list[Any], given: list[Any], index: Any, width: int) -> None:
        vector = ir.VectorType(pointers[0].type.pointee, width)
        places = [builder.bitcast(builder.gep(start, [index]), vector.as_pointer()) for start in pointers]
        size = 4 if isinstance(vector.element, ir.FloatType) else 8
        loaded = []
        for place in places:
            value = builder.load(place)
            value.align = size
            loaded.append(_Lanes(builder, value))
        found = body(
            *loaded, **{name: _spread(builder, value, vector) for name, value in zip(numbers, given, strict=True)}
        )
        for target, lanes in zip(targets, found if len(targets) > 1 else (found,), strict=True):
            builder.store(lanes.value, places[target]).align = size

    def loop(typing_context: Any, *kinds: Any) -> Any:
        assert stamp
        number = kinds[0].dtype
        wanted = [kind for array in kinds[: 2 * len(arrays) : 2] for kind in (array, types.int64)]
        signature = types.void(*wanted, *[number] * len(numbers), types.int64)

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = []
            for place in range(len(arrays)):
                kind = signature.args[2 * place]
                data = arrayobj.make_array(kind)(context, builder, arguments[2 * place]).data
                pointers.append(builder.gep(data, [arguments[2 * place + 1]]))
            given, size = arguments[2 * len(arrays) : -1], arguments[-1]
            whole = builder.and_(size, ir.Constant(size.type, -STEPS[0]))
            head, step, tail = (builder.append_basic_block(name) for name in ("head", "step", "tail"))
            entry = builder.block
            builder.branch(head)
            builder.position_at_end(head)
            index = builder.phi(size.type)
            index.add_incoming(ir.Constant(size.type, 0), entry)
            builder.cbranch(builder.icmp_signed("<", index, whole), step, tail)
            builder.position_at_end(step)
            one_step(builder, pointers, given, index, STEPS[0])
            index.add_incoming(builder.add(index, ir.Constant(size.type, STEPS[0])), step)
            builder.branch(head)
            builder.position_at_end(tail)
            for width in STEPS[1:]:
                bit = builder.and_(size, ir.Constant(size.type, width))
                with builder.if_then(builder.icmp_signed("!=", bit, ir.Constant(size.type, 0))):
                    start = builder.and_(size, ir.Constant(size.type, -2 * width))
                    one_step(builder, pointers, given, start, width)
            return context.get_dummy_value()

        return signature, build

    # numba reads the arguments of an intrinsic off its signature.
    pairs = [part for name in arrays for part in (name, f"{name}_at")]
    names = ["typing_context", *pairs, *numbers, "size"]
    named = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    loop.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return intrinsic(loop)


def _spread(builder: Any, value: Any, vector: Any) -> _Lanes:
    """A number in all lanes."""
    lane, nothing = ir.IntType(32), ir.Constant(vector, ir.Undefined)
    mask = ir.Constant(ir.VectorType(lane, vector.count), [0] * vector.count)
    return _Lanes(builder, builder.shuffle_vector(builder.insert_element(nothing, value, lane(0)), nothing, mask))


@elementwise("target")
def fill(target, *, number):
    return number


@elementwise("target")
def copy(target, source):
    return source


@elementwise("target")
def add(target, source):
    return target + source


@elementwise("target")
def add_times(target, source, *, factor):
    return target + factor * source
