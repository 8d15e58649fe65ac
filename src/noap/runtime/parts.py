# mypy: disable-error-code="no-untyped-call"
"""How what only kernels call is compiled: as code to link into kernels, not as code to run.

Numba optimises each function and makes machine code of it, and optimises all of it again in every kernel that it is
linked into. Of a part nobody would run that machine code, so that it is left as it is written until a kernel takes it.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["PartCompiler"]

# What this relies on is not for others by Numba's own rules: a Numba without it compiles parts as it does all else.
_NEEDED = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_get_compiled_object")
_READY = all(hasattr(JITCodeLibrary, name) for name in _NEEDED)
# How Numba's names of these global variables begin.
_ENVIRONMENT, _RECURSION, _ADDRESS = "_ZN08NumbaEnv", ".numba.unresolved$", "numba.dynamic.globals"


class PartCompiler(Compiler):
    """Numba's compiler, for parts of kernels."""

    def define_pipelines(self) -> Any:
        """Return Numba's passes, and have them write into a library of ours."""
        # What is Python's within a part (an `objmode` block) is called from Python, and ready to run.
        if _READY and self.state.flags.no_cpython_wrapper and not self.state.flags.force_pyobject:
            self.state.library = _ToLink(self.state.targetctx, self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
        return super().define_pipelines()


class _ToLink(JITCodeLibrary):
    """The code of a part and of all that it calls."""

    def __init__(self, context: Any, name: str) -> None:
        super().__init__(context.codegen(), name)
        self._context = context

    def _names(self, prefix: str) -> list[str]:
        return [one.name for one in self._final_module.global_variables if one.name.startswith(prefix)]

    def _optimize_final_module(self) -> None:
        # Numba keeps nothing that holds an address of this process; where it is of no use, the optimiser drops it.
        if self._names(_ADDRESS):
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._names(_RECURSION):  # Numba looks up a function that calls itself among what is ready to run
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        # Only the places of environments are made ready, which Numba fills in: now, and when this comes from its cache.
        whole, ready = self._final_module, self._codegen.create_library(self.name)
        module = ready.create_ir_module(self.name)
        for name in self._names(_ENVIRONMENT):
            self._context.declare_env_global(module, name)
        ready.add_ir_module(module)
        self._final_module = ready._final_module
        super()._finalize_final_module()
        self._final_module = whole
