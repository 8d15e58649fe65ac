"""What the compiled kernels share, and what each of them must not do again for itself."""

import ast
from pathlib import Path

import numpy as np
import pytest

import noap
from noap.checker.kernels import largest as checking
from noap.heuristics.kernels import largest as searching

SOURCE = Path(noap.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("kernels/*.py") if path.name != "__init__.py")


def insertions(path):
    """The loops that shift entries towards the end while they are smaller: while place > 0 and x[place - 1] < ..."""
    for loop in (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.While)):
        tests = [node for node in ast.walk(loop.test) if isinstance(node, ast.Compare)]
        falls = [test for test in tests if isinstance(test.ops[0], ast.Lt) and isinstance(test.left, ast.Subscript)]
        moved = any(isinstance(line, ast.AugAssign) and isinstance(line.op, ast.Sub) for line in ast.walk(loop))
        sorts = any(isinstance(test.ops[0], ast.GtE) for test in tests)
        if falls and moved and not sorts:  # Shell's sort goes in gaps
            yield loop


def test_the_largest_are_kept_in_one_place_per_side():
    found = {path.relative_to(SOURCE).as_posix() for path in FILES for _ in insertions(path)}
    assert found == {"heuristics/kernels/largest.py", "checker/kernels/largest.py"}


@pytest.mark.parametrize("most", [0, 1, 2, 5, 9])
def test_the_largest_are_kept(monkeypatch, most):
    monkeypatch.setattr(searching, "keep", searching.keep.py_func)
    rng = np.random.default_rng(most)
    for count in (0, 1, 2, 7, 40):
        x = rng.integers(0, 9, count).astype(float)  # with ties
        expected = np.argsort(-x, kind="stable")[:most]
        top, names, best, held = np.full(most, np.nan), np.full(most + 3, -1), np.full(most, np.nan), 0
        for seen in range(count):
            searching.keep_name.py_func(x[seen], seen, top, names, 2, seen, most)
            held = checking.insert.py_func(x[seen], best, held, most)
        assert held == min(count, most)
        np.testing.assert_array_equal(top[:held], x[expected])
        np.testing.assert_array_equal(best[:held], x[expected])
        # Of equal ones the first is in front, and nothing else is written to.
        np.testing.assert_array_equal(names, [-1, -1, *expected, *[-1] * (most - held), -1])
