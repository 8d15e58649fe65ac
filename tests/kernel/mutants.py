"""Mutation testing of the kernel: one rounding term, margin, comparison or condition is changed at a time.

    python tests/kernel/mutants.py [file ...] [--part i/n] [--list]

prints each mutant that the kernel's tests do not notice, and how many there were in each file. A process of its own
runs the tests of each, with the changed source in place of the file's; nothing is written. All of it takes about an
hour of one core.
"""

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import io
import json
import os
import signal
import sys
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = HERE.parents[1] / "src" / "noap" / "kernel"
# The tests that are about each file, those that notice most first. What is not here decides nothing: witness.py holds
# data, explain.py words, and limited.py starts a process that runs verify.py.
TESTS = {
    "arithmetic": ["arithmetic", "cancelled"],
    "data": ["data", "lengths_and_levels", "cancelled", "directions"],
    "cancelled": ["cancelled"],
    "definite": ["dominance", "matrix"],
    "directions": ["directions"],
    "majorant": ["majorant", "elimination", "directions"],
    "envelope": ["envelope"],
    "samples": ["samples"],
    "tree": ["tree", "lengths_and_levels"],
    "verify": ["certificate", "kernel_tampering"],
    "certificate": ["certificate", "kernel_tampering"],
    "schema": ["certificate", "kernel_tampering", "two_checkers"],
    "container": ["container", "certificate", "kernel_tampering"],
    "claim": ["certificate", "kernel_tampering", "two_checkers"],
}
SECONDS = 240
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
            if name in OPPOSITE and len(node.args) + len(node.keywords) + isinstance(node.func, ast.Attribute) > 1:
                made = copy.deepcopy(node)
                if isinstance(made.func, ast.Name):
                    made.func.id = OPPOSITE[name]
                else:
                    made.func.attr = OPPOSITE[name]
                yield node, f"{name} -> {OPPOSITE[name]}", made
            elif name in ("all", "any"):
                made = copy.deepcopy(node)
                made.func.attr = OPPOSITE[name]
                yield node, f"{name} -> {OPPOSITE[name]}", made
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
        elif isinstance(node, ast.If):
            yield node.test, "never", ast.Constant(False)


def _parts(condition):
    return condition.values if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And) else [condition]


class _Exchange(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return ast.copy_location(self.new, node) if node is self.old else super().generic_visit(node)


def mutants(name):
    """Yield (line, what was changed in which source, changed source)."""
    text = (KERNEL / f"{name}.py").read_text()
    count = sum(1 for _ in changes(ast.parse(text)))
    for number in range(count):
        tree = ast.parse(text)
        node, what, new = next(x for i, x in enumerate(changes(tree)) if i == number)
        about = f"{what}: {ast.unparse(node)[:90]}"
        line = node.lineno
        yield line, about, ast.unparse(ast.fix_missing_locations(_Exchange(node, new).visit(tree)))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from changed source."""

    def __init__(self, module, source):
        self.module, self.source = module, source

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.module else None

    def exec_module(self, module):
        exec(compile(self.source, self.module, "exec"), module.__dict__)


class _Order:
    """Runs tests that are quick, and those that noticed other mutants, before the others."""

    def __init__(self):
        self.seconds, self.noticed = {}, {}

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda one: self.seconds.get(one.nodeid, 0.0) / (1 + self.noticed.get(one.nodeid, 0)))

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.seconds[report.nodeid] = report.duration
        if report.failed:
            self.noticed[report.nodeid] = 1 + self.noticed.get(report.nodeid, 0)


def survives(name, source, order):
    """Whether all tests pass with the changed source, in a child process."""
    readable, writable = os.pipe()
    child = os.fork()
    if child:
        os.close(writable)
        with open(readable, "rb") as answer:
            told = answer.read()
        if told:
            order.seconds, order.noticed = json.loads(told)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    try:
        signal.alarm(SECONDS)
        sys.meta_path.insert(0, _Finder(f"noap.kernel.{name}", source))
        files = [str(HERE / f"test_{one}.py") for one in TESTS[name]]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files], plugins=[order]))
        os.write(writable, json.dumps([order.seconds, order.noticed]).encode())
    except BaseException as error:  # whatever happens here, the child must not go on with the parent's loop
        print(repr(error), file=sys.__stderr__)
    finally:
        os._exit(code)


def main():
    """Run all mutants, or a part of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=list(TESTS))
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    for name in given.files:
        order = _Order()
        if not given.list and not survives(name, (KERNEL / f"{name}.py").read_text(), order):
            raise SystemExit(f"The tests of {name} fail as it is.")
        done = alive = 0
        for number, (line, about, source) in enumerate(mutants(name)):
            if number % parts != part:
                continue
            done += 1
            if given.list or survives(name, source, order):
                alive += 1
                print(f"{name}.py:{line} {about}", flush=True)
        print(f"{name}.py: {done} mutants" + ("" if given.list else f", {alive} survived"), flush=True)


if __name__ == "__main__":
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import hypothesis  # noqa: F401  # loaded once, before any fork
    import numpy  # noqa: F401
    import pytest
    import scipy.linalg  # noqa: F401

    main()
