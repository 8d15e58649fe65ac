"""What certificates of every kind share: a claim, a file, and that nobody has checked them yet."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from noap.data.arguments import as_megabytes
from noap.proofs import container
from noap.proofs.claim import Claim
from noap.proofs.container import unreadable
from noap.runtime.notebook import html_table

__all__ = ["ProofFile"]


@dataclass(frozen=True, eq=False)
class ProofFile(ABC):
    """A claim together with its proof, as it stands in a file."""

    claim: Claim
    # What value and bound enclose.
    _optimum: ClassVar[str] = "optimum"

    @property
    def value(self) -> float:
        """The claimed value."""
        return self.claim.value

    @property
    def bound(self) -> float:
        """The claimed bound on the optimum."""
        return self.claim.bound

    @property
    @abstractmethod
    def nodes(self) -> int:
        """How many nodes its trees have."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes its arrays take."""

    @abstractmethod
    def malformed(self) -> str | None:
        """Return what is wrong with the arrays: a number that is not finite, or that points at nothing; None if not."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the file's contents."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes, *, memory_limit: float | None = None) -> Self:
        """Read a file's contents; raises InvalidProblem if they are not a certificate of this kind."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file, whole or not at all. An existing file is replaced."""
        container.write_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, memory_limit: float | None = None) -> Self:
        """Read a certificate. Safe on hostile files: no code is run, and memory is bounded.

        Parameters
        ----------
        path : path
            A regular file, or a pipe that ends within 64 megabytes.
        memory_limit : float, optional
            Megabytes that the file and its arrays, inflated, may take together. Without one the arrays may take 64 and
            32 times the size of the file; those that noap writes take some 8 times its size at most, unless the data
            have many equal rows.
        """
        megabytes = as_megabytes(memory_limit)
        return cls.from_bytes(container.read_bytes(path, megabytes), memory_limit=megabytes)

    def well_formed(self) -> Self:
        """Return the certificate; raises InvalidProblem if something is wrong with its arrays."""
        reason = self.malformed()
        if reason is not None:
            raise unreadable(reason)
        return self

    def _details(self) -> Sequence[tuple[str, object]]:
        """Return what a notebook shows beside the claim."""
        return ()

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: what is claimed, and that nobody has checked it yet."""
        claim = self.claim
        rows = [
            ("adversary", f"{claim.adversary}, {claim.rho_in_words}"),
            ("about", f"{claim.source} of {claim.n_samples} x {claim.n_features}, k = {claim.k}"),
            *self._details(),
            (f"{self._optimum} at least", f"{claim.value:.17g}"),
            (f"{self._optimum} at most", f"{claim.bound:.17g}"),
            ("nodes", self.nodes),
        ]
        return html_table("Certificate: a claim until noap.verify(problem, certificate) has checked it", rows)
