"""The house: what `import noap` may touch, who may import whom, and what is public."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import noap

SOURCE = Path(noap.__file__).parent
HEAVY = [
    "numba",
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


# Layers from the bottom up: a module may import its own layer's package and anything below it.
LAYERS = [
    ["errors", "_version", "linalg", "_compiled", "_kernels", "_files"],
    ["adversaries"],
    ["_validate", "_preprocess", "_moments", "problem", "metrics", "theory"],
    ["certificate"],
    ["stream", "result", "_controls", "_limits", "_progress", "_deflation", "_ties"],
    ["heuristics", "bounds"],
    ["exact", "mip"],
    ["_methods"],
    ["_solve"],
    ["_path", "estimator"],
    ["measuring"],
    ["experiments", "figures", "report"],
    ["bench"],
    ["cli"],
]
RANK = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room_of(path):
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_walls(path):
    room = room_of(path)
    names = imports(path)
    if room != "__init__":
        assert room in RANK, f"{room} has no layer"
        for name in names:
            if name.startswith("noap."):
                other = name.split(".")[1]
                # `import noap` itself is the facade, for the layers above it.
                if other in RANK and other != room:
                    assert RANK[other] < RANK[room] or (
                        RANK[other] == RANK[room] and not {room, other} <= {"heuristics", "bounds", "exact", "mip"}
                    ), f"{room} imports {other}"
        if "noap" in names:
            assert RANK[room] > RANK["_solve"], f"{room} imports the facade"
    roots = {name.split(".")[0] for name in names}
    where = path.relative_to(SOURCE).as_posix()
    if roots & set(SOLVERS):
        assert where.startswith("mip/backends/")
    if "numba" in roots:
        assert path.name == "_kernels.py" or path.name.startswith("_kernels")
    if roots & {"matplotlib", "plotly"}:
        assert room in ("figures", "report") or where in ("experiments/figures.py", "bench/figures.py")
    if any(name.startswith("sklearn.base") or name == "sklearn.utils" for name in names):
        assert room == "estimator"
    if room == "measuring":  # what is measured is no business of those who measure
        ours = {name for name in names if name.startswith("noap")}
        assert all(name.startswith(("noap._version", "noap._files", "noap.measuring")) for name in ours), ours
    if room == "theory":
        assert not {name for name in names if name.startswith("noap.")} - {
            name for name in names if name.startswith(("noap.theory", "noap.errors", "noap.linalg"))
        }


def test_no_file_is_too_long():
    for path in SOURCE.rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 600, f"{path.name} has {lines} lines"


# Each is written once, in noap/measuring: tables, the record of machine and commit, fresh processes.
MACHINERY = ["---|", "csv.writer", "DictWriter", "write_csv", "read_csv", "cpuinfo", "rev-parse", "subprocess.run("]


def test_measuring_has_one_machinery():
    folders = [SOURCE / "bench", SOURCE / "experiments", Path(__file__).parent.parent / "benchmarks"]
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in MACHINERY if word in text], path


# What the checker may use beside its own files: the validated problem, and elementary helpers.
CHECKER = ["_compiled", "_files", "_validate", "adversaries", "errors", "linalg.outward", "linalg.types", "problem"]


def test_the_checker_uses_no_code_that_finds_answers():
    for path in (SOURCE / "certificate").glob("*.py"):
        for name in imports(path):
            if name.startswith("noap."):
                used = name.removeprefix("noap.")
                allowed = used in ("certificate", "linalg") or used.startswith(("certificate.", *CHECKER))
                assert allowed, f"{path.name} imports {name}"
