"""Gather what the page shows, once; the page itself is a pure function of it."""

import warnings
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from sklearn.exceptions import ConvergenceWarning

import noap
from noap.adversaries import serves
from noap.analysis.family import SERVES as PATH_SERVES
from noap.analysis.near_optimal import LISTING_SERVES
from noap.data.arguments import as_sparsity, as_strength
from noap.data.identifiers import warn_of_identifiers
from noap.data.per_feature import has_one_for_each, per_feature
from noap.data.standardising import centre_and_scale
from noap.data.validation import Samples, as_samples
from noap.errors import GapWarning, InvalidProblem, ScaleWarning
from noap.linalg.types import FloatArray
from noap.report.charts import MOST_LISTED, SECONDS, WITHIN
from noap.report.components import Component, components_of
from noap.report.slider import Frame, frames_of
from noap.solving import warn_of_gaps

__all__ = ["Report", "build_report"]

_FAMILIES = {kind.key: kind for kind in PATH_SERVES}
# Where the slider ends that multiplies the noises of features: what a feature with a tiny noise bears would leave no
# room for the others.
_FARTHEST = 4.0


@dataclass(frozen=True, eq=False)
class Report:
    """Everything on the page.

    Attributes
    ----------
    title : str
        What the data are called.
    names : tuple of str
        Feature names, d of them.
    adversary : "feature" or "sample"
    noise : float
        Where the components of the table were found; 1 where features have noises of their own, which it multiplies.
    unit : float
        The budget rho of noise 1, or 1.
    center, scale : bool
        What was done to the data first.
    path : Path
        The first component over all noises.
    components : tuple of Component
        The rows of the table.
    frames : tuple of Frame
        The positions of the slider.
    k_path : KPath or None
        The first component with 1 to k features, at the noise of the table; None where nothing would be proved or left.
    near : NearOptimal or None
        Other sets of features that keep nearly as much at that noise; None where they cannot be listed.
    own_noises, costs : arrays of shape (d,), or None
        Of the features, where they have their own.
    joint : JointResult or None
        What is proved of all components, where they were chosen together.
    """

    title: str
    names: tuple[str, ...]
    adversary: str
    noise: float
    unit: float
    center: bool
    scale: bool
    path: noap.Path
    components: tuple[Component, ...]
    frames: tuple[Frame, ...]
    k_path: noap.KPath | None = None
    near: noap.NearOptimal | None = None
    own_noises: FloatArray | None = None
    costs: FloatArray | None = None
    joint: noap.JointResult | None = None

    def html(self) -> str:
        """Return the page: one HTML document that asks for nothing from outside."""
        from noap.report.page import render

        return render(self)

    def save(self, path: str | FilePath, force: bool = False) -> FilePath:
        """Write the page to `path`, which must not exist unless `force` is on; return where it is."""
        target = FilePath(path)
        if target.exists() and not force:
            raise InvalidProblem(f"path {target} exists; choose another name or pass force=True.")
        target.write_text(self.html(), encoding="utf-8")
        return target


def build_report(
    X: Any,
    k: int = 5,
    *,
    adversary: str = "feature",
    noise: Any = 0.1,
    costs: Any = None,
    n_components: int | None = None,
    deflation: str = "projection",
    method: str = "exact",
    center: bool = True,
    scale: bool = True,
    gap: float = 1e-4,
    time_limit: float | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    points: int = 33,
    progress: bool = False,
    title: str = "data",
    joint: bool | str = "auto",
) -> Report:
    r"""Gather a report: the path of the first component over all noises; at one noise its path over k, and a table.

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(Z + E) v\|_2^2

    with Z the centred and scaled data, for rho from 0 to the budget that leaves nothing.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, d)
        Column names of a DataFrame are kept.
    k : int
        How many features a component may use.
    adversary : "feature" or "sample"
    noise : float, array, dict, Series or DataFrame
        Where the table of components is made and the slider starts; as for :class:`noap.RobustSparsePCA`. Where
        features have noises of their own ("feature" only), the slider multiplies them, up to four times.
    costs : array, dict, Series or DataFrame, optional
        What each feature costs, as for :class:`noap.RobustSparsePCA`.
    n_components : int, optional
        Rows of the table; 3 by default, or d if that is less.
    deflation, method, center, scale, gap, time_limit, random_state
        As for :class:`noap.RobustSparsePCA`; the time is for each problem solved.
    n_jobs, points, progress
        As for :func:`noap.path`.
    title : str
        What the page calls the data.
    joint : "auto", True or False
        Whether the components of the table are chosen together, as for :class:`noap.RobustSparsePCA`.

    Returns
    -------
    Report
        `.save("report.html")` writes the page, `.html()` returns it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noap.report import build_report
    >>> report = build_report(load_wine().data, k=3, method="ascent", points=5, n_components=1, title="wine")
    >>> report.html().startswith("<!doctype html>")
    True
    """
    if adversary not in _FAMILIES:
        raise InvalidProblem(f"adversary must be one of {tuple(_FAMILIES)}, got {adversary!r}.")
    several = has_one_for_each(noise)
    if not several:
        as_strength("noise", noise)
    if adversary != "feature" and several:
        raise InvalidProblem("noises of single features need adversary='feature'.")
    samples = as_samples(X)
    data, own_names = samples
    warn_of_identifiers(X, data)
    n, d = int(data.shape[0]), int(data.shape[1])
    k = as_sparsity(k, d)
    names = own_names or tuple(f"x{j}" for j in range(d))
    Z, _, _ = centre_and_scale(samples, center=center, scale=scale, names=names)
    if not Z.any():
        raise InvalidProblem("X has no variance: every column is constant; pass data that vary.")
    _require_distinct(names)
    kind, unit = _FAMILIES[adversary], _FAMILIES[adversary].noise_unit(n)
    own = per_feature("noise", noise, d, names) if several else None
    paid = None if costs is None else per_feature("costs", costs, d, names, finite=True)
    at = noap.FeatureWise(own * unit) if own is not None else kind.with_noise(float(noise), n)
    problem = noap.Problem(Samples(Z, names), k=k, adversary=at, costs=paid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)  # said once below, of the whole page
        path = noap.path(
            problem,
            k,
            kind if own is None else at,
            end=None if own is None else _FARTHEST,
            method=method,
            n_jobs=n_jobs,
            points=points,
            gap=gap,
            time_limit=time_limit,
            random_state=random_state,
            progress=progress,
        )
    count = min(3, d) if n_components is None else n_components
    model = noap.RobustSparsePCA(
        n_components=count,
        k=k,
        adversary=at,
        costs=paid,
        method=method,
        deflation=deflation,
        joint=joint,
        # Centred and scaled already, above.
        center=False,
        scale=False,
        gap=gap,
        time_limit=None if time_limit is None else count * time_limit,
        random_state=random_state,
        options={"progress": progress},
        keep_data=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ScaleWarning)  # whether to scale was asked for in words, and done above
        model.fit(Z)
    over_k = near = None
    if method == "exact" and model.robust_variance_[0] > 0:
        whole = None if time_limit is None else k * time_limit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GapWarning)
            over_k = noap.k_path(problem, gap=gap, time_limit=whole, random_state=random_state, progress=progress)
        if serves(LISTING_SERVES, problem.adversary):
            near = noap.near_optimal(
                problem,
                WITHIN,
                MOST_LISTED,
                time_limit=SECONDS if time_limit is None else time_limit,
                random_state=random_state,
                progress=progress,
            )
    alone = () if model.joint_result_ is not None else model.results_
    warn_of_gaps([*path.results, *alone, *(over_k or ())], "problems behind the page")
    shown = float(noise) if own is None else 1.0
    return Report(
        title,
        names,
        adversary,
        shown,
        path.family.noise_unit,
        center,
        scale,
        path,
        components_of(model, names),
        frames_of(path, Z, path.family.noise_unit, shown),
        over_k,
        near,
        own,
        problem.costs,
        model.joint_result_,
    )


def _require_distinct(names: tuple[str, ...]) -> None:
    """Tables and plots of the path tell features apart by their names."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidProblem(f"X has several columns called {twice!r}; give every feature its own name.")
