"""An instance: data, adversary and what is asked, as Python objects here and as files for any version of noap."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Row

__all__ = ["Instance", "Store"]


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem of a board.

    Attributes
    ----------
    name : str
        Tells it apart on its board.
    M : ndarray or Path
        Samples; a covariance if `covariance` says so; or a file of samples, which are centred (and scaled, if `scaled`)
        where they are read.
    k : int
    rho : float or ndarray
        What the adversary takes, `adversary` being the name of its class.
    data, budget, seed, r
        Columns of the table: data set, budget as the board counts it, seed of the draw, number of components.
    gap, limit : float
        What is asked, and seconds of the clock.
    task : str
        "solve", "components", "path" or "k_path".
    options : dict
        Of the task, as JSON.
    """

    name: str
    M: np.ndarray | Path
    k: int
    rho: float | np.ndarray = 0.0
    adversary: str = "FeatureWise"
    data: str = ""
    budget: float | None = None
    seed: int | None = None
    r: int | None = None
    covariance: bool = False
    scaled: bool = False
    costs: np.ndarray | None = None
    metric: np.ndarray | None = None
    gap: float = 1e-4
    limit: float = 60.0
    task: str = "solve"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def d(self) -> int | None:
        """The number of features; None if the file alone knows it."""
        return None if isinstance(self.M, Path) else self.M.shape[1]

    @property
    def cells(self) -> Row:
        """What a row says of the instance."""
        n = None if self.covariance or isinstance(self.M, Path) else len(self.M)
        return {
            "instance": self.name, "data": self.data, "n": n, "d": self.d, "k": self.k, "r": self.r,
            "adversary": self.adversary, "budget": self.budget, "seed": self.seed, "asked": self.gap,
            "limit_s": self.limit,
        }  # fmt: skip


class Store:
    """A folder of instances: `NUMBER.json` for each, and a file of arrays, which neighbours may share."""

    def __init__(self, folder: Path, keep: bool = False) -> None:
        self.folder, self.keep, self.count = folder, keep, 0
        self._last: tuple[object, Path] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, one: Instance) -> Path:
        """Write an instance and return its JSON file."""
        self.count += 1
        place = self.folder / f"{self.count:04d}.json"
        terms = {"rho": one.rho, "costs": one.costs, "metric": one.metric}
        terms = {name: term for name, term in terms.items() if isinstance(term, np.ndarray)}
        if terms:
            np.savez(place.with_suffix(".terms.npz"), **terms)
        asked = {
            "name": one.name, "M": str(self._matrix(one.M)), "own": isinstance(one.M, Path), "scaled": one.scaled,
            "terms": str(place.with_suffix(".terms.npz")) if terms else None, "k": one.k, "r": one.r,
            "rho": None if isinstance(one.rho, np.ndarray) else float(one.rho), "adversary": one.adversary,
            "covariance": one.covariance, "gap": one.gap, "limit": one.limit, "task": one.task, "options": one.options,
        }  # fmt: skip
        place.write_text(json.dumps(asked), encoding="utf-8")
        return place

    def _matrix(self, M: np.ndarray | Path) -> Path:
        if isinstance(M, Path):
            return M.resolve()
        if self._last is None or self._last[0] is not M:
            if self._last is not None and not self.keep:
                self._last[1].unlink()
            place = self.folder / f"{self.count:04d}.npz"
            np.savez(place, M=M)
            self._last = (M, place)
        return self._last[1]
