"""Limits of a search beside its time, and the reasons for which a method stops early."""

import enum
import numbers
from dataclasses import dataclass, field
from typing import Any

from noap.data.arguments import as_jobs, as_megabytes
from noap.errors import InvalidProblem
from noap.runtime.threads import threads_for
from noap.settings import Settings

__all__ = ["Limit", "Limits"]


class Limit(enum.Enum):
    """The reason for which a method stopped early."""

    TIME = "time"
    NODES = "nodes"
    INTERRUPTED = "interrupted"
    MEMORY = "memory"

    @property
    def sentence(self) -> str:
        """The reason, as a sentence.

        Examples
        --------
        >>> Limit.NODES.sentence, Limit.INTERRUPTED.sentence
        ('Stopped early by the node limit.', 'Interrupted: this is the best so far.')
        """
        if self is Limit.INTERRUPTED:
            return "Interrupted: this is the best so far."
        return f"Stopped early by the {'node' if self is Limit.NODES else self.value} limit."


@dataclass(frozen=True)
class Limits:
    """Limits of a search beside its time, and its options.

    Attributes
    ----------
    nodes : int or None
    megabytes : float or None
        Memory of the search beside the data: work space, open nodes and the record of the proof.
    keep_proof : bool
    n_jobs : int or None
        Threads that share passes over many features, as `threads_for` takes it.
    settings : Settings
    start : array-like or None
        A vector of the user from which ascent may start.

    Examples
    --------
    >>> Limits.checked(node_limit=100, memory_limit=None, certificate=True)
    Limits(nodes=100, megabytes=None, keep_proof=True)
    """

    nodes: int | None = None
    megabytes: float | None = None
    keep_proof: bool = False
    n_jobs: int | None = field(default=None, repr=False)
    settings: Settings = field(default=Settings(), repr=False)
    start: Any = field(default=None, repr=False)

    @classmethod
    def checked(
        cls,
        node_limit: Any,
        memory_limit: Any,
        certificate: Any,
        n_jobs: Any = None,
        settings: Any = None,
        start: Any = None,
    ) -> "Limits":
        """Validate what the user passed."""
        if not isinstance(certificate, bool):
            raise InvalidProblem(f"certificate must be True or False, got {certificate!r}.")
        whole = isinstance(node_limit, numbers.Integral) and not isinstance(node_limit, bool)
        if node_limit is not None and not (whole and node_limit > 0):
            raise InvalidProblem(f"node_limit must be a positive integer or None, got {node_limit!r}.")
        if isinstance(memory_limit, (bool, str)):
            raise InvalidProblem(f"memory_limit must be a positive number of megabytes or None, got {memory_limit!r}.")
        if settings is not None and not isinstance(settings, Settings):
            raise InvalidProblem(f"settings must be a noap.Settings, got {type(settings).__name__}.")
        nodes = None if node_limit is None else int(node_limit)
        return cls(nodes, as_megabytes(memory_limit), certificate, as_jobs(n_jobs), settings or Settings(), start)

    @property
    def threads(self) -> int:
        """How many threads share a pass."""
        return threads_for(self.n_jobs)

    @property
    def bytes(self) -> float | None:
        """The memory in bytes."""
        return None if self.megabytes is None else 1e6 * self.megabytes
