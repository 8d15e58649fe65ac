"""Parts of kernels, which only other kernels call, for the tests to call from Python."""

import functools
from types import ModuleType
from typing import Any

from numba import njit


@functools.cache
def opened(one: Any) -> Any:
    """Return what Python can call instead of a part; of a module, one that has all of its parts so."""
    if isinstance(one, ModuleType):
        same = ModuleType(one.__name__)
        same.__dict__.update({name: opened(part) for name, part in vars(one).items() if hasattr(part, "py_func")})
        same.__dict__.update({name: value for name, value in vars(one).items() if name not in vars(same)})
        return same
    if not one.targetoptions.get("no_cpython_wrapper"):
        return one

    @njit
    def call(*arguments):
        return one(*arguments)

    return call
