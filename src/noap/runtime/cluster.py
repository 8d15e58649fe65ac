"""A Dask cluster that the user names by its address."""

import importlib
from typing import Any

from noap._version import __version__
from noap.errors import InvalidProblem, NoapError

__all__ = ["connected"]


def _dask_for(address: str) -> Any:
    """Return Dask's module, or raise, naming the option --cluster, if there is none or that is no address."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise NoapError("--cluster needs Dask; install it with: pip install 'noap[dask]'.") from None
    if "://" not in address:
        raise InvalidProblem(
            f"--cluster must be the address of a Dask scheduler, such as tcp://host:8786, got {address}."
        )
    return distributed


def connected(address: str, *, timeout: float = 10.0) -> Any:
    """Return a client of the Dask scheduler at an address such as tcp://host:8786, a context manager."""
    try:
        client = _dask_for(address).Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError):
        raise NoapError(
            f"--cluster {address} cannot be reached; start it with `dask scheduler` and `dask worker {address}`."
        ) from None
    try:
        _require_same_version(client, address)
    except NoapError:
        client.close()
        raise
    return client


def _require_same_version(client: Any, whose: str) -> None:
    """Raise NoapError unless all workers have this version of noap."""
    versions = set(client.run(_version).values())
    if versions - {__version__}:
        raise NoapError(
            f"The workers of {whose} have noap {', '.join(sorted(versions))}, this is {__version__}; "
            "install the same version everywhere."
        )


def _version() -> str:
    from noap._version import __version__

    return __version__
