"""Record where a result came from: machine, versions, commit."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from noap._version import __version__

__all__ = ["environment", "listed"]

_ABSENT = "not installed"
_PACKAGES = (
    "numpy",
    "scipy",
    "pyscipopt",
    "highspy",
    "gurobipy",
    "joblib",
    "distributed",
    "scikit-learn",
    "threadpoolctl",
    "polars",
)
_HERE = Path(__file__).resolve().parent


def environment() -> dict[str, str]:
    """Return machine, versions and commit of this process, as text by name.

    No path and no name of a host or a user is part of it: results are published.

    Examples
    --------
    >>> sorted(environment())[:3]
    ['commit', 'cores', 'cpu']
    """
    return dict(_environment())


@functools.cache
def _environment() -> dict[str, str]:
    found = {
        "noap": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
    }
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = _ABSENT
    return found


def listed(record: Mapping[str, str], *, without: Collection[str] = ()) -> str:
    """Return the entries of a record with their names, in its order; what is not installed is left out.

    Examples
    --------
    >>> listed({"noap": "0.1.0", "commit": "0123456789ab", "gurobipy": "not installed"}, without=["commit"])
    'noap 0.1.0'
    """
    return ", ".join(f"{name} {text}" for name, text in record.items() if text != _ABSENT and name not in without)


def _commit() -> str:
    """Return the commit of noap's own checkout; an installed package has none."""
    # A package installed inside somebody's repository is not tracked there: its commit is not ours.
    if _git("ls-files", "--error-unmatch", "../_version.py") is None:
        return "none (installed package)"
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", "..")
    return (commit or "unknown") + (" with uncommitted changes" if changed else "")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=_HERE, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    try:
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
