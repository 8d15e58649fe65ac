"""Cases about which something untrue was once said, each by its reason."""

import math

import numpy as np
from hostile_cases import Case


def _of(adversary, rho, k, X, *, gap=1e-4, source="samples"):
    X = np.array(X, dtype=np.float64)
    return ("as named", source, adversary, "as given", rho, k, len(X), gap, X, None)


def _from(adversary, rho, k, S, n, *, gap=1e-4):
    return ("as named", "covariance", adversary, "as given", rho, k, n, gap, None, np.array(S, dtype=np.float64))


def _without_variance(b, c, d):
    S = np.full((d, d), c)
    S[0] = S[:, 0] = b
    S[np.diag_indices(d)] = 0.0
    S[0, 0] = 1.0
    return S


_SQUARES = [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]
_INTEGERS = [
    [3, 2, 0, 3, -2, 1],
    [3, -3, 3, 3, -3, 0],
    [0, 2, -1, 0, -1, 3],
    [3, -1, -1, -3, -2, 0],
    [-3, 3, -3, 2, 3, 1],
]
_ROW = [
    [-0.48941094389727313, -0.8715899270568291, 0.02842405753321585],
    [0.8179239290963018, -0.4474840963296856, 0.3616053508227892],
]

_KNOWN = {
    "a norm that rounds to the budget": _of("feature", 1.0, 1, [[1.0], [2.0**-27]]),
    "an integer column whose norm rounds down": _of("feature", 5.0990195135927845, 1, [[1.0], [5.0]]),
    "samples whose norms round to the budget": _of("sample", math.sqrt(3.0), 3, _SQUARES),
    "a variance whose root rounds to the budget": _from("feature", 2e-75, 1, [[1e-150]], 4),
    "a square that underflows": _of("feature", 9.999999999999996e-151, 1, [[1e-150]]),
    "a square that underflows, by samples": _of("sample", 9.999999999999999e-151, 1, [[1e-150, 0.0]]),
    "all but cancelled": _of(
        "feature",
        1.2527897635858227,
        2,
        [[-0.7034240014510648, -0.6643671949881427], [1.0366662268676423, 0.12748734432705752]],
        gap=1e-9,
    ),
    "a path to where nothing is left": _of("feature", 1.6007810593582121, 1, [[0.75], [-1.0], [-1.0]]),
    "one sample, one ulp": _of("sample", 1.0728803873062132, 1, [[-1.0728803873062134]]),
    "two samples, one ulp": _of("sample", 0.871589927056829, 1, _ROW),
    "a path through one sample": _of("sample", 1.7320508075688772, 3, [[1.0, 1.0, 1.0]]),
    "a path through two samples": _of("sample", 3.0, 2, [[2.0, -1.0], [3.0, -3.0]]),
    "no data": _of("sample", 0.0, 1, [[0.0]]),
    "no data and a budget": _of("sample", 2.0, 1, [[0.0], [0.0]]),
    "hardly a budget": _of("feature", 1e-310, 6, _INTEGERS),
    "single precision": _of("sample", 2.0, 4, [[1.0, 6.0, 3.0, 9.0, 6.0]], source="float32"),
    "single precision, integers": _of(
        "sample", 8e-150, 2, [[0, 3], [-6, -6], [4, 2], [0, -3], [2, -2]], source="float32"
    ),
    "single precision beyond its square": _of("sample", 2.0**99, 1, [[2.0**100, 0.75 * 2.0**100]], source="float32"),
    "single precision before its square": _of(
        "sample", 2.0**-101, 1, [[2.0**-100, 0.75 * 2.0**-100]], source="float32"
    ),
    "covariances without a variance": _from("none", 0.0, 4, _without_variance(3.436e-6, 1.513e-11, 4), 4, gap=1e-9),
    "covariances without a variance, attacked": _from(
        "feature", 1e-9, 6, _without_variance(9.4e-6, 8.9e-11, 6), 1, gap=0.0
    ),
    "a budget beyond single precision": _of("sample", 1e300, 2, [[2.0, -2.0], [-4.0, -4.0]], source="float32"),
    "a line that proves less than its target": _of(
        "sample", 3.0, 3, [[1, 3, -2], [-2, 1, 3], [3, -2, 1]] * 2, gap=1e-9
    ),
    "a budget that leaves the range in other units": _of("feature", 1e300, 2, [[1e-100, 2e-100], [3e-100, 1e-100]]),
}

# Every claim is looked at; the numbers decide at which budgets the path is taken.
KNOWN = {name: Case(-1, *given) for name, given in _KNOWN.items()}
KNOWN |= {f"{name}, at the budget": Case(-2, *given) for name, given in _KNOWN.items()}
