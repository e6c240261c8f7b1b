"""Arithmetic on rows of 32 numbers inside compiled code, for small networks: each is a handful of instructions.

A row is 32 float32 of a two-dimensional array with 32 columns. numba unrolls a loop over 32 columns before LLVM can
turn it into vector instructions, and then adds one number at a time, much slower. So these say what they mean in LLVM's
own words, for whatever vector registers there are. With `NUMBA_DISABLE_JIT=1` numpy does the same.

    copy_row(target, place, source, row)             target[place] = source[row]
    add_row(target, place, source, row)              target[place] += source[row]
    subtract_row(target, place, source, row)         target[place] -= source[row]
    add_rows(target, place, source, rows, count)     target[place] += the sum of source[r] for the first `count` of rows
    dense_layer(target, out, place, source, first)   target[out] = relu(relu(target[place]) @ W + b), where W is the 32
                                                     rows of `source` from `first` on and b the row behind them
    dot(target, place, source, row)                  the inner product of target[place] and source[row]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from cardtable.compiled import JIT_DISABLED

WIDTH = 32

if JIT_DISABLED:

    def copy_row(target, place, source, row):
        target[place] = source[row]

    def add_row(target, place, source, row):
        target[place] += source[row]

    def subtract_row(target, place, source, row):
        target[place] -= source[row]

    def add_rows(target, place, source, rows, count):
        target[place] += source[rows[:count]].sum(axis=0)

    def dense_layer(target, out, place, source, first):
        values = np.maximum(target[place], 0) @ source[first : first + WIDTH] + source[first + WIDTH]
        target[out] = np.maximum(values, 0)

    def dot(target, place, source, row):
        return np.float32(target[place] @ source[row])

else:
    _VECTOR = ir.VectorType(ir.FloatType(), WIDTH)
    _LANE = ir.IntType(32)
    _BYTES = 4  # what rows are aligned to
    _INTEGER = types.int64

    def _pointer(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
        """Where a row of an array with 32 columns starts, as a vector."""
        data = arrayobj.make_array(kind)(context, builder, array).data
        start = builder.gep(data, [builder.mul(row, ir.Constant(row.type, WIDTH))])
        return builder.bitcast(start, _VECTOR.as_pointer())

    def _loaded(builder: Any, pointer: Any) -> Any:
        vector = builder.load(pointer)
        vector.align = _BYTES
        return vector

    def _store(builder: Any, vector: Any, pointer: Any) -> None:
        builder.store(vector, pointer).align = _BYTES

    def _positive(builder: Any, vector: Any) -> Any:
        zero = ir.Constant(_VECTOR, [0.0] * WIDTH)
        return builder.select(builder.fcmp_ordered(">", vector, zero), vector, zero)

    def _broadcast(builder: Any, number: Any) -> Any:
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(_LANE, 0))
        mask = ir.Constant(ir.VectorType(_LANE, WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)

    def _multiplied_and_added(builder: Any, first: Any, second: Any, third: Any) -> Any:
        """first * second + third, in one instruction where the processor has it."""
        flags = ("contract",)
        return builder.fadd(builder.fmul(first, second, flags=flags), third, flags=flags)

    def _changed_by(operation: str) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            mine = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
            other = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
            change = getattr(builder, operation)
            _store(builder, change(_loaded(builder, mine), _loaded(builder, other)), mine)
            return context.get_dummy_value()

        return build

    @intrinsic
    def copy_row(typing_context, target, place, source, row):
        def build(context, builder, signature, arguments):
            mine = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
            other = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
            _store(builder, _loaded(builder, other), mine)
            return context.get_dummy_value()

        return types.void(target, _INTEGER, source, _INTEGER), build

    @intrinsic
    def add_row(typing_context, target, place, source, row):
        return types.void(target, _INTEGER, source, _INTEGER), _changed_by("fadd")

    @intrinsic
    def subtract_row(typing_context, target, place, source, row):
        return types.void(target, _INTEGER, source, _INTEGER), _changed_by("fsub")

    @intrinsic
    def add_rows(typing_context, target, place, source, rows, count):
        def build(context, builder, signature, arguments):
            mine = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
            numbers = arrayobj.make_array(signature.args[3])(context, builder, arguments[3]).data
            total = cgutils.alloca_once_value(builder, _loaded(builder, mine))
            with cgutils.for_range(builder, arguments[4]) as loop:
                row = builder.load(builder.gep(numbers, [loop.index]))
                other = _pointer(context, builder, signature.args[2], arguments[2], row)
                builder.store(builder.fadd(builder.load(total), _loaded(builder, other)), total)
            _store(builder, builder.load(total), mine)
            return context.get_dummy_value()

        return types.void(target, _INTEGER, source, rows, _INTEGER), build

    @intrinsic
    def dense_layer(typing_context, target, out, place, source, first):
        def build(context, builder, signature, arguments):
            whole = signature.args[0], arguments[0]
            inputs = _positive(builder, _loaded(builder, _pointer(context, builder, *whole, arguments[2])))
            matrix = signature.args[3], arguments[3]

            def row(number: int) -> Any:
                index = builder.add(arguments[4], ir.Constant(arguments[4].type, number))
                return _loaded(builder, _pointer(context, builder, *matrix, index))

            totals = [row(WIDTH), ir.Constant(_VECTOR, [0.0] * WIDTH)]  # two, so that they need not wait for each other
            for number in range(WIDTH):
                factor = _broadcast(builder, builder.extract_element(inputs, ir.Constant(_LANE, number)))
                totals[number % 2] = _multiplied_and_added(builder, factor, row(number), totals[number % 2])
            outputs = _positive(builder, builder.fadd(*totals))
            _store(builder, outputs, _pointer(context, builder, *whole, arguments[1]))
            return context.get_dummy_value()

        return types.void(target, _INTEGER, _INTEGER, source, _INTEGER), build

    @intrinsic
    def dot(typing_context, target, place, source, row):
        def build(context, builder, signature, arguments):
            mine = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
            other = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
            total = builder.fmul(_loaded(builder, mine), _loaded(builder, other))
            width = WIDTH
            while width > 1:  # halves on each other, a fixed order on every machine
                width //= 2
                parts = [
                    builder.shuffle_vector(
                        total, total, ir.Constant(ir.VectorType(_LANE, width), list(range(start, start + width)))
                    )
                    for start in (0, width)
                ]
                total = builder.fadd(*parts)
            return builder.extract_element(total, ir.Constant(_LANE, 0))

        return types.float32(target, _INTEGER, source, _INTEGER), build
