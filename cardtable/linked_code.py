"""Compiled functions that only compiled functions call, without machine code of their own.

numba gives every function machine code. Whoever calls it has that code linked in, optimised again and mostly inlined:
what was emitted for a function that Python never calls is never run, and took an eighth of compilation. Here such a
function stays what callers need, LLVM's optimised bitcode, in memory and in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult


class LinkedCode(JITCodeLibrary):
    """The code of a function, to be linked into that of others."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # as numba has it for what is not defined

    @property
    def codegen(self) -> Any:
        return _NothingToSet()

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        self._ensure_finalized()
        return self.name, self._final_module.as_bitcode()


class _NothingToSet:
    """Where numba tells machine code of its environment; there is none, callers have their own."""

    def set_env(self, name: str, environment: Any) -> None: ...


class LinkedCodeCompiler(Compiler):
    """numba's compiler, for `njit(pipeline_class=...)`."""

    def compile_extra(self, func: Callable) -> CompileResult:
        self.state.library = LinkedCode(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class LinkedCodeCache(CompileResultCacheImpl):
    """What is written to a cache file, and read."""

    def rebuild(self, target_context: Any, payload: tuple) -> CompileResult:
        (name, bitcode), fndesc, environment, *rest, referenced = payload
        signature, object_mode, lifted, annotation, reload_init = rest
        for function in reload_init:
            function()
        library = LinkedCode(target_context.codegen(), name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return CompileResult(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=target_context.get_executable(library, fndesc, environment),
            typing_error=None,
            type_annotation=annotation,
            signature=signature,
            objectmode=object_mode,
            lifted=lifted,
            fndesc=fndesc,
            library=library,
            call_helper=None,
            environment=environment,
            metadata=None,
            reload_init=reload_init,
            referenced_envs=referenced,
        )
