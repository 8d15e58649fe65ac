"""Where a result came from: versions, machine, commit."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from noap._version import __version__

__all__ = ["environment"]

_PACKAGES = ("numpy", "scipy", "numba", "pyscipopt", "highspy", "gurobipy", "joblib", "distributed")
_HERE = Path(__file__).resolve().parent


@functools.cache
def environment() -> dict[str, str]:
    """Return versions, machine and commit of this process, as text by name; asked once per process.

    Examples
    --------
    >>> sorted(environment())[:3]
    ['commit', 'cores', 'cpu']
    """
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
            found[package] = "not installed"
    return found


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
