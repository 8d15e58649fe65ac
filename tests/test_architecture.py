"""What `import noap` may touch, who may import whom (docs/architecture.md), and what is public."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noap

SOURCE = Path(noap.__file__).parent
HEAVY = [
    "scipy.sparse",
    "scipy.linalg",
    "sklearn",
    "matplotlib",
    "plotly",
    "polars",
    "pyarrow",
    "pandas",
    "joblib",
    "dask",
    "distributed",
    "typer",
    "rich",
]
SOLVERS = ["pyscipopt", "highspy", "gurobipy"]


def test_import_is_light():
    code = f"import sys, noap; print([m for m in {HEAVY + SOLVERS!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_everything_public_is_there_and_sorted():
    assert list(noap.__all__) == sorted(noap.__all__)
    for name in noap.__all__:
        assert getattr(noap, name) is not None
    assert set(noap.__all__) <= set(dir(noap))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = noap.nonsense


def imports(path):
    """Every module that a file names in an import, wherever it stands in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


PAGE = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")


def table_under(heading):
    """The rows of the first table under a heading of docs/architecture.md, as lists of cells."""
    lines = PAGE.split(f"## {heading}\n", 1)[1].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


# From the bottom up; packages of one layer that a bar separates do not import each other.
LAYERS = [[re.findall(r"`(\w+)`", part) for part in row[0].split(r"\|")] for row in table_under("The layers")]
RANK = {package: level for level, parts in enumerate(LAYERS) for part in parts for package in part}
APART = [{package for part in parts for package in part} for parts in LAYERS if len(parts) > 1]


def named_under(heading):
    """The modules of noap that the first column of such a table names."""
    return [name for row in table_under(heading) for name in re.findall(r"`noap\.([\w.]+)`", row[0])]


# What the kernel may use beside its own files.
KERNEL = named_under("What the kernel may import")


def package_of(path):
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def test_the_page_knows_every_package():
    assert {package_of(path) for path in SOURCE.rglob("*.py")} - {"__init__"} == set(RANK)


def test_the_page_names_files_that_are_there():
    for name in re.findall(r"`([\w/]+\.py)`", PAGE):
        assert list(SOURCE.rglob(name)) or (Path(__file__).parent.parent / name).exists(), name
    for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*/)`", PAGE):
        assert [path for path in SOURCE.rglob("*") if path.is_dir() and f"{path.as_posix()}/".endswith(f"/{name}")] or (
            Path(__file__).parent.parent / name
        ).is_dir(), name


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_layers(path):
    package = package_of(path)
    names = imports(path)
    if package != "__init__":
        for name in names:
            if name.startswith("noap."):
                other = name.split(".")[1]
                # `import noap` itself is the facade, for the layers above it.
                if other in RANK and other != package:
                    beside = RANK[other] == RANK[package] and not any({package, other} <= apart for apart in APART)
                    assert RANK[other] < RANK[package] or beside, f"{package} imports {other}"
        if "noap" in names:
            assert RANK[package] > RANK["solving"], f"{package} imports the facade"
    roots = {name.split(".")[0] for name in names}
    where = path.relative_to(SOURCE).as_posix()
    if roots & set(SOLVERS):
        assert where.startswith("mip/backends/")
    if roots & {"matplotlib", "plotly"}:
        assert package in ("figures", "report") or where == "experiments/figures.py"
    if any(name.startswith("sklearn.base") or name == "sklearn.utils" for name in names):
        assert package == "estimators"
    if package == "theory":
        assert not {name for name in names if name.startswith("noap.")} - {
            name for name in names if name.startswith(("noap.theory", "noap.errors", "noap.linalg"))
        }


def test_what_proves_uses_no_code_that_finds_answers():
    for path in sorted((SOURCE / "kernel").rglob("*.py")):
        for name in imports(path):
            if name.startswith("noap."):
                used = name.removeprefix("noap.")
                allowed = used.startswith(("kernel", *KERNEL)) or any(one.startswith(f"{used}.") for one in KERNEL)
                assert allowed, f"{path.name} imports {name}"


def test_the_kernel_needs_numpy_and_lapack_alone():
    for path in sorted((SOURCE / "kernel").glob("*.py")):
        for name in imports(path):
            root = name.split(".")[0]
            assert root in (*sys.stdlib_module_names, "numpy", "noap") or name.startswith("scipy.linalg.lapack"), name


def test_no_file_is_too_long():
    for path in SOURCE.rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 600, f"{path.name} has {lines} lines"


def test_the_package_knows_nothing_of_the_benchmarks():
    for path in SOURCE.rglob("*.py"):
        assert not [name for name in imports(path) if name.startswith("benchmarks")], path
