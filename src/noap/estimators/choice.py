"""Which k and which noise were chosen, what they were compared by, and why."""

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.frames import shaped

__all__ = ["Choice", "smallest_within_error"]

_SAME = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """The pairs of noise and k that were tried, and the one that was chosen.

    Attributes
    ----------
    by : "held-out", "permutation" or "k-path"
    noises : array of shape (r,)
    ks : array of int, shape (m,)
    scores : array of shape (r, m)
        What the pairs were compared by; nan where Ctrl-C came first.
    errors : array of shape (r, m)
        Standard errors of the scores; 0 where they have none.
    place : tuple of int
        Row and column of the pair chosen.
    reason : str
        Why, in one sentence.
    columns : dict of arrays of shape (r, m)
        What else is known of every pair.
    at_noise : float or None
        For "held-out": the noise that held-out samples faced, which was given and not chosen.
    """

    by: str
    noises: FloatArray
    ks: IntArray
    scores: FloatArray
    errors: FloatArray
    place: tuple[int, int]
    reason: str
    columns: dict[str, FloatArray] = field(default_factory=dict)
    at_noise: float | None = None

    def __repr__(self) -> str:
        return f"Choice(k = {self.k}, noise = {self.noise:g}, score {self.score:.4g}, by {self.by}: {self.reason})"

    @property
    def noise(self) -> float:
        """The noise chosen."""
        return float(self.noises[self.place[0]])

    @property
    def k(self) -> int:
        """The number of features chosen."""
        return int(self.ks[self.place[1]])

    @property
    def score(self) -> float:
        """The score of the pair chosen."""
        return float(self.scores[self.place])

    def edges(self, features: int) -> str | None:
        """Return which ends of the grid were chosen and what to widen, in one sentence; None if neither is an end.

        The noise that held-out samples face is no end: that the best noise to fit at is the one to be met is no sign
        that another would do better.

        Parameters
        ----------
        features : int
            How many there are: no k lies beyond.
        """
        ends, remedies = [], []
        if len(self.ks) > 1 and self.place[1] == len(self.ks) - 1 and self.k < features:
            ends.append(f"k = {self.k} is the largest of ks")
            remedies.append("larger ks")
        met = self.at_noise is not None and self.noise == self.at_noise
        if len(self.noises) > 1 and self.place[0] == len(self.noises) - 1 and not met:
            ends.append(f"noise = {self.noise:.4g} is the largest of noises")
            remedies.append("larger noises")
        elif len(self.noises) > 1 and self.place[0] == 0 and self.noise > 0 and not met:
            ends.append(f"noise = {self.noise:.4g} is the smallest of noises")
            remedies.append("smaller noises")
        if not ends:
            return None
        said, remedy = " and ".join(ends), " and ".join(remedies)
        return f"The choice lies at the edge of what was tried: {said}; pass {remedy} to look beyond."

    def to_frame(self, flat: bool = False, library: str = "polars") -> Any:
        """Return a table with one row per pair.

        Parameters
        ----------
        flat : bool
            Nothing to do here: no column holds lists.
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns noise, k, score, error, chosen, and what else is known of the pairs.
        """
        import polars

        chosen = np.zeros(self.scores.shape, dtype=bool)
        chosen[self.place] = True
        frame = polars.DataFrame(
            {
                "noise": np.repeat(self.noises, len(self.ks)),
                "k": np.tile(self.ks, len(self.noises)),
                "score": self.scores.ravel(),
                "error": self.errors.ravel(),
                "chosen": chosen.ravel(),
            }
            | {name: column.ravel() for name, column in self.columns.items()}
        )
        return shaped(frame, flat, library)

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores against k, one line per noise, with the pair chosen.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure of its own by default.

        Returns
        -------
        matplotlib.figure.Figure
        """
        # Pictures lie a layer above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_choice(self, ax=ax)


def smallest_within_error(scores: FloatArray, errors: FloatArray) -> tuple[int, int]:
    """Return the place of fewest features that scores within one standard error of the best.

    Of several, the one of the largest score.

    >>> smallest_within_error(np.array([[1.0, 1.9, 2.0]]), np.full((1, 3), 0.2))
    (0, 1)
    """
    if np.isnan(scores).all():
        raise InvalidProblem("No pair of k and noise has a score to choose by; allow more time.")
    top = np.unravel_index(np.nanargmax(scores), scores.shape)
    # Scores that agree to this share are one number as far as rounding lets anyone tell.
    slack = errors[top] + _SAME * abs(scores[top])
    enough = np.where(np.isnan(scores), False, scores >= scores[top] - slack)
    column = int(np.flatnonzero(enough.any(axis=0))[0])
    row = int(np.argmax(np.where(enough[:, column], scores[:, column], -np.inf)))
    return row, column
