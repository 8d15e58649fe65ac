"""Parts of kernels are compiled as code to link, not to run, and do in kernels what their lines say."""

import ctypes
import os
import subprocess
import sys

import pytest

from noap.runtime import parts
from noap.runtime.kernels import kernel, part


def inverse(x):
    if x < 0.0:
        raise ValueError("What is below 0 has none here.")
    return 1.0 / x


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def inner(x):
    return inverse(x) + 1.0


def outer(x):
    return inner(x) * 2.0


def runnable(dispatcher):
    """Whether there is machine code of a kernel or part."""
    (compiled,) = dispatcher.overloads.values()
    return compiled.codegen._engine.is_symbol_defined(compiled.fndesc.llvm_func_name)


@pytest.fixture
def chain(monkeypatch):
    for function in (inverse, inner):
        monkeypatch.setitem(outer.__globals__, function.__name__, part(function, cache=False))
    return kernel(outer, cache=False), inner, inverse


@pytest.mark.parametrize("known", [True, False])
def test_only_kernels_become_machine_code_where_numba_is_known(monkeypatch, chain, known):
    monkeypatch.setattr(parts, "_READY", known)
    assert chain[0](4.0) == 2.5
    assert [runnable(one) for one in (chain[0], inner, inverse)] == [True, not known, not known]


def test_what_a_part_raises_reaches_python(chain):
    with pytest.raises(ValueError, match="What is below 0 has none here"):
        chain[0](-1.0)
    with pytest.raises(ZeroDivisionError):
        chain[0](0.0)


def test_a_part_may_call_itself(monkeypatch):
    monkeypatch.setitem(outer.__globals__, "factorial", part(factorial, cache=False))
    monkeypatch.setitem(outer.__globals__, "inner", factorial)
    assert kernel(outer, cache=False)(5) == 240.0


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
def at_an_address(x):
    return x + 0.5


def addressed(x):
    return at_an_address(x)


def test_a_part_may_hold_an_address_of_this_process(monkeypatch):
    monkeypatch.setitem(outer.__globals__, "inner", one := part(addressed, cache=False))
    assert kernel(outer, cache=False)(1.0) == 3.0
    (compiled,) = one.overloads.values()
    assert compiled.library.has_dynamic_globals  # so that Numba does not keep it


# One process compiles the first kernel, the next one the second, with the parts that the first has left in the cache.
SHARED = """
import sys
from numba import objmode
from noap.runtime.kernels import kernel, part

def asked():
    return 0.25

@part(nogil=False)
def slow(x):
    with objmode(found="float64"):
        found = asked()
    return found + x

@part
def checked(x):
    if x < 0.0:
        raise ValueError("below 0")
    return slow(x) / x

@kernel
def first(x):
    return checked(x)

@kernel
def second(x):
    return checked(x) + slow(x)

if sys.argv[1] == "first":
    assert first(0.5) == 1.5
else:
    assert second(0.5) == 2.25
    try:
        second(-1.0)
        raise SystemExit("not raised")
    except ValueError as error:
        assert str(error) == "below 0"
print(*(sum(one.stats.cache_hits.values()) for one in (first, second, checked, slow)))
"""


def test_a_part_from_the_cache_goes_into_another_kernel(tmp_path):
    (tmp_path / "shared.py").write_text(SHARED, encoding="utf-8")
    said = {}
    for turn in ("first", "second", "second again"):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "shared.py"), turn.split()[0]],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said[turn] = done.stdout.split()
    assert said == {"first": ["0"] * 4, "second": ["0", "0", "1", "1"], "second again": ["0", "1", "0", "0"]}
