"""Where the data come from: scikit-learn, simulations, and a folder of public matrices if there is one."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noap
from benchmarks.board import Setting
from benchmarks.instances import Instance
from noap.theory import spiked_wishart

__all__ = [
    "bundled", "correlations", "matrices", "modules", "moments", "of_covariance", "real_sets", "standardised_sets",
    "strong_weak",
]  # fmt: skip

# Which array of each set, in a folder laid out as <name>/<name>.{csv,npz}; None for the only one.
SETS: dict[str, tuple[str | None, ...]] = {
    "pitprops": (None,), "wine": ("corr",), "housing": (None,), "keggdirected": (None,), "pol": (None,),
    "wdbc": (None,), "ionosphere": ("corr",), "dermatology": (None,), "miniboone": ("corr", "cov"), "spambase": (None,),
    "digits": (None,), "buzz": (None,), "song": (None,), "eisen1": (None,), "communities": ("corr", "cov"),
    "eisen2": (None,), "gas": (None,), "arrhythmia": ("corr", "cov"), "colon": (None,),
}  # fmt: skip


def strong_weak(n: int, d: int, k: int, seed: int, lam: float = 3.0) -> np.ndarray:
    """Return samples of the paper's strong/weak model: lambda = 3 unless said otherwise, k1 = 2, c = 0.8."""
    return np.asarray(spiked_wishart(n, d, k, lam, k1=2, c=0.8, random_state=seed).X)


def modules(n: int, d: int) -> np.ndarray:
    """Return standardised samples, a fifth of their features in groups of 20 that share a factor, in no order."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5 - 19, 20):
        X[:, first : first + 20] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, 20))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X[:, rng.permutation(d)]


def bundled() -> dict[str, np.ndarray]:
    """Return samples of the data sets of scikit-learn, without features that never vary."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

    loaders = {
        "diabetes": load_diabetes, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits,
    }  # fmt: skip
    found = {name: np.asarray(load().data, dtype=float) for name, load in loaders.items()}
    return {name: X[:, X.std(axis=0) > 0] for name, X in found.items()}


def real_sets(setting: Setting) -> list[tuple[str, str | None, np.ndarray]]:
    """Return (set, array, matrix) of the folder; without one, of the data that come with scikit-learn."""
    if setting.folder is None:
        setting.skipped.append("No folder of matrices was given (--data FOLDER): bundled and simulated data alone.")
        found = [(name, None, np.corrcoef(X.T)) for name, X in bundled().items()]
        return [(name, key, (S + S.T) / 2) for name, key, S in found]
    found = []
    for name, keys in SETS.items():
        for key in keys:
            S = _read(setting.folder / name, name, key)
            if S is None:
                setting.skipped.append(f"{_label(name, key)} is not in the folder of matrices: skipped.")
            else:
                found.append((name, key, (S + S.T) / 2))
    return found


def _label(name: str, key: str | None) -> str:
    return f"{name} {key}" if key else name


def matrices(setting: Setting) -> list[tuple[str, np.ndarray]]:
    """Return the matrices of the folder, correlations of bundled data and covariances of simulated ones, by size."""
    found = [(f"{name} (scikit-learn)", np.corrcoef(X.T)) for name, X in bundled().items()]
    for d in (100, 300):
        X = strong_weak(200, d, 10, 0)
        found.append((f"strong/weak d={d} (simulated)", X.T @ X / len(X)))
    noise = np.random.default_rng(0).standard_normal((200, 60))
    found.append(("noise d=60 (simulated)", noise.T @ noise / len(noise)))
    if setting.folder is not None:
        found += [(_label(name, key), S) for name, key, S in real_sets(setting)]
    return sorted(((name, (S + S.T) / 2) for name, S in found), key=lambda one: len(one[1]))


def correlations(S: np.ndarray) -> np.ndarray:
    """Return the matrix of correlations, without features that never vary."""
    varies = np.diag(S) > 0
    spread = np.sqrt(np.diag(S)[varies])
    return np.asarray(S[np.ix_(varies, varies)] / np.outer(spread, spread))


def standardised_sets(setting: Setting) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the correlations of every real data set."""
    seen = set()
    for name, _, S in real_sets(setting):
        if name not in seen:  # its covariance and its correlations are one standardised matrix
            seen.add(name)
            yield name, correlations(S)


def moments(setting: Setting) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the matrix of every real data set, and samples where they are few and features many."""
    for name, key, S in real_sets(setting):
        yield _label(name, key), S
    for name in ("micromass", "leukemia", "prostate"):
        if setting.folder is not None and (setting.folder / "large" / f"{name}.npz").exists():
            with np.load(setting.folder / "large" / f"{name}.npz") as arrays:
                X = arrays["X"].astype(float)
            X -= X.mean(axis=0)
            yield f"{name} cov", X
            yield f"{name} corr", noap.standardize(X[:, X.std(axis=0) > 0])


def of_covariance(name: str, M: np.ndarray, k: int, noise: float = 0.0, **more: object) -> Instance:
    """Return the instance of a covariance or, if it is not square, of samples; noise is the budget as it is."""
    adversary = "FeatureWise" if noise else "NoAdversary"
    known = {"rho": noise, "adversary": adversary, "budget": noise, "covariance": len(M) == len(M.T)}
    return Instance(name, M, k, **(known | more))  # type: ignore[arg-type]


def _read(place: Path, name: str, key: str | None) -> np.ndarray | None:
    if name == "colon" and (place / "CovColon.mat").exists():
        from scipy.io import loadmat

        return np.asarray(loadmat(place / "CovColon.mat")["covcolon"], dtype=float)
    if (place / f"{name}.npz").exists():
        with np.load(place / f"{name}.npz") as arrays:
            return np.asarray(arrays[key] if key in arrays else arrays[arrays.files[0]], dtype=float)
    if (place / f"{name}_{key}.csv").exists():
        return np.loadtxt(place / f"{name}_{key}.csv", delimiter=",")
    if not (place / f"{name}.csv").exists():
        return None
    if name == "pitprops":
        return np.loadtxt(place / f"{name}.csv", delimiter=",")
    return np.genfromtxt(place / f"{name}.csv", delimiter=",", skip_header=1)[:, 1:]
