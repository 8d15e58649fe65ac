"""The judge in exact arithmetic: what a direction is worth, as rational numbers just below and just above it.

Shares no code with noap. Every float is an integer times a power of two, so data, budget and direction become integers,
and the only irrational step of the closed forms is one square root, taken by `math.isqrt` to 230 bits or more. Where
|Xv| meets rho |v|_1 nothing cancels: sqrt(a) - r = (a - r^2)/(sqrt(a) + r) with a and r exact.

`Truth` looks for good directions (in decimals of 90 digits) and keeps the largest worth as `floor`: the optimum is
certainly no smaller. It is not the optimum: a bound above the floor may still be wrong. With at most six features and
six samples it is within 1e-20 of it in almost every case.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np

# Bits of every square root.
_BITS = 230
# Bits of the weights that come from decimals.
_WEIGHT_BITS = 240
_CONTEXT = Context(prec=90, Emax=10**9, Emin=-(10**9))


def integers(*arrays):
    """The arrays as nested lists of integers, and the exponent e: entry = integer * 2^e."""
    parts = [[math.frexp(float(x)) for x in np.ravel(array)] for array in arrays]
    least = min((e - 53 for part in parts for m, e in part if m != 0.0), default=0)
    least = max(least, -1074)
    whole = [[int(math.ldexp(m, 53)) for m, _ in part] for part in parts]
    exponents = [[e - 53 - least for _, e in part] for part in parts]
    # A subnormal's mantissa has trailing zeros, so shifting it down loses nothing.
    return [
        [(m << e) if e >= 0 else (m >> -e) for m, e in zip(ms, es, strict=True)]
        for ms, es in zip(whole, exponents, strict=True)
    ], least


class Judge:
    """Worth of directions for one set of data, adversary and budget.

    Parameters
    ----------
    adversary : "none", "feature" or "sample"
    rho : float, or feature-wise one for each feature, infinite ones included
    n : number of samples
    X : float array of shape (n, d), or None
    S : float array of shape (d, d) instead of X, exactly symmetric
    costs : float array of shape (d,), or None
    """

    def __init__(self, adversary, rho, n, *, X=None, S=None, costs=None):
        self.adversary, self.n = adversary, n
        self.from_samples = X is not None
        data = np.asarray(X if X is not None else S, dtype=np.float64)
        self.data, self.d = data, data.shape[1]
        self.rhos = np.broadcast_to(0.0 if adversary == "none" else np.asarray(rho, dtype=np.float64), self.d)
        self.rho = float(self.rhos[0])
        self.costs = [Fraction(0)] * self.d if costs is None else [Fraction(float(x)) for x in costs]
        finite = np.where(np.isfinite(self.rhos), self.rhos, 0.0)
        if self.from_samples:
            (flat, budgets), self.exponent = integers(data, finite)
        else:
            (flat,), e = integers(data)
            (budgets,), b = integers(finite)
            self.exponent = min(e // 2, b)
            flat = [x << (e - 2 * self.exponent) for x in flat]
            budgets = [x << (b - self.exponent) for x in budgets]
        self.budgets, self.budget = budgets, budgets[0]
        self.rows = [flat[i * self.d : (i + 1) * self.d] for i in range(len(data))]

    def worth(self, weights):
        """Rationals (lower, upper) around the worth of the direction of integer weights, whatever its length.

        Less what its features cost.
        """
        spent = sum((self.costs[j] for j, w in enumerate(weights) if w), Fraction(0))
        lower, upper = self.robust(weights)
        return lower - spent, upper - spent

    def robust(self, weights):
        """The same before costs."""
        places = [j for j, w in enumerate(weights) if w]
        if not places or not np.isfinite(self.rhos[places]).all():
            return Fraction(0), Fraction(0)
        w = [weights[j] for j in places]
        length = sum(x * x for x in w)
        if self.from_samples:
            scores = [sum(row[j] * x for j, x in zip(places, w, strict=True)) for row in self.rows]
            if self.adversary == "sample":
                return self._sample_wise(scores, length)
            energy = sum(s * s for s in scores)
        else:
            energy = self.n * sum(
                x * y * self.rows[i][j] for i, x in zip(places, w, strict=True) for j, y in zip(places, w, strict=True)
            )
        cost = sum(self.budgets[j] * abs(x) for j, x in zip(places, w, strict=True))
        if energy <= cost * cost:
            return Fraction(0), Fraction(0)
        root, bits = _root(energy)
        left = (energy - cost * cost) << bits
        cost <<= bits
        return (
            self._per_sample(left * left, (root + 1 + cost) ** 2 * length),
            self._per_sample(left * left, (root + cost) ** 2 * length),
        )

    def _sample_wise(self, scores, length):
        root, bits = _root(length)
        threshold = self.budget * self.budget * length
        above = [abs(s) for s in scores if s * s > threshold]
        if not above:
            return Fraction(0), Fraction(0)
        lefts = [(s * s - threshold) << bits for s in above]
        low = [(s << bits) + self.budget * (root + 1) for s in above]
        high = [(s << bits) + self.budget * root for s in above]
        # Quotients to a common unit 2^-shift, the largest to 230 bits at least.
        shift = max(0, _BITS - max(a.bit_length() - b.bit_length() for a, b in zip(lefts, low, strict=True)))
        lower = sum(((a << shift) // b) ** 2 for a, b in zip(lefts, low, strict=True))
        upper = sum(((a << shift) // b + 1) ** 2 for a, b in zip(lefts, high, strict=True))
        return self._per_sample(lower, length << 2 * shift), self._per_sample(upper, length << 2 * shift)

    def _per_sample(self, numerator, denominator):
        denominator *= self.n
        if self.exponent >= 0:
            return Fraction(numerator << 2 * self.exponent, denominator)
        return Fraction(numerator, denominator << -2 * self.exponent)

    def of_vector(self, v):
        """`worth` of a vector of floats: the exact numbers, normalised exactly."""
        (weights,), _ = integers(v)
        return self.worth(weights)

    def size(self):
        """At least |Xv| + rho |v|_1, and sample-wise |Xv| + rho sqrt(n), for unit v: what the closed forms subtract."""
        if self.from_samples:
            energies = [sum(row[j] ** 2 for row in self.rows) for j in range(self.d)]
        else:
            energies = [self.n * abs(self.rows[j][j]) for j in range(self.d)]
        long = max(self.d, len(self.rows))
        return (
            (math.isqrt(long) + 1) * (math.isqrt(max(energies)) + 1 + max(self.budgets)) * Fraction(2) ** self.exponent
        )


def _root(x):
    """Integer r and bits b with r <= sqrt(x) 2^b < r + 1, r of at least 230 bits."""
    bits = max(0, _BITS - x.bit_length() // 2 + 1)
    return math.isqrt(x << 2 * bits), bits


class Truth:
    """The largest worth that was found, and the directions behind it."""

    def __init__(self, judge, k, *, extra=()):
        self.judge, self.k = judge, k
        self.candidates = [tuple(int(i == j) for i in range(judge.d)) for j in range(judge.d)]
        if judge.adversary == "sample":
            self.candidates += [tuple(_top(row, k)) for row in judge.rows if any(row)]
        with localcontext(_CONTEXT):
            self.candidates += [_as_integers(v) for v in _Search(judge, k).best()]
        self.floor = max(judge.worth(w)[0] for w in self.candidates)
        if any(judge.costs):
            self.floor = max(self.floor, Fraction(0))  # using no feature is allowed
        for v in extra:
            self.offer(v)

    def offer(self, v):
        """Take a vector of floats as a candidate too."""
        self.floor = max(self.floor, self.judge.of_vector(v)[0])

    def floor_at(self, judge):
        """The floor at another budget, from the same directions."""
        return max(judge.worth(w)[0] for w in self.candidates)


def _top(row, k):
    """The k entries of largest magnitude, the rest 0."""
    keep = set(sorted(range(len(row)), key=lambda j: -abs(row[j]))[:k])
    return [x if j in keep else 0 for j, x in enumerate(row)]


def _as_integers(v):
    top = max(abs(x) for x in v)
    scale = Decimal(2) ** _WEIGHT_BITS / top
    return tuple(int(x * scale) for x in v)


class _Search:
    """Alternating ascent in decimals from every pattern of signs; eigenvectors where the budget is small."""

    def __init__(self, judge, k, *, first=3, finalists=3, steps=120):
        self.judge, self.k = judge, k
        self.first, self.finalists, self.steps = first, finalists, steps
        self.rho = Decimal(judge.rho)
        self.rhos = [Decimal(float(x)) for x in judge.rhos]
        self.costs = [judge.n * Decimal(x.numerator) / Decimal(x.denominator) for x in judge.costs]
        data = [[Decimal(float(x)) for x in row] for row in judge.data]
        self.rows = data
        d = judge.d
        if judge.from_samples:
            self.gram = [[sum(row[i] * row[j] for row in data) for j in range(d)] for i in range(d)]
        else:
            self.gram = [[judge.n * x for x in row] for row in data]
        # A covariance may be indefinite, so that a feature without variance is still worth something beside another.
        self.live = [j for j in range(d) if any(self.gram[j])]
        self.top = max(abs(x) for row in self.gram for x in row)

    def best(self):
        """Good directions, at most a handful."""
        if not self.live:
            return []
        if not any(self.rhos) and not any(self.costs):
            return self._eigenvectors()
        small = min(self.rhos) ** 2 <= self.top / 10**4
        starts = [*(self._eigenvectors() if small else ()), *self._patterns()]
        step = self._sample_step if self.judge.adversary == "sample" else self._feature_step
        alive = []
        for start in starts:
            v, value = start, None
            for _ in range(self.first):
                v, value = step(v)
                if v is None:
                    break
            if v is not None:
                alive.append((value, v))
        alive.sort(key=lambda pair: -pair[0])
        found = []
        for value, start in _distinct(alive, self.finalists):
            v = start
            for _ in range(self.steps):
                better, reached = step(v)
                if better is None:
                    break
                v = better
                if reached <= value * (1 + Decimal("1e-60")):
                    break
                value = reached
            found.append(v)
        return found

    def _patterns(self):
        d = self.judge.d
        if self.judge.adversary == "sample":
            for signs in _signs([i for i, row in enumerate(self.rows) if any(row)], len(self.rows)):
                v = [sum(s * row[j] for s, row in zip(signs, self.rows, strict=True) if s) for j in range(d)]
                if any(v):
                    yield _top(v, self.k)
            return
        live = [j for j in self.live if self.rhos[j] < Decimal("inf")]
        yield from _signs([j for j in live if self.gram[j][j] > self.rhos[j] ** 2 or not self.judge.from_samples], d)

    def _feature_step(self, v):
        """(next v, distance of v squared over |v|^2), or None where the adversary leaves nothing."""
        places = [j for j, x in enumerate(v) if x]
        pulled = [sum(row[j] * v[j] for j in places) for row in self.gram]
        energy = sum(pulled[j] * v[j] for j in places)
        if energy <= 0:
            return None, None
        root = energy.sqrt()
        w = []
        for x, rho, cost in zip(pulled, self.rhos, self.costs, strict=True):
            g = x / root
            y = g - rho if g > rho else g + rho if g < -rho else Decimal(0)
            w.append(y if y * y > cost else Decimal(0))
        order = sorted(range(len(w)), key=lambda j: self.costs[j] - w[j] * w[j])[: self.k]
        w = [x if j in order else Decimal(0) for j, x in enumerate(w)]
        length = sum((x * x - c for x, c in zip(w, self.costs, strict=True) if x), Decimal(0))
        # The largest of (u'Xv - sum rho_j |v_j|)^2 less costs at this u: a floor of the next vector's worth.
        return (w, length) if length > 0 else (None, None)

    def _sample_step(self, v):
        length = sum(x * x for x in v).sqrt()
        if length == 0:
            return None, None
        budget = self.rho * length
        u = []
        for row in self.rows:
            s = sum(x * y for x, y in zip(row, v, strict=True) if y)
            u.append(s - budget if s > budget else s + budget if s < -budget else Decimal(0))
        size = sum(x * x for x in u)
        if size == 0:
            return None, None
        w = [sum(x * row[j] for x, row in zip(u, self.rows, strict=True) if x) for j in range(self.judge.d)]
        return _top(w, self.k), size / (length * length)

    def _eigenvectors(self):
        """Leading eigenvectors of the blocks of k features whose eigenvalue is the largest to 1e-9, four at most."""
        size = min(self.k, len(self.live))
        top = self.top
        scaled = np.array([[float(x / top) for x in row] for row in self.gram])
        blocks = list(combinations(self.live, size))
        values = [np.linalg.eigvalsh(scaled[np.ix_(c, c)])[-1] for c in blocks]
        best = max(values)
        near = [c for x, c in zip(values, blocks, strict=True) if x >= best * (1 - 1e-9)]
        vectors = []
        for c in near[:4]:
            v = [Decimal(0)] * self.judge.d
            for j, x in zip(c, _leading([[self.gram[i][j] / top for j in c] for i in c]), strict=True):
                v[j] = x
            vectors.append(v)
        return vectors


def _signs(places, length):
    """Every vector of signs on the places, up to a common sign, fewest non-zeros first; at most 400."""
    count = 0
    for size in range(1, len(places) + 1):
        for chosen in combinations(places, size):
            for tail in product((1, -1), repeat=size - 1):
                v = [Decimal(0)] * length
                for j, s in zip(chosen, (1, *tail), strict=True):
                    v[j] = Decimal(s)
                yield v
                count += 1
                if count == 400:
                    return


def _distinct(ranked, count):
    """The first few whose values differ by more than 1e-30 or whose supports do."""
    seen, kept = [], []
    for value, v in ranked:
        key = tuple(x != 0 for x in v)
        if any(key == other and abs(value - known) <= Decimal("1e-30") * known for other, known in seen):
            continue
        seen.append((key, value))
        kept.append((value, v))
        if len(kept) == count:
            break
    return kept


def _leading(M):
    """The eigenvector of the largest eigenvalue, by Jacobi's rotations."""
    m = len(M)
    M = [row[:] for row in M]
    Q = [[Decimal(int(i == j)) for j in range(m)] for i in range(m)]
    for _ in range(12):
        off = max((abs(M[i][j]) for i in range(m) for j in range(i)), default=Decimal(0))
        if off <= Decimal("1e-70") * max(abs(M[i][i]) for i in range(m)):
            break
        for p in range(m - 1):
            for q in range(p + 1, m):
                if M[p][q] == 0:
                    continue
                theta = (M[q][q] - M[p][p]) / (2 * M[p][q])
                t = 1 / (abs(theta) + (theta * theta + 1).sqrt())
                t = -t if theta < 0 else t
                c = 1 / (t * t + 1).sqrt()
                s = t * c
                for i in range(m):
                    M[i][p], M[i][q] = c * M[i][p] - s * M[i][q], s * M[i][p] + c * M[i][q]
                for i in range(m):
                    M[p][i], M[q][i] = c * M[p][i] - s * M[q][i], s * M[p][i] + c * M[q][i]
                for i in range(m):
                    Q[i][p], Q[i][q] = c * Q[i][p] - s * Q[i][q], s * Q[i][p] + c * Q[i][q]
    j = max(range(m), key=lambda i: M[i][i])
    return [Q[i][j] for i in range(m)]
