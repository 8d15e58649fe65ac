r"""Scaled diagonal dominance: whether every principal p x p block of a Schur complement is positive definite (p >= 3).

Some d > 0 must have :math:`S_{ii} d_i > \sum |S_{ij}| d_j` over the p - 1 largest terms of every row: part of Step 4,
The Schur test, of docs/exact.md.
"""

import math

import numpy as np

from noap.runtime.kernels import part

# Relative room in comparisons of ratios near 1: many times the rounding of the few operations behind them.
MARGIN = 1e-12
# Up to so many free features whole rows are kept for the dominance test. A ratio in a sample of rows above which the
# test is not worth running.
STORED, HOPELESS = 640, 1.03

# Steps of `largest_sum` on a new row, and from where the last turn left it. To Numba a Python integer is a type of its
# own, for which it would compile the callee once more.
STEPS, STEPS_AGAIN = np.int64(12), np.int64(8)

CLOSED, INCLUDED_FAILS, FREE_FAILS = 0, 1, 2


@part
def fill_row(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, n_free, f, row):
    """Compute a row of the Schur complement off its diagonal."""
    b = n_inc + f
    source = A[idx[b]]
    scaled, shift, slope = -kap[b], -dlt[b], -lean[f]
    tilted = tilt * slope
    for e in range(n_free):
        a = n_inc + e
        row[e] = scaled * kap[a] * source[idx[a]] + shift * alpha[e] + slope * dlt[a] + tilted * lean[e]
    # Four rows of W at a time, so that the row is loaded and stored a quarter as often.
    c = 0
    while c + 4 <= n_inc:
        x0, x1, x2, x3 = W[c, f], W[c + 1, f], W[c + 2, f], W[c + 3, f]
        w0, w1, w2, w3 = W[c], W[c + 1], W[c + 2], W[c + 3]
        for e in range(n_free):
            row[e] -= x0 * w0[e] + x1 * w1[e] + x2 * w2[e] + x3 * w3[e]
        c += 4
    while c < n_inc:
        x0, w0 = W[c, f], W[c]
        for e in range(n_free):
            row[e] -= x0 * w0[e]
        c += 1


@part(fastmath={"reassoc", "contract"})
def above(x, m, tau):
    """Return how many of the first m entries exceed tau, and by how much in all."""
    count, excess = 0, 0.0
    for e in range(m):
        over = x[e] - tau
        count += 1 if over > 0.0 else 0
        excess += 0.0 if over <= 0.0 else over  # so written that NaN stays
    return count, excess


@part(fastmath=True)
def neighbours(x, m, tau):
    """Return the smallest entry above tau and the largest one below. Only a hint where to look for the next tau."""
    over, under = 1e300, -1.0
    for e in range(m):
        more = x[e] if x[e] > tau else 1e300
        less = x[e] if x[e] < tau else -1.0
        over = more if more < over else over
        under = less if less > under else under
    return over, under


@part
def largest_sum(x, m, q, tau, steps):
    """Bound the sum of the q largest of the first m entries of x, none negative, from above; returns (bound, tau).

    For every tau >= 0 the sum is at most q tau + sum (x - tau)_+, with equality for tau from the q-th largest entry to
    the next. Each step goes to where q entries would exceed tau if those above had an exponential tail; the last few
    entries are taken one by one.
    """
    best, best_tau = np.inf, tau
    low, high = -1.0, np.inf
    for step in range(steps):
        count, excess = above(x, m, tau)
        value = q * tau + excess
        if value < best:
            best, best_tau = value, tau
        if count == q or (count < q and tau == 0.0):
            break
        if abs(count - q) <= 2 or step >= steps - 3:
            over, under = neighbours(x, m, tau)
            if count > q:
                low, tau = tau, over
            else:
                high, tau = tau, max(under, 0.0)
            if not low < tau < high:
                break  # equal entries: it was exact
        elif count > q:
            low = tau
            tau += excess / count * math.log(count / q)
            if not tau < high:
                tau = 0.5 * (max(low, 0.0) + high)
        else:
            high = tau
            tau -= min(excess / count * math.log(q / count) if count > 0 else tau, 0.5 * tau)
            if not tau > low:
                tau = 0.5 * (max(low, 0.0) + high)
    return best, best_tau


@part
def dominance(A, idx, kap, dlt, alpha, lean, root, tilt, W, n_inc, m, p, X, warm, glance, stored):
    """Test scaled diagonal dominance over the p - 1 largest entries of every row (p >= 3).

    With N_ij = |S_ij| / sqrt(S_ii S_jj), some d > 0 must have a ratio (sum of the p - 1 largest N_ij d_j) / d_i below 1
    in every row. The sums are a monotone and homogeneous map of d, and damped steps of it lead to its Perron vector,
    where all ratios are equal and the largest ratio is as small as any d makes it; if at some d all ratios exceed 1, no
    d will do. `warm` holds a scaling of all features to start from, and is left with the one that was reached.

    Up to `stored` features the matrix N is kept, in X. Beyond that a row is computed once and only its entries with
    N_ij d_j > edge_i are kept: when d has changed to d', the others are at most edge_i max(d'/d), and with a tau above
    that they do not count. The rows are computed again when d has moved far.

    With `glance`, gives up at once, with no feature named, where a few rows tell that the test is hopeless.
    """
    q = p - 1
    d = np.empty(m)
    for f in range(m):
        # On small problems halfway back to 1: what to branch on should not depend too much on what came before.
        d[f] = warm[idx[n_inc + f]]
        if m <= 128:
            d[f] = math.sqrt(d[f])
    base = np.empty(m)
    for f in range(m):
        base[f] = 1.0
    low, high = spread(d, base, m)
    cold = low >= 0.999 * high
    if glance and m >= 128 and n_inc > 0 and (m > 640 or not cold):
        ratio = sample(A, idx, kap, dlt, alpha, lean, root, tilt, W, n_inc, m, q, d)
        if ratio > HOPELESS:
            return FREE_FAILS, -1, ratio
    least = 4 if cold else 2
    few, many = 2 * q + 8, 4 * q + 40
    whole = m <= max(stored, many)
    row, scaled, sums = np.empty(m), np.empty(m), np.empty(m)
    J = np.empty((1 if whole else m, many), dtype=np.int32)
    held = np.empty(m, dtype=np.int64)
    tau, edge = np.empty(m), np.empty(m)
    for f in range(m):
        held[f], tau[f], edge[f] = m, -1.0, 0.0
    best_measure, last = np.inf, np.inf
    builds, build = 0, True
    for turn in range(40):
        if build:
            guess = 0.0
            for f in range(m):
                if whole:
                    row = X[f]
                fill_row(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, m, f, row)
                row[f] = 0.0
                for e in range(m):
                    row[e] = abs(row[e]) * root[e] * root[f]
                if not whole:
                    for e in range(m):
                        scaled[e] = row[e] * d[e]
                    held[f], edge[f] = gather(row, scaled, m, few, many, guess, X[f], J[f])
                    guess = edge[f]
            for f in range(m):
                base[f] = d[f]
            builds += 1
        low, stretch = spread(d, base, m)
        # With the kept entries alone the ratios are a guess, the one that guides d; `proved` is with the others.
        largest, smallest, proved, biggest = 0.0, np.inf, 0.0, 0.0
        for f in range(m):
            h = held[f]
            x = X[f]
            if whole:
                for e in range(h):
                    scaled[e] = x[e] * d[e]
            else:
                j = J[f]
                for e in range(h):
                    scaled[e] = x[e] * d[j[e]]
            begin, steps = tau[f], STEPS_AGAIN
            if begin < 0.0:
                begin, steps = mean(scaled, h), STEPS
            sums[f], tau[f] = largest_sum(scaled, h, q, begin, steps)
            total = sums[f]
            if not whole and tau[f] < edge[f] * stretch:
                _, excess = above(scaled, h, edge[f] * stretch)
                total = q * (edge[f] * stretch) + excess
                if not total < np.inf:
                    total = np.inf  # what is not a number must not slip through the maximum below
            largest = max(largest, sums[f] / d[f])
            smallest = min(smallest, sums[f] / d[f])
            biggest = max(biggest, sums[f])
            if not total / d[f] <= proved:  # so written that NaN fails
                proved = total / d[f]
        if proved < 1.0 - 4.0 * MARGIN - 4.5e-16 * m:
            keep_scaling(d, m, idx, n_inc, warm)
            return CLOSED, -1, 0.0
        best_measure = min(best_measure, largest)
        # The steps shrink by about a half each time: stop where three times the last one is not enough.
        hopeless = smallest > 1.0 or largest - 3.0 * max(last - largest, 0.0) > 1.0
        if biggest == 0.0 or (turn >= least and hopeless):
            break
        if not whole and largest < 1.0 and builds >= 4:
            break
        last = largest
        for f in range(m):
            # A floor keeps d positive; damping keeps the steps from oscillating.
            d[f] = math.sqrt(d[f] * max(sums[f] / biggest, 1e-2))
        low, stretch = spread(d, base, m)
        build = not whole and builds < 4 and (largest < 1.0 or (turn % 4 == 3 and stretch > 1.3 * low))
    keep_scaling(d, m, idx, n_inc, warm)
    # d has turned towards the feature that the others lean on: the one to branch on.
    return FREE_FAILS, leading(d, m), best_measure


@part
def sample(A, idx, kap, dlt, alpha, lean, root, tilt, W, n_inc, m, q, d):
    """Return the third smallest ratio in eight rows: near the Perron vector all are equal, but for the odd one."""
    row, ratios = np.empty(m), np.empty(8)
    for s in range(8):
        f = (2 * s + 1) * m // 16
        fill_row(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, m, f, row)
        row[f] = 0.0
        for e in range(m):
            row[e] = abs(row[e]) * root[e] * d[e]
        total, _ = largest_sum(row, m, q, mean(row, m), STEPS)
        ratio, place = total * root[f] / d[f], s
        while place > 0 and (ratios[place - 1] > ratio or math.isnan(ratios[place - 1])):
            ratios[place] = ratios[place - 1]
            place -= 1
        ratios[place] = ratio
    return ratios[2]


@part
def gather(row, scaled, m, few, many, guess, kept, where):
    """Keep the entries of a row that are above some edge when scaled, few to many of them; returns (how many, edge)."""
    low, high = 0.0, np.inf
    edge = guess if guess > 0.0 else 2.0 * mean(scaled, m)
    count = many + 1
    for _ in range(40):
        count, excess = above(scaled, m, edge)
        if count > many:
            low = edge
            edge += excess / count * math.log(2.0 * count / (few + many))
            if not edge < high:
                edge = 0.5 * (low + high)
        elif count < few:
            high = edge
            edge = 0.5 * (low + edge)
        else:
            break
    if count > many:
        # Too many equal entries: an edge with few above it, and if none is known, none above it.
        edge = high if high < np.inf else scaled[leading(scaled, m)]
    place = 0
    for e in range(m):
        if not scaled[e] <= edge:
            if place == many:
                return many, np.inf  # not a number among them
            kept[place] = row[e]
            where[place] = e
            place += 1
    return place, edge


@part
def leading(x, m):
    """Return the place of the largest of the first m entries, the first of them; of the first NaN if there is one."""
    top = 0
    for e in range(1, m):
        if math.isnan(x[top]):
            break
        if not x[e] <= x[top]:
            top = e
    return top


@part
def mean(x, m):
    """Return the mean of the first m entries."""
    total = 0.0
    for e in range(m):
        total += x[e]
    return total / max(m, 1)


@part
def spread(d, base, m):
    """Return the least and the largest of d / base."""
    low, high = np.inf, 0.0
    for f in range(m):
        low = min(low, d[f] / base[f])
        high = max(high, d[f] / base[f])
    return low, high * (1.0 + 1e-15)


@part
def keep_scaling(d, m, idx, n_inc, warm):
    """Write the scaling back, its largest entry 1."""
    top = 0.0
    for f in range(m):
        top = max(top, d[f])
    for f in range(m):
        warm[idx[n_inc + f]] = max(d[f] / top, 1e-3)
