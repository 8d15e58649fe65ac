"""Mutation testing of the kernel: one rounding term, margin, comparison or condition is changed at a time.

    python tests/kernel/mutants.py FILE [--lines n,n,...] [--list]

prints each mutant of a file that the kernel's tests do not notice, and how many there were. Tests are loaded and run
once; then every mutant is made in a process of its own, in memory, and meets those tests that run the changed
line, quick ones and those that noticed other mutants first.
"""

import argparse
import ast
import contextlib
import copy
import json
import os
import signal
import sys
import time
import types
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = HERE.parents[1] / "src" / "noap" / "kernel"
# The tests that are about each file. What is not here decides nothing: witness.py holds data, explain.py words, and
# limited.py starts a process that runs verify.py.
TESTS = {
    "arithmetic": ["arithmetic", "cancelled"],
    "data": ["data", "lengths_and_levels", "cancelled", "directions", "conflicts", "metric_rule", "list"],
    "cancelled": ["cancelled"],
    "definite": ["dominance", "matrix"],
    "directions": ["directions"],
    "majorant": ["majorant", "elimination", "directions", "metric_rule", "conflicts"],
    "envelope": ["envelope", "metric_rule", "directions", "../joint/test_rule_w"],
    "metric": ["metric_rule"],
    "samples": ["samples"],
    "conflicts": ["conflicts", "small_claims"],
    "packing": ["../joint/test_rule_w"],
    "tree": ["tree", "lengths_and_levels", "list", "conflicts", "small_claims"],
    "verify": ["certificate", "kernel_tampering", "list", "../joint/test_rule_w", "metric_rule"],
    "certificate": ["certificate", "kernel_tampering", "../joint/test_rule_w", "metric_rule"],
    "schema": ["certificate", "kernel_tampering", "two_checkers", "samples", "../joint/test_rule_w"],
    "container": ["container", "certificate", "kernel_tampering"],
    "claim": ["certificate", "kernel_tampering", "two_checkers", "metric_rule"],
}
SECONDS = 240  # for one mutant
OPPOSITE = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "all": "any", "any": "all"}
STRICT = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def changes(tree):
    """Yield (node, what, replacement); the node is one of the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
            if name == "gamma":
                yield node, "no gamma", ast.Constant(0.0)
            if name == "abs":
                yield node, "no abs", node.args[0]
            several = len(node.args) + len(node.keywords) + isinstance(node.func, ast.Attribute) > 1
            if name in OPPOSITE and (several or name in ("all", "any")):
                yield node, f"{name} -> {OPPOSITE[name]}", _renamed(node, OPPOSITE[name])
            if name == "need":
                for part in _parts(node.args[0]):
                    yield part, "condition dropped", ast.Constant(True)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in ("U", "TINY"):
            yield node, f"no {node.id}", ast.Constant(0.0)
        elif isinstance(node, ast.Compare):
            for at, operator in enumerate(node.ops):
                if type(operator) in STRICT:
                    made = copy.deepcopy(node)
                    made.ops[at] = STRICT[type(operator)]()
                    yield node, "strictness", made
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            made = copy.deepcopy(node)
            made.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield node, "sign", made
            for side, other in (("left", "right"), ("right", "left")):
                if isinstance(getattr(node, side), ast.Constant):
                    yield node, f"{ast.unparse(getattr(node, side))} dropped", getattr(node, other)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for side, other in (("left", "right"), ("right", "left")):
                if isinstance(getattr(node, side), ast.Constant):
                    yield node, f"factor {ast.unparse(getattr(node, side))} dropped", getattr(node, other)
        elif isinstance(node, ast.Raise):
            yield node, "not raised", ast.Pass()
        elif isinstance(node, ast.IfExp):
            yield node, "always the first", node.body
            yield node, "always the second", node.orelse
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield node.test, "never", ast.Constant(False)


def _renamed(call, name):
    made = copy.deepcopy(call)
    setattr(made.func, "id" if isinstance(made.func, ast.Name) else "attr", name)
    return made


def _parts(condition):
    return condition.values if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And) else [condition]


class _Exchange(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return ast.copy_location(self.new, node) if node is self.old else super().generic_visit(node)


def _lines(tree):
    """Return the first and the last line of the statement, or the head of a compound one, that each node is in."""
    found = {}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            body = getattr(statement, "body", None)
            last = body[0].lineno - 1 if body else statement.end_lineno
            found.update((id(node), (statement.lineno, max(last, statement.lineno))) for node in ast.walk(statement))
    return found  # inner statements come later


def mutants(name):
    """Yield (first and last line, what was changed in which source, changed source)."""
    text = (KERNEL / f"{name}.py").read_text()
    count = sum(1 for _ in changes(ast.parse(text)))
    for number in range(count):
        tree = ast.parse(text)
        lines = _lines(tree)
        node, what, new = next(x for i, x in enumerate(changes(tree)) if i == number)
        about = f"{what}: {ast.unparse(node)[:90]}"
        yield lines[id(node)], about, ast.unparse(ast.fix_missing_locations(_Exchange(node, new).visit(tree)))


def _exchange(module, source):
    """Give the functions of a module the code of another source: whoever imported them runs that."""
    made = {"__name__": module.__name__}
    exec(compile(source, module.__file__, "exec"), made)

    def exchange(old, new):
        if isinstance(old, types.FunctionType) and old.__code__.co_filename == module.__file__:
            old.__code__ = new.__code__
        elif isinstance(old, property):
            exchange(old.fget, new.fget)
        elif isinstance(old, classmethod):
            exchange(old.__func__, new.__func__)
        elif isinstance(old, type) and old.__module__ == module.__name__:
            for name in vars(old):
                if name in vars(new):
                    exchange(vars(old)[name], vars(new)[name])
        elif isinstance(old, int | float):
            return new
        return old

    for name in list(vars(module)):
        if name in made:
            vars(module)[name] = exchange(vars(module)[name], made[name])


def _in_a_child(work, seconds):
    """Return what the work returns in a process of its own, or None if that ends otherwise."""
    readable, writable = os.pipe()
    child = os.fork()
    if child:
        os.close(writable)
        with open(readable, "rb") as answer:
            told = answer.read()
        os.waitpid(child, 0)
        return json.loads(told) if told else None
    try:
        signal.alarm(seconds)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os.write(writable, json.dumps(work()).encode())
    finally:
        os._exit(0)


class _Tests:
    """The tests of one file: which lines of it each one runs, how long it takes, and how many mutants it noticed."""

    def __init__(self, name, given):
        self.name, self.given = name, given
        self.path = str(KERNEL / f"{name}.py")

    def pytest_runtestloop(self, session):
        """Run all tests once with the file as it is; then those that run a changed line, for each mutant."""
        self.items = {item.nodeid: item for item in session.items}
        seen = _in_a_child(self._look, 10 * SECONDS)
        if not seen:
            raise SystemExit(f"The tests of {self.name} fail as it is.")
        seconds, noticed = {name: one for name, (_, one) in seen.items()}, dict.fromkeys(seen, 0)
        done = alive = 0
        for (first, last), about, source in mutants(self.name):
            if self.given.lines and first not in self.given.lines:
                continue
            done += 1
            here = [name for name, (lines, _) in seen.items() if any(first <= line <= last for line in lines)]
            here.sort(key=lambda name: seconds[name] / (1 + 3 * noticed[name]))
            by = _in_a_child(lambda here=here, source=source: self._noticed_by(here, source), SECONDS) if here else ""
            if by == "":
                alive += 1
                print(f"{self.name}.py:{first} {about}" + ("" if here else " (no test comes here)"), flush=True)
            elif by is None:
                print(f"{self.name}.py:{first} {about}: ended without an answer", file=sys.stderr, flush=True)
            else:
                noticed[by] += 1
        print(f"{self.name}.py: {done} mutants, {alive} survived", flush=True)
        return True

    def _look(self):
        """Return which lines of the file each test runs, and how many seconds it takes; nothing if one fails."""
        found, names = {}, list(self.items)
        for name, following in zip(names, [*names[1:], None], strict=True):
            lines, started = set(), time.process_time()
            if not self._passes(name, following, lines):
                return None
            found[name] = sorted(lines), time.process_time() - started
        return found

    def _noticed_by(self, names, source):
        """Return the first of the tests that fails with the changed source, or an empty string."""
        _exchange(sys.modules[f"noap.kernel.{self.name}"], source)
        following = zip(names, [*names[1:], None], strict=True)
        return next((name for name, after in following if not self._passes(name, after)), "")

    def _passes(self, name, following, lines=None):
        """Run one test; where lines are asked for, add those of the file that it comes to."""
        item, after = self.items[name], self.items.get(following)

        def local(frame, event, argument):
            lines.add(frame.f_lineno)
            return local

        def trace(frame, event, argument):
            return local(frame, event, argument) if frame.f_code.co_filename == self.path else None

        self.failed = False
        if lines is not None:
            sys.settrace(trace)
        with contextlib.suppress(BaseException):  # whatever a mutant raises, -x included
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        sys.settrace(None)
        return not self.failed

    def pytest_runtest_logreport(self, report):
        """Note a failure."""
        self.failed |= report.failed


def main():
    """Run all mutants, or those of some lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", choices=TESTS)
    parser.add_argument("--lines", type=lambda text: {int(one) for one in text.split(",")})
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list:
        for (first, _), about, _ in mutants(given.file):
            print(f"{given.file}.py:{first} {about}")
        return
    files = [str((HERE / (one + ".py" if "/" in one else f"test_{one}.py")).resolve()) for one in TESTS[given.file]]
    raise SystemExit(pytest.main(["-s", "-q", "-p", "no:cacheprovider", *files], plugins=[_Tests(given.file, given)]))


if __name__ == "__main__":
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    main()
