"""Two hints for the hottest compiled loops. Neither changes what a program computes; in plain Python both do nothing.

`borrowed(array)` is the same array without an owner, `borrowed(arrays)` the same for a tuple of them. numba counts
references to every array that a compiled function receives, with locked instructions, at every call; an array without
an owner is not counted. The caller must keep the array itself for as long as the borrowed one is used, so: borrow
arguments, at the top of an entry point.

`prefetch(array, index)` asks the processor to fetch the cache line of `array[index]`, which need not be awaited.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from cardtable.compiled import JIT_DISABLED

if JIT_DISABLED:

    def borrowed(array):
        return array

    def prefetch(array, index):
        pass

else:

    def _without_owner(context: Any, builder: Any, array_type: Any, value: Any) -> Any:
        array = arrayobj.make_array(array_type)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()

    @intrinsic
    def borrowed(typing_context, array):
        def build(context, builder, signature, arguments):
            if isinstance(array, types.BaseTuple):
                values = cgutils.unpack_tuple(builder, arguments[0])
                parts = [_without_owner(context, builder, *part) for part in zip(array.types, values, strict=True)]
                return context.make_tuple(builder, array, parts)
            return _without_owner(context, builder, array, arguments[0])

        return array(array), build

    @intrinsic
    def prefetch(typing_context, array, index):
        def build(context, builder, signature, arguments):
            source = arrayobj.make_array(array)(context, builder, arguments[0])
            address = builder.gep(source.data, [arguments[1]])
            address = builder.bitcast(address, cgutils.voidptr_t)
            number = ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number]),
                "llvm.prefetch.p0",
            )
            for_reading, keep_in_all_caches, data = 0, 3, 1
            builder.call(function, [address, number(for_reading), number(keep_in_all_caches), number(data)])
            return context.get_dummy_value()

        return types.none(array, types.int64), build
