"""Compute the positions of the slider: at each noise the best vector of the path, and what the worst attack does."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import noap
from noap.linalg.types import FloatArray
from noap.report.words import down, plain, up

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["SHARES", "Frame", "data_of", "frames_of"]

# One step of an arrow key is a hundredth of the range.
_STEPS = 100
# The scores are shown by these shares of the samples: the middle half, and all but the outer tenth.
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Frame:
    """One position of the slider.

    Attributes
    ----------
    noise : float
    v : array of shape (d,)
        The best vector of the path at this noise; 0 where the adversary cancels everything.
    left, bound : float
        What the worst attack leaves of its variance, and the proved bound on what any vector keeps, less its costs.
    plain : float
        Its variance on the untouched data.
    ordinary : float
        What the same adversary leaves of the component that ignores noise (the one at noise 0).
    before, after : arrays of shape (5,)
        Quantiles of the samples' scores, at `SHARES`, without and with the attack.
    """

    noise: float
    v: FloatArray
    left: float
    bound: float
    plain: float
    ordinary: float
    before: FloatArray
    after: FloatArray


def frames_of(path: noap.Path, Z: FloatArray, unit: float, noise: float) -> tuple[Frame, ...]:
    """Return the frames at evenly spaced noises over the path, and at the given one.

    Every vector of the path is feasible at every noise, so between the points the best of them there is shown; value
    and bound are those of `Path.band`, which are proved everywhere.

    Parameters
    ----------
    path : Path
        From rho = 0 to rho_max.
    Z : array of shape (n, d)
        The data of the path.
    unit : float
        The budget rho of noise 1.
    noise : float
        Where the slider starts.
    """
    last = float(path.rhos[-1])
    rhos = np.unique(np.append(np.linspace(0.0, last, _STEPS + 1), min(noise * unit, last)))
    best = path.family.values(path.vectors, rhos).argmax(axis=1)
    lower, upper = path.band(rhos)
    alive = lower > 1e-24 * path.family.base.scale
    left = path.family.distances(path.vectors, rhos) ** 2 / len(Z)
    ordinary = left[:, 0]
    scores = {i: Z[:, path.results[i].support] @ path.vectors[i, path.results[i].support] for i in set(best.tolist())}
    frames = []
    for row, (rho, i) in enumerate(zip(rhos.tolist(), best.tolist(), strict=True)):
        before = scores[i]
        frames.append(
            Frame(
                rho / unit,
                path.vectors[i] * alive[row],
                float(left[row, i]) if alive[row] else 0.0,
                float(upper[row]),
                float(np.mean(before**2)),
                float(ordinary[row]),
                np.quantile(before, SHARES),
                np.quantile(_attacked(path, Z, i, rho), SHARES),
            )
        )
    return tuple(frames)


def _attacked(path: noap.Path, Z: FloatArray, i: int, rho: float) -> FloatArray:
    """Return the scores (Z + E)v after the worst attack on vector i; only the columns of its support matter."""
    support = path.results[i].support
    v, columns = path.vectors[i, support], Z[:, support]
    attacked: FloatArray = (columns + path.family.make(rho).restricted_to(support).attack(columns, v)) @ v
    return attacked


def data_of(report: "Report", shown: list[int]) -> str:
    """Return what the script draws, as JSON that is safe inside a script element."""
    after_costs = "" if report.costs is None else " after its costs"
    last = float(report.path.rhos[-1]) / report.unit
    frames = [
        {
            "at": round(100 * frame.noise / last, 3),
            "noise": plain(frame.noise),
            "left": down(frame.left, 4),
            "bound": up(frame.bound, 4) + (after_costs if np.isfinite(frame.bound) else ""),
            "plain": plain(frame.plain, 4),
            "ordinary": down(frame.ordinary, 4),  # as `left` is: the two are compared
            "bars": _short([frame.plain, frame.left, frame.ordinary]),
            "loadings": _short(frame.v[shown]),
            "unseen": int(np.count_nonzero(frame.v) - np.count_nonzero(frame.v[shown])),
            "before": _short(frame.before),
            "after": _short(frame.after),
        }
        for frame in report.frames
    ]
    document = json.dumps({"k": report.path.k, "frames": frames}, separators=(",", ":"))
    return document.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _short(numbers: object) -> list[float]:
    """Return the numbers with five digits, which is finer than a pixel; 0 as 0."""
    return [float(f"{number:.5g}") + 0.0 for number in np.asarray(numbers, dtype=np.float64)]
