"""Which solvers there are. Asking does not import them; a licence is tried only when asked for."""

import importlib
import importlib.util
from dataclasses import dataclass

from noap.errors import BackendNotAvailable, InvalidProblem
from noap.mip.backends.base import Backend, Capabilities

__all__ = ["BackendInfo", "backend_named", "list_backends"]


@dataclass(frozen=True)
class _Entry:
    """Where a backend lives: its adapter, the package it needs and the extra that installs it."""

    adapter: str
    class_name: str
    package: str
    extra: str
    licence: str | None = None
    """Name of the adapter's function that tells whether only a size-limited licence is there."""


_ENTRIES = {
    "scip": _Entry("noap.mip.backends.scip", "Scip", "pyscipopt", "noap"),
    "highs": _Entry("noap.mip.backends.highs", "Highs", "highspy", "noap"),
    "gurobi": _Entry("noap.mip.backends.gurobi", "Gurobi", "gurobipy", "noap[gurobi]", "is_size_limited"),
}


@dataclass(frozen=True)
class BackendInfo:
    """A backend, and whether it is there.

    Attributes
    ----------
    name, package : str
    installed : bool
    licence : str
        "open", "full", "size-limited", "none" or, when it was not tried, "unknown".
    capabilities : Capabilities or None
        None when the package is absent.
    install : str
        The command that installs it.
    """

    name: str
    package: str
    installed: bool
    licence: str
    capabilities: Capabilities | None
    install: str


def backend_named(name: str) -> Backend:
    """Return the backend, or raise: InvalidProblem for an unknown name, BackendNotAvailable for an absent package.

    Examples
    --------
    >>> backend_named("scip").capabilities.sos2
    True
    """
    entry = _ENTRIES.get(name)
    if entry is None:
        raise InvalidProblem(f"backend must be one of {', '.join(map(repr, _ENTRIES))}, got {name!r}.")
    if not _installed(entry):
        raise BackendNotAvailable(
            f"backend {name!r} needs the package {entry.package}, which is not installed; "
            f"run pip install '{entry.extra}', or choose {_available()}."
        )
    backend: Backend = getattr(importlib.import_module(entry.adapter), entry.class_name)()
    return backend


def list_backends(*, licences: bool = False) -> list[BackendInfo]:
    """Return every backend noap knows, installed or not.

    Parameters
    ----------
    licences : bool
        Whether to try the licences, which imports the solvers that have one.

    Examples
    --------
    >>> [info.name for info in list_backends()]
    ['scip', 'highs', 'gurobi']
    """
    return [_described(name, entry, licences) for name, entry in _ENTRIES.items()]


def _available() -> str:
    """Return the installed backends, as a choice."""
    names = [repr(name) for name, entry in _ENTRIES.items() if _installed(entry)]
    return f"one that is installed ({', '.join(names)})" if names else "a method that needs none, such as 'exact'"


def _installed(entry: _Entry) -> bool:
    return importlib.util.find_spec(entry.package) is not None


def _described(name: str, entry: _Entry, licences: bool) -> BackendInfo:
    installed = _installed(entry)
    capabilities = None
    licence = "open" if entry.licence is None else "unknown"
    if installed:
        # The adapters import their solver inside their functions only, so this stays cheap.
        adapter = importlib.import_module(entry.adapter)
        capabilities = getattr(adapter, entry.class_name).capabilities
        if licences and entry.licence is not None:
            try:
                licence = "size-limited" if getattr(adapter, entry.licence)() else "full"
            except BackendNotAvailable:
                licence = "none"
    return BackendInfo(name, entry.package, installed, licence, capabilities, f"pip install '{entry.extra}'")
