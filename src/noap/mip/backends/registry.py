"""List the solvers. Asking does not import them; a licence is tried only when asked for."""

import importlib
import importlib.util
from dataclasses import dataclass

from noap.errors import BackendNotAvailable, InvalidProblem
from noap.mip.backends.base import Backend, Capabilities

__all__ = ["BackendInfo", "backend_named", "list_backends"]

# Adapter, class, package, extra; and the adapter's function that tells whether only a size-limited licence is there.
_ENTRIES: dict[str, tuple[str, str, str, str, str | None]] = {
    "scip": ("noap.mip.backends.scip", "Scip", "pyscipopt", "noap", None),
    "highs": ("noap.mip.backends.highs", "Highs", "highspy", "noap", None),
    "gurobi": ("noap.mip.backends.gurobi", "Gurobi", "gurobipy", "noap[gurobi]", "is_size_limited"),
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


def backend_named(name: "str | Backend") -> Backend:
    """Return the backend of this name, and an object as it is.

    Raises InvalidProblem for an unknown name, BackendNotAvailable for an absent package.

    Examples
    --------
    >>> backend_named("scip").capabilities.sos2
    True
    """
    if not isinstance(name, str):
        if isinstance(name, type) or not isinstance(name, Backend):
            raise InvalidProblem(
                f"backend must be a name, or an object with name, capabilities, reject and solve, got {name!r}."
            )
        return name
    if name not in _ENTRIES:
        raise InvalidProblem(f"backend must be one of {', '.join(map(repr, _ENTRIES))}, got {name!r}.")
    adapter, class_name, package, extra, _ = _ENTRIES[name]
    if not _installed(package):
        known = ", ".join(repr(other) for other, entry in _ENTRIES.items() if _installed(entry[2]))
        others = f"one that is installed ({known})" if known else "a method that needs none, such as 'exact'"
        raise BackendNotAvailable(
            f"backend {name!r} needs the package {package}, which is not installed; "
            f"run pip install '{extra}', or choose {others}."
        )
    backend: Backend = getattr(importlib.import_module(adapter), class_name)()
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
    found = []
    for name, (adapter, class_name, package, extra, limited) in _ENTRIES.items():
        # The adapters import their solver inside their functions only, so this stays cheap.
        module = importlib.import_module(adapter) if _installed(package) else None
        licence = "open" if limited is None else "unknown"
        if module is not None and licences and limited is not None:
            try:
                licence = "size-limited" if getattr(module, limited)() else "full"
            except BackendNotAvailable:
                licence = "none"
        capabilities = None if module is None else getattr(module, class_name).capabilities
        found.append(BackendInfo(name, package, module is not None, licence, capabilities, f"pip install '{extra}'"))
    return found


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
