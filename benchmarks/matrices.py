"""Read the public benchmark matrices of the sparse PCA literature from a folder, if it is there."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

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


def read_matrices(folder: Path) -> Iterator[tuple[str, str | None, np.ndarray]]:
    """Yield (set, array, matrix) for every set that the folder holds; say which ones it does not."""
    for name, keys in SETS.items():
        for key in keys:
            matrix = _read(folder / name, name, key)
            if matrix is None:
                print(f"skipped: {name} is not in {folder}")
            else:
                yield name, key, (matrix + matrix.T) / 2


def _read(place: Path, name: str, key: str | None) -> np.ndarray | None:
    if name == "colon" and (place / "CovColon.mat").exists():
        from scipy.io import loadmat

        return np.asarray(loadmat(place / "CovColon.mat")["covcolon"])
    if (place / f"{name}.npz").exists():
        return np.asarray(np.load(place / f"{name}.npz")[key])
    if (place / f"{name}_{key}.csv").exists():
        return np.loadtxt(place / f"{name}_{key}.csv", delimiter=",")
    if not (place / f"{name}.csv").exists():
        return None
    if name == "pitprops":
        return np.loadtxt(place / f"{name}.csv", delimiter=",")
    return np.genfromtxt(place / f"{name}.csv", delimiter=",", skip_header=1)[:, 1:]
