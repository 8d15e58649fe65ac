"""An installation that cannot be written, for a user without a home: a container as people run it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import noap

SOURCE = Path(noap.__file__).parent
# Every kernel is made, which is when Numba looks for a place; one small one is compiled and run.
PROGRAM = """
import importlib, json, pkgutil, sys, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import noap
    import noap.exact, noap.heuristics, noap.checker
    for module in pkgutil.walk_packages(noap.__path__, "noap."):
        if ".kernels." in module.name:
            importlib.import_module(module.name)
    from noap.exact.feature_wise.kernels import worth
    from noap.runtime.compilation import is_compiled
    from noap.runtime.kernels import kernel
    @kernel
    def twice(x):
        return 2 * x
    before = is_compiled(twice)
    answer = twice(21)
print(json.dumps({
    "file": noap.__file__, "answer": answer, "before": before, "after": is_compiled(twice),
    "told": [[w.category.__name__, str(w.message)] for w in told],
}))
"""


@pytest.fixture
def installed(tmp_path):
    """A copy whose folders of compiled code cannot be made, not even by root: files stand in their place."""
    copy = tmp_path / "site" / "noap"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("in the way")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "__pycache__").write_text("in the way")
    return tmp_path


def _run(installed, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE")}
    home = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(installed / "program.py")],
        env=kept | home | {"PYTHONPATH": str(installed / "site")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_kernels_are_compiled_in_memory_and_one_warning_says_what_to_set(installed):
    found = _run(installed)
    assert Path(found["file"]).is_relative_to(installed)
    assert found["answer"] == 42
    assert (found["before"], found["after"]) == (False, True)
    ours = [message for category, message in found["told"] if category == "NoapWarning"]
    assert len(ours) == 1
    assert "NUMBA_CACHE_DIR" in ours[0]


def test_a_folder_in_numba_cache_dir_is_used_without_a_word(installed):
    folder = installed / "cache"
    found = _run(installed, NUMBA_CACHE_DIR=str(folder))
    assert found["answer"] == 42
    assert not [message for category, message in found["told"] if category == "NoapWarning"]
    assert list(folder.rglob("*.nbi"))
