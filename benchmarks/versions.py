"""Another commit beside this one: a git worktree of it, in a virtual environment of its own, kept for the next time."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CACHE", "ROOT", "Version", "prepared", "this_version"]

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(tempfile.gettempdir()) / "noap-versions"


@dataclass(frozen=True)
class Version:
    """A commit, the interpreter that runs it, and the folders that it imports from."""

    commit: str
    python: Path
    paths: tuple[Path, ...]


def this_version() -> Version:
    """Return this checkout, which also imports the peers of `benchmarks`."""
    return Version(_commit("HEAD"), Path(sys.executable), (ROOT / "src", ROOT))


def prepared(name: str, cache: Path) -> Version:
    """Return a commit, ready to run; one that this checkout has is run here.

    Parameters
    ----------
    name : str
        A commit, a tag or a branch.
    cache : Path
        Folder outside the repository. Worktree and environment are made in it once, which takes minutes.
    """
    commit = _commit(name)
    if commit == _commit("HEAD"):
        return this_version()
    place = cache / commit[:12]
    if not (place / "source" / "src").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        _run("git", "-C", str(ROOT), "worktree", "prune")
        _run("git", "-C", str(ROOT), "worktree", "add", "--force", "--detach", str(place / "source"), commit)
    python = place / "venv" / "bin" / "python"
    ready = place / "ready"
    if not ready.exists():
        _run(sys.executable, "-m", "venv", str(place / "venv"))
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable")
        _run(str(python), *install, str(place / "source"))
        ready.touch()
    return Version(commit, python, (place / "source" / "src",))


def _commit(name: str) -> str:
    return _run("git", "-C", str(ROOT), "rev-parse", "--verify", f"{name}^{{commit}}")


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        words = " ".join(command[:4])
        raise SystemExit(f"{words} ... failed: {error.stderr.strip().splitlines()[-1:] or error.returncode}") from None
    return done.stdout.strip()
