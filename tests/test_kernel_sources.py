"""What the sources of the kernels say of themselves, and what each of them must not do again for itself."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import noap
from noap.checker.kernels import largest as checking
from noap.heuristics.kernels import largest as searching

SOURCE = Path(noap.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("kernels/*.py") if path.name != "__init__.py")

DOCS = Path(__file__).parent.parent / "docs"
# The kernels that take a step of a proof, or prove it again; what both halves of the checker share is no step.
STEPS = [path for path in FILES if re.match(r"(exact|checker)/\w+/kernels/", path.relative_to(SOURCE).as_posix())]
# Step 2, Propagation, of docs/exact.md; "Nodes" of docs/exact.md.
CITED = re.compile(r"(?:(?:(Step )|Section )(\d+), ([^,]*),|\"([^\"]*)\") of (docs/exact\.md)")


def headings(page):
    """The headings of a page, without the files that they name."""
    lines = re.findall(r"(?m)^##+ (.*)$", (DOCS.parent / page).read_text(encoding="utf-8"))
    return {re.sub(r" \(`.*\)$", "", line) for line in lines}


def citations(text):
    """What a docstring cites, as (heading, page)."""
    for step, number, title, plain, page in CITED.findall(" ".join((text or "").split())):
        yield (f"{step}{number}. {title}" if number else plain), page


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_every_kernel_cites_the_step_it_takes(path):
    module = ast.parse(path.read_text(encoding="utf-8"))
    for_all = list(citations(ast.get_docstring(module)))
    for function in (node for node in module.body if isinstance(node, ast.FunctionDef)):
        decorators = {ast.unparse(one).split("(")[0] for one in function.decorator_list}
        assert decorators & {"kernel", "part"}, f"{function.name} is not compiled"
        cited = [*for_all, *citations(ast.get_docstring(function))]
        assert cited, f"{function.name} cites no step"
        for heading, page in cited:
            assert heading in headings(page), f"{function.name}: {page} has no heading {heading!r}"


def test_every_step_has_a_kernel_in_the_search_and_one_in_the_checker():
    cited = {side: set() for side in ("exact", "checker")}
    for path in STEPS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.FunctionDef)):
                cited[path.relative_to(SOURCE).parts[0]] |= set(citations(ast.get_docstring(node)))
    steps = {(heading, "docs/exact.md") for heading in headings("docs/exact.md") if heading.startswith("Step ")}
    branching = {("Step 6. Branching", "docs/exact.md")}  # proves nothing, so there is nothing to check
    assert steps <= cited["exact"]
    assert steps - branching <= cited["checker"]


def insertions(path):
    """The loops that shift entries towards the end while they are smaller: while place > 0 and x[place - 1] < ..."""
    for loop in (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.While)):
        tests = [node for node in ast.walk(loop.test) if isinstance(node, ast.Compare)]
        falls = [test for test in tests if isinstance(test.ops[0], ast.Lt) and "[" in ast.unparse(test.left)]
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
