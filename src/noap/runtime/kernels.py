"""How the compiled kernels are made, and how to watch them being compiled.

All of them share their options: Numba compiles what kernels have in common (NumPy's functions) once for each set.
"""

import contextlib
import functools
import gc
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from numba import njit
from numba.core import event
from numba.core.dispatcher import LiftedCode

from noap.errors import NoapWarning
from noap.runtime.parts import PartCompiler

__all__ = ["kernel", "part", "reached_from", "timed", "watched"]


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function that Python calls, on first use; kept in Numba's cache if there is a place for it."""
    # Divisions raise where the divisor is 0: what a proof rests on must not go on with an infinity.
    given: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True} | options
    made: Any = functools.partial(_cached, given)
    return made if function is None else made(function)


def _cached(options: dict[str, Any], function: Callable[..., Any]) -> Any:
    try:
        return njit(**({"cache": True} | options))(function)
    except RuntimeError as error:
        # Numba looks for a folder as soon as a function is made, and has no other name for finding none.
        if "cannot cache function" not in str(error):
            raise
        _warn_of_no_cache()
        return njit(**(options | {"cache": False}))(function)


@functools.cache
def _warn_of_no_cache() -> None:
    """Say once that nothing can be kept; every kernel would have the same to say."""
    warnings.warn(
        "Compiled kernels cannot be kept, for neither the installation nor the home folder can be written, so every "
        "process compiles them again: set NUMBA_CACHE_DIR to a folder that can be written.",
        NoapWarning,
        stacklevel=2,
    )


def part(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function that only other kernels call: without the code that would unpack Python's arguments."""
    return kernel(function, no_cpython_wrapper=True, pipeline_class=PartCompiler, **options)


def reached_from(entries: tuple[Any, ...]) -> set[Any]:
    """Return these kernels and all that they call, however deep."""
    found: set[Any] = set()
    waiting = list(entries)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            known = one.py_func.__globals__
            called = (known.get(name) for name in one.py_func.__code__.co_names)
            waiting += [other for other in called if hasattr(other, "py_func")]
    return found


@contextlib.contextmanager
def watched(entries: tuple[Any, ...], report: Callable[[int, int, str], None]) -> Iterator[None]:
    """Tell `report` of each kernel that is begun: how many are done, out of how many, and its name."""
    expected = reached_from(entries)
    listener = _Listener(expected, report)
    with event.install_listener("numba:compile", listener):
        yield


class _Listener(event.Listener):
    def __init__(self, expected: set[Any], report: Callable[[int, int, str], None]) -> None:
        self._left, self._total, self._report = set(expected), len(expected), report

    def on_start(self, event: Any) -> None:
        self._tell(event.data["dispatcher"])

    def on_end(self, event: Any) -> None:
        self._left.discard(event.data["dispatcher"])
        self._tell(event.data["dispatcher"])

    def _tell(self, dispatcher: Any) -> None:
        if dispatcher.py_func.__module__.startswith("noap."):
            self._report(self._total - len(self._left), self._total, dispatcher.py_func.__name__)


def timed(passed: Callable[[float], None]) -> "_Stopwatch":
    """Return a context that tells `passed` how many seconds each compilation took, with all that it had to compile."""
    return _Stopwatch(passed)


class _Stopwatch(event.Listener):
    # A context of its own class: that of a generator would cost the check of a tiny proof as much as one of its nodes.
    def __init__(self, passed: Callable[[float], None]) -> None:
        self._depth, self._began, self._passed = 0, 0.0, passed

    def __enter__(self) -> None:
        event.register("numba:compile", self)  # type: ignore[no-untyped-call]

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]

    def on_start(self, event: Any) -> None:
        if isinstance(event.data["dispatcher"], LiftedCode):
            return  # the lines of a kernel that are Python's: quick, and made again in every process
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        if isinstance(event.data["dispatcher"], LiftedCode):
            return
        self._depth -= 1
        if self._depth == 0:
            self._passed(time.perf_counter() - self._began)


class _Uncollected(event.Listener):
    """Python's garbage collector is off while a kernel of ours is compiled, and as it was before afterwards.

    It would go over all that Numba has made of the kernels so far, again and again, and find that most of it is still
    in use: a tenth of the seconds. Numba compiles under a lock, so that one count does for all threads.
    """

    def __init__(self) -> None:
        self._depth, self._enabled = 0, False

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            function = getattr(event.data["dispatcher"], "py_func", None)
            if not str(getattr(function, "__module__", "")).startswith("noap."):
                return
            self._enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        if self._depth > 0:
            self._depth -= 1
            if self._depth == 0 and self._enabled:
                gc.enable()


event.register("numba:compile", _Uncollected())  # type: ignore[no-untyped-call]
