"""Where the matrices come from: scikit-learn, a simulation, and a folder of public benchmark sets if there is one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.theory import spiked_wishart

__all__ = ["PUBLISHED", "SETS", "Matrix", "bundled", "from_folder", "matrices", "matrices_in", "modules", "strong_weak"]

# Which array of each set, in a folder laid out as <name>/<name>.{csv,npz}; None for the only one.
SETS: dict[str, tuple[str | None, ...]] = {
    "pitprops": (None,),
    "wine": ("corr",),
    "housing": (None,),
    "keggdirected": (None,),
    "pol": (None,),
    "wdbc": (None,),
    "ionosphere": ("corr",),
    "dermatology": (None,),
    "miniboone": ("corr", "cov"),
    "spambase": (None,),
    "digits": (None,),
    "buzz": (None,),
    "song": (None,),
    "eisen1": (None,),
    "communities": ("corr", "cov"),
    "eisen2": (None,),
    "gas": (None,),
    "arrhythmia": ("corr", "cov"),
    "colon": (None,),
}

# Published values of vanilla sparse PCA, by (set, array) and k.
PUBLISHED: dict[tuple[str, str | None], dict[int, float]] = {
    ("pitprops", None): dict(
        zip(
            range(1, 14),
            (1.000, 1.954, 2.475, 2.937, 3.406, 3.771, 3.996, 4.069, 4.139, 4.173, 4.208, 4.218, 4.219),
            strict=True,
        )
    ),
    ("wine", "corr"): {5: 3.43978, 10: 4.59429},
    ("miniboone", "corr"): {5: 5.0, 10: 9.99999},
    ("communities", "corr"): {5: 4.86051, 10: 8.8236},
    ("communities", "cov"): {5: 0.2771, 10: 0.4452},
    ("arrhythmia", "corr"): {5: 4.2321, 10: 7.53938},
}


@dataclass(frozen=True, eq=False)
class Matrix:
    """A covariance or correlation matrix and its name; `published` are values of other authors by k."""

    name: str
    S: FloatArray
    published: dict[int, float]

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.S)


def strong_weak(n: int, d: int, k: int, seed: int, lam: float = 3.0) -> FloatArray:
    """Return samples of the paper's strong/weak model: lambda = 3 unless said otherwise, k1 = 2, c = 0.8."""
    X: FloatArray = spiked_wishart(n, d, k, lam, k1=2, c=0.8, random_state=seed).X
    return X


def modules(n: int, d: int) -> FloatArray:
    """Return standardised samples, a fifth of their features in groups of 20 that share a factor, in no order."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5 - 19, 20):
        X[:, first : first + 20] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, 20))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X[:, rng.permutation(d)]


def matrices(folder: Path | None) -> tuple[list[Matrix], list[str]]:
    """Return every matrix there is, smallest first, and a sentence for each that is not there."""
    found, missing = bundled(), []
    if folder is None:
        missing.append("No folder of matrices was given (--data FOLDER): only bundled and simulated data are used.")
    else:
        if not folder.is_dir():
            raise InvalidProblem(f"--data {folder} is not a folder; name one with matrices in it or leave it out.")
        for name, key, S in from_folder(folder):
            label = f"{name} {key}" if key else name
            if S is None:
                missing.append(f"{label} is not in the folder of matrices: skipped.")
            else:
                found.append(Matrix(label, S, PUBLISHED.get((name, key), {})))
    return sorted(found, key=lambda matrix: matrix.d), missing


def bundled() -> list[Matrix]:
    """Return correlation matrices of data that ship with scikit-learn, and covariances of simulated samples."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

    found = []
    loaders = {
        "diabetes": load_diabetes,
        "wine": load_wine,
        "breast cancer": load_breast_cancer,
        "digits": load_digits,
    }
    for name, load in loaders.items():
        data = np.asarray(load().data, dtype=np.float64)
        data = data[:, data.std(axis=0) > 0]
        found.append(Matrix(f"{name} (scikit-learn)", _symmetric(np.asarray(np.corrcoef(data.T))), {}))
    for d in (100, 300):
        X = strong_weak(200, d, 10, 0)
        found.append(Matrix(f"strong/weak d={d} (simulated)", _symmetric(X.T @ X / len(X)), {}))
    noise = np.random.default_rng(0).standard_normal((200, 60))
    found.append(Matrix("noise d=60 (simulated)", _symmetric(noise.T @ noise / len(noise)), {}))
    return found


def from_folder(folder: Path) -> Iterator[tuple[str, str | None, FloatArray | None]]:
    """Yield (set, array, matrix) for every set known here, None for a matrix that the folder does not hold."""
    for name, keys in SETS.items():
        for key in keys:
            S = _read(folder / name, name, key)
            yield name, key, None if S is None else _symmetric(S)


def matrices_in(folder: Path) -> list[tuple[str, str | None, FloatArray]]:
    """Return the (set, array, matrix) that the folder does hold."""
    return [(name, key, S) for name, key, S in from_folder(folder) if S is not None]


def _symmetric(S: FloatArray) -> FloatArray:
    return (S + S.T) / 2


def _read(place: Path, name: str, key: str | None) -> FloatArray | None:
    if name == "colon" and (place / "CovColon.mat").exists():
        from scipy.io import loadmat

        return np.asarray(loadmat(place / "CovColon.mat")["covcolon"], dtype=np.float64)
    if (place / f"{name}.npz").exists():
        with np.load(place / f"{name}.npz") as arrays:
            return np.asarray(arrays[key] if key in arrays else arrays[arrays.files[0]], dtype=np.float64)
    if (place / f"{name}_{key}.csv").exists():
        return np.loadtxt(place / f"{name}_{key}.csv", delimiter=",")
    if not (place / f"{name}.csv").exists():
        return None
    if name == "pitprops":
        return np.loadtxt(place / f"{name}.csv", delimiter=",")
    return np.genfromtxt(place / f"{name}.csv", delimiter=",", skip_header=1)[:, 1:]
