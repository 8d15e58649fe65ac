"""Check a noap certificate: one file, Python's standard library, written from docs/certificate-format.md alone.

    python noap_check.py CERTIFICATE DATA [--header | --no-header] [--explain]

DATA, a .csv or .npy file, holds the samples or the covariance that the certificate speaks of. The answer is ACCEPT with
what is proved, exit code 0; REJECT, 1; or that an input cannot be read, 2. --explain prints the proof in words.

What is claimed. A *choice* is a set S of at most k features (all demanded, no forbidden ones) and a unit vector v that
is zero outside S. It is worth (sqrt(v'Av) - sum_j r_j |v_j|)_+^2 - sum_{j in S} pi_j, where A = X'X/n. The claim:
the best choice is worth at least `value` and at most `bound`. A certificate may have *directions*: rows V, and choices
are then those with |V v| <= 10^-8. For these v'Gv <= v'(G - V'diag(sigma)V) v + 10^-16 max sigma, if all sigma >= 0.
Against attacks on samples (the second half of this file; without directions) a choice is worth
sum_i (|x_i'v| - rho_i)_+^2 / n - sum_{j in S} pi_j instead.

How numbers are held. An integer a stands for a / 2^128 (its last place is an *ulp*). Three ideas make rounding safe:

1. Budgets r, costs pi and thresholds T are rounded down once, and are exact from then on. That is another problem,
   whose choices are worth no less, with a bound to prove that is no larger.
2. Multipliers of a proof may be any numbers. They are rounded once, in any direction, and are exact from then on.
3. The matrix A is known to an ulp or two in each entry, and what is computed from it to a few more. A symmetric matrix
   whose n x n entries are wrong by at most e each is wrong by at most n e in the order of semidefinite matrices (its
   eigenvalues are at most its largest row sum). So n e is taken off the diagonal, and what is shown of the rest holds.

The same idea makes a rounded Cholesky factorisation a proof. In integers each step is a division with remainder:
2^128 M_ij = sum_{k <= j} L_ik L_jk + E_ij, with 0 <= E_ij < L_jj for j < i and 0 <= E_ii <= 2 L_ii. So
2^128 M = L L' + E exactly, and no eigenvalue of E is below -(n - 1) max_j L_jj, where L_jj^2 <= 2^128 M_jj. That much
is taken off the diagonal of M before the start; then M itself is positive semidefinite if all pivots are positive.
If only the features of I are eliminated, what remains is a lower bound of the Schur complement of M, since a Schur
complement grows with its matrix.
"""

import argparse
import ast
import hashlib
import json
import re
import struct
import sys
import zlib
from array import array
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate, chain, combinations, pairwise
from math import frexp, fsum, gcd, inf, isfinite, isinf, isqrt, sqrt
from operator import mul
from types import SimpleNamespace

BITS = 128
ONE = 1 << BITS
FEATURE, SIGN, LENGTHS, DOMINANCE, MATRIX, ENVELOPE, LISTED, BEYOND = range(8)
RULES = ("FEATURE", "SIGN", "LENGTHS", "DOMINANCE", "MATRIX", "ENVELOPE", "LISTED", "BEYOND")
THRESHOLD, BOX, FREE = range(3)


class Reject(Exception):
    """The certificate does not prove its claim, or this checker does not understand it."""


class Unreadable(Exception):
    """An input cannot be read."""


def need(condition, reason):
    """Reject unless the condition holds."""
    if not condition:
        raise Reject(reason)


def fixed(x, exponent=0):
    """Return floor(x 2^(128 - exponent)) of a double x."""
    fraction, e = frexp(x)
    shift = e - 53 + BITS - exponent
    whole = int(fraction * 2.0**53)
    return whole << shift if shift >= 0 else whole >> -shift


def up(a, b=ONE):
    """Return the ceiling of a / b, b > 0."""
    return -(-a // b)


def integers(doubles):
    """Return integers m and s with x = m / 2^s for all doubles x of a list, s as small as it can be."""
    parts = [frexp(x) for x in doubles]
    least = min((e for x, e in parts if x), default=0)
    whole = [int(x * 2.0**53) << e - least if x else 0 for x, e in parts]
    common = gcd(*whole)
    zeros = max((common & -common).bit_length() - 1, 0)
    return [m >> zeros for m in whole], 53 - least - zeros


def is_definite(lower, error):
    """Prove that a symmetric matrix is positive semidefinite (see the head of this file).

    `lower` has the rows of its lower triangle, each entry at most `error` ulps from the truth.
    """
    n = len(lower)
    top = max((row[-1] for row in lower), default=0)
    slack = n * error + (n * (isqrt(max(top, 0) << BITS) + 1) >> BITS) + 1
    factor, pivots = [], []
    for i, row in enumerate(lower):
        new = []
        for entry, other, pivot in zip(row, factor, pivots):  # noqa: B905 - the last entry of the row is the diagonal's
            new.append(((entry << BITS) - sum(map(mul, new, other))) // pivot)
        square = ((row[i] - slack) << BITS) - sum(map(mul, new, new))
        if square <= 0:
            return False
        pivots.append(isqrt(square))
        factor.append(new)
    return True


# The file. Of each array: its type; as long as which other one (* : lists whose lengths that one has; - : see below);
# what its numbers are: any, amount (not negative), positive, feature, or below a number or the length of an array.

LAYOUT = """
u4 -                  feature        include exclude support
f8 support            any            weights
f8 -                  amount         rho costs
f8 -                  any            mean directions
f8 mean               positive       scale
u4 -                  any            list_size
f8 list_size          positive       list_value
f8 list_size          any            list_beyond
u4 *list_size         feature        list_features
f8 *list_size         any            list_weights
u4 -                  any            level_size majorant_size scaling_size line_size
f8 level_size         any            level_bound level_target
u4 level_size         any            level_features level_nodes
u4 *level_features    feature        features
u1 *level_nodes       8              rule
u4 rule               any            item
f8 majorant_size      amount         majorant_gain
f8 *many_majorants    amount         majorant_deflation
f8 *many_majorants    any            majorant_multipliers
u4 *majorant_size     feature        majorant_features
f8 *majorant_size     any            majorant_weights
u4 -                  majorant_size  dominance_majorant matrix_majorant
u4 -                  any            attack_included attack_free attack_places attack_rows
f8 attack_places      amount         attack_spread
u4 *attack_parts      feature        attack_columns
u4 *attack_rows       sample         attack_samples
f4 *attack_entries    any            attack_moves
u4 dominance_majorant any            dominance_scaling
f8 dominance_majorant amount         dominance_threshold
u4 *scaling_size      feature        scaling_features
f4 *scaling_size      positive       scaling_values
u4 matrix_majorant    line_size      matrix_line
u4 -                  positive       envelope_size
u4 *envelope_size     line_size      envelope_lines
u4 *envelope_scaled   any            envelope_scalings
f8 line_size          any            line_c line_plain line_weighted
f8 *many_lines        amount         line_deflation
u1 line_size          2              line_counts
u1 line_size          7              line_form
u4 *line_size         either         line_features
f4 *line_size         amount         line_loads line_lifts
i2 *steps             any            line_steps
f4 *free              any            line_free
i1 *signs             any            line_signs
f4 *dues              amount         line_dues
f4 *pulls             any            line_pulls
"""
ARRAYS = {name: row.split()[:3] for row in LAYOUT.split("\n") for name in row.split()[3:]}
TYPES = {"u1": "B", "u4": "I", "i1": "b", "i2": "h", "f4": "f", "f8": "d"}
RECORDS = {DOMINANCE: "dominance_majorant", MATRIX: "matrix_majorant", ENVELOPE: "envelope_size"}
RECORDS |= {LISTED: "list_size", BEYOND: "list_size"}
COLUMNS = ("name", "dtype", "count", "bytes")


def read_header(raw):
    """Return the header of a file and where its arrays begin."""
    need(raw[:8] == b"NOAP\0CRT" and len(raw) >= 46, "this is not a certificate of noap, or it is cut off")
    version, length = struct.unpack_from("<HI", raw, 8)
    need(version == 5, f"the file is of version {version}; this checker knows version 5")
    need(hashlib.sha256(raw[:-32]).digest() == raw[-32:], "the file is damaged: it has another digest")
    try:
        pairs = json.loads(raw[14 : min(14 + length, len(raw) - 32)].decode(), object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        raise Reject("the header is not JSON") from None
    numbers = ("value", "bound", "shift", "exponent", "k", "n_samples", "n_features")
    header = only(pairs, ("kind", "adversary", "source", "fingerprint", "device", "arrays", *numbers))
    for key in numbers:
        x, kinds = header[key], (int, float) if key in ("value", "bound", "shift") else (int,)
        fits = type(x) in kinds and abs(x) <= sys.float_info.max and float(x) == x
        need(fits or (key == "shift" and x is None), f"{key} is no double, or no integer")
    known = header["source"] in ("samples", "covariance")
    known = known and header["adversary"] in ("none", "feature-wise", "sample-wise")
    known = known and header["kind"] in ("single", "list") and header["device"] is False
    need(known, "this checker does not know its kind")
    need(header["value"] <= header["bound"], "value is larger than bound")
    need((header["shift"] or 0) >= 0 and abs(header["exponent"]) <= 600, "shift or exponent is out of range")
    sizes = 1 <= header["k"] <= header["n_features"] < 2**32 and 1 <= header["n_samples"] < 2**63
    need(sizes and type(header["arrays"]) is list, "k, n_features, n_samples or arrays is out of range")
    return header, 14 + length


def only(pairs, keys):
    """Return a JSON object that has these keys, each once."""
    fits = type(pairs) is tuple and len(pairs) == len(keys) and set(dict(pairs)) == set(keys)
    need(fits, "a JSON object has other keys than version 5")
    return dict(pairs)


def read_arrays(raw, start, records):
    """Return the arrays of a file by name; empty ones are not in the file. No more is allocated than is allowed."""
    arrays, total = {name: array(TYPES[ARRAYS[name][0]]) for name in ARRAYS}, 0
    for pairs in records:
        name, kind, count, packed = map(only(pairs, COLUMNS).get, COLUMNS)
        need(type(name) is str and name in ARRAYS, f"this checker does not know the array {name!r}")
        need(kind == ARRAYS[name][0] and not arrays[name], f"{name} occurs twice or is not of type {ARRAYS[name][0]}")
        need(type(count) is type(packed) is int and 0 < count < 2**31 and packed > 0, f"{name} has no length")
        size = count * arrays[name].itemsize
        total += size
        need(size <= 1032 * packed + 1024, f"{name} cannot be as long as it says")
        need(total <= min(64_000_000 + 32 * len(raw), 1 << 31), "the arrays are too large for the file")
        stream = zlib.decompressobj()
        try:
            content = stream.decompress(raw[start : min(start + packed, len(raw) - 32)], size + 1)
        except zlib.error:
            raise Reject(f"{name} is no zlib stream") from None
        ended = stream.eof and not stream.unused_data and not stream.unconsumed_tail
        need(ended and len(content) == size, f"{name} is not as long as it says")
        arrays[name].frombytes(content)
        if kind[0] == "f":
            need(all(map(isfinite, arrays[name])) or name in ("scale", "rho"), f"{name} has numbers not finite")
        start += packed
    need(start == len(raw) - 32, "something follows the last array")
    return arrays


class Certificate:
    """The content of a file: every array has its length, every index its range, every list of features its order."""

    def __init__(self, raw):
        self.header, start = read_header(raw)
        self.arrays = get = read_arrays(raw, start, self.header["arrays"])
        self.d = d = self.header["n_features"]
        self.many = len(get["directions"]) // d
        need(len(get["directions"]) == self.many * d, "directions is too long or too short")
        sizes, forms = get["line_size"], get["line_form"]
        lengths = {
            "steps": (b * (b - 1) // 2 * (form & 3 == BOX) for b, form in zip(sizes, forms, strict=True)),
            "free": (b * (b - 1) // 2 * (form & 3 == FREE) for b, form in zip(sizes, forms, strict=True)),
            "signs": (b * (form & 3 == FREE) for b, form in zip(sizes, forms, strict=True)),
            "dues": (b * (form > 3) for b, form in zip(sizes, forms, strict=True)),
            "pulls": (b * b * (form > 3) for b, form in zip(sizes, forms, strict=True)),
            "many_majorants": [self.many] * len(get["majorant_size"]),
            "many_lines": [self.many] * len(sizes),
            **get,
        }
        n, attacked = self.header["n_samples"], self.header["adversary"] == "sample-wise"
        self.on_samples = attacked and any(get["rho"])
        parts = ("attack_included", "attack_free", "attack_places", "attack_rows")
        for name in parts:
            fits = len(get[name]) == (len(get["majorant_size"]) if self.on_samples else 0)
            need(fits, f"{name} is too long or too short")
        both = list(zip(get[parts[0]], get[parts[1]], strict=True))
        lengths["attack_parts"] = chain.from_iterable(both)
        rows = zip(get["attack_rows"], both, strict=True)
        lengths["attack_entries"] = (r * sum(pair) for r, pair in rows)
        lengths["envelope_scaled"] = get["envelope_size"] if self.on_samples else ()
        ranges = {"feature": d, "sample": n, "either": max(d, n) if self.on_samples else d}
        self.ends = {}
        for name, (_, length, numbers) in ARRAYS.items():
            values = get[name]
            if length[0] == "*":
                self.ends[name] = array("Q", accumulate(lengths[length[1:]], initial=0))
                need(self.ends[name][-1] == len(values), f"{name} is too long or too short")
            elif length != "-":
                need(len(values) == len(get[length]), f"{name} is too long or too short")
            if numbers in ranges:
                ends = self.ends.get(name, (0, len(values)))
                ascending = all(a < b for i, j in pairwise(ends) for a, b in pairwise(values[i:j]))
                need(ascending and max(values, default=0) < ranges[numbers], f"{name} is not ascending or out of range")
            elif numbers in ("amount", "positive"):
                need(all(x > 0 if numbers == "positive" else x >= 0 for x in values), f"{name} has a negative number")
            elif numbers != "any":
                limit = len(get[numbers]) if numbers in get else int(numbers)
                need(max(values, default=-1) < limit, f"{name} has a number out of range")
        for name in ("dominance_scaling", "envelope_scalings"):
            need(max(get[name], default=0) <= len(get["scaling_size"]), f"{name} is out of range")
        for size, given in zip(get["majorant_size"], get["attack_rows"], strict=False):
            need(not (size and given), "a response has moves")
        need(0 not in get["list_weights"], "list_weights has a 0")
        need(not get["list_size"] or self.header["kind"] == "list", "it lists supports, and claims nothing of them")
        need(-32768 not in get["line_steps"] and 3 not in get["line_form"], "line_steps or line_form is out of range")
        need(all(-1 <= x <= 1 for x in get["line_signs"]), "line_signs has other numbers than -1, 0, 1")
        budgets = {"none": (0,), "feature-wise": (1, d), "sample-wise": (1, n)}[self.header["adversary"]]
        need(not attacked or self.header["source"] == "samples", "attacks on samples need them")
        need(not (attacked and self.many), "no rule is about attacks on samples where v is orthogonal to directions")
        means = (0, d) if self.header["source"] == "samples" else (0,)
        for name, counts in ("rho", budgets), ("costs", (0, d)), ("mean", means):
            need(len(get[name]) in counts, f"{name} is too long or too short")
        self.include, self.exclude = list(get["include"]), set(get["exclude"])
        need(not self.exclude.intersection(self.include), "a feature is demanded and forbidden")
        need(len(self.include) <= self.header["k"], "more than k features are demanded")
        many = n if self.on_samples else d
        rho = get["rho"] if self.on_samples or not attacked else []
        self.rho = list(rho) * (many if len(rho) == 1 else 1) or [0.0] * many

    def part(self, name, i):
        """Return list i of an array that holds several, one after the other."""
        return self.arrays[name][self.ends[name][i] : self.ends[name][i + 1]]

    def levels(self):
        """Return the levels of the proof."""
        return [Level(self, number) for number in range(len(self.arrays["level_size"]))]


def read_npy(raw):
    """Return the numbers of a .npy file row by row, and its shape."""
    try:
        width = {1: 2, 2: 4, 3: 4}[raw[6]]
        start = 8 + width + int.from_bytes(raw[8 : 8 + width], "little")
        about = ast.literal_eval(raw[8 + width : start].decode())
        codes = {"<f8": "d", "<f4": "f", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I"}
        values, (n, d) = array({**codes, "<i8": "q", "<u8": "Q"}[about["descr"]]), about["shape"]
        values.frombytes(raw[start : start + n * d * values.itemsize])
        if len(values) != n * d or d < 1:
            raise ValueError
        values = array("d", values)
        return array("d", (x for i in range(n) for x in values[i::n])) if about["fortran_order"] else values, n, d
    except (ValueError, TypeError, KeyError, IndexError, SyntaxError, MemoryError, RecursionError):
        raise Unreadable("the .npy file is not a table of little-endian numbers") from None


def read_csv(text, expected, header):
    """Return the numbers of a .csv file row by row, and its shape; a first line of names is passed over."""
    rows = [line.split(",") for line in text.splitlines() if line.strip()]
    if header is None:
        header = len(rows) == expected + 1 or not re.fullmatch(r"[-+.,\s\deE]*", ",".join(rows[0] if rows else ""))
    try:
        rows = [array("d", map(float, row)) for row in rows[header:]]
    except ValueError as error:
        raise Unreadable(f"the data have a field that is no number: {error}") from None
    columns = len(rows[0]) if rows else 0
    need(all(len(row) == columns for row in rows), "the lines of the data have different numbers of fields")
    return array("d", chain.from_iterable(rows)), len(rows), columns


def read_file(path):
    """Return the bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None


def read_data(path, certificate, header):
    """Return the doubles of the file of data, row by row; it has the shape that the certificate says."""
    n, d, source = (certificate.header[key] for key in ("n_samples", "n_features", "source"))
    n, raw = n if source == "samples" else d, read_file(path)
    try:
        values, *shape = read_npy(raw) if raw[:6] == b"\x93NUMPY" else read_csv(raw.decode("utf-8-sig"), n, header)
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is neither .npy nor text") from None
    if not all(map(isfinite, values)):
        raise Unreadable("the data have numbers that are not finite")
    need(shape == [n, d], f"it speaks of {source} of {n} x {d}, the data are {shape[0]} x {shape[1]}")
    return values


def prepared(values, certificate):
    """Return what the claim is about, (x - mean) / scale in IEEE doubles and -0.0 as 0.0; its fingerprint must fit."""
    n, d, source = (certificate.header[key] for key in ("n_samples", "n_features", "source"))
    mean, scale = certificate.arrays["mean"], certificate.arrays["scale"]
    if mean:
        values = ((x - mean[i % d]) / scale[i % d] for i, x in enumerate(values))
    values, block = array("d", [x + 0.0 for x in values]), max(1, 2**17 // d)
    need(all(map(isfinite, values)), "a prepared sample is not finite")
    whole = hashlib.sha256(b"\1" + source.encode() + struct.pack("<3Q", n, d, block))
    for start in range(0, len(values), block * d):
        whole.update(hashlib.sha256(b"\0" + values[start : start + block * d].tobytes()).digest())
    need(whole.hexdigest() == certificate.header["fingerprint"], "the data are not those that it speaks of")
    return values


def about_preparation(values, certificate):
    """Say, to rounding, whether mean and scale are those of the data. This is no part of the claim."""
    mean, scale, d = certificate.arrays["mean"], certificate.arrays["scale"], certificate.d
    n, centred, scaled = len(values) // d, True, True
    for j in range(len(mean)):
        column = values[j::d]
        middle, near = fsum(column) / n, 1e-12 * max(map(abs, column))
        spread = sqrt(fsum((x - middle) ** 2 for x in column) / n)
        centred = centred and abs(mean[j] - middle) <= near
        scaled = scaled and (abs(scale[j] - spread) <= 1e-10 * spread or (spread <= near and scale[j] == inf))
    by = "one" if all(x == 1 for x in scale) else "standard deviations" if scaled else "OTHER NUMBERS than those"
    less = "means" if centred else "OTHER NUMBERS than means"
    return f"the data less their {less}, divided by {by}" if mean else "the data are taken as they are"


def nothing_left(values, certificate):
    """Return, exactly, whether no choice can be worth more than 0 less what demanded features cost: A is as good as 0.

    With phi = rho + sqrt(n pi), or rho where features are demanded, which pay in any case: no column of the samples is
    longer than phi. Or, with a covariance, n |A_ij| <= phi_i phi_j, so n v'Av <= (sum phi_j |v_j|)^2, and what is left
    of sqrt(v'Av) is at most sum sqrt(pi_j) |v_j|.
    """
    n, k, d, include = (*map(certificate.header.get, ("n_samples", "k")), certificate.d, certificate.include)
    samples, rho, costs = certificate.header["source"] == "samples", certificate.rho, certificate.arrays["costs"]
    usable = include if len(include) == k else [j for j in range(d) if j not in certificate.exclude]
    phi = {}
    for j in usable:
        if isinf(rho[j]):
            continue
        x, s = integers(values[j::d]) if samples else ([], 0)
        square = sum(map(mul, x, x)) / Fraction(4) ** s if samples else n * Fraction(values[j * d + j])
        budget, cost = Fraction(rho[j]) ** 2, n * Fraction(costs[j] if costs and not include else 0)
        beyond = square - budget - cost
        if beyond > 0 and beyond * beyond > 4 * budget * cost:
            return False
        phi[j] = Fraction(rho[j]) + Fraction(isqrt(int(cost * 4**1200)), 2**1200)
    pairs = combinations(phi, 2) if not samples and k > 1 else ()
    return all(n * abs(Fraction(values[i * d + j])) <= phi[i] * phi[j] for i, j in pairs)


class Problem:
    """The matrix A, budgets r, costs and what follows from them, in fixed point and in units of 4^exponent.

    A feature contributes at most (|a_j| - r_j)_+^2 - pi_j, which `most` has, rounded up. After that a budget beyond
    |a_j| = sqrt(A_jj) is lowered to that: either leaves the feature no contribution.
    """

    on_samples = False

    def __init__(self, values, certificate):
        header, get, d, rho = certificate.header, certificate.arrays, certificate.d, certificate.rho
        nothing = nothing_left(values, certificate)
        self.values, self.d = [0.0] * len(values) if nothing else values, d
        self.n, self.k = header["n_samples"], header["k"]
        self.exponent, self.is_samples = header["exponent"], header["source"] == "samples"
        self.rows, self.columns = {}, {}
        self.include, self.exclude = certificate.include, certificate.exclude
        self.allowed = [j for j in range(d) if j not in self.exclude]
        self.costs = [fixed(c, 2 * self.exponent) for c in get["costs"]] or [0] * d
        # Entries of V are rounded down: |V v| grows by less than d m 2^-128, for which the square of 10^-8 has room.
        self.directions = [[fixed(x) for x in get["directions"][i * d : i * d + d]] for i in range(certificate.many)]
        self.tolerance = up((ONE + (ONE >> 40)), 10**16)
        self.idle = {j for j in range(d) if isinf(rho[j])} if self.directions else set()
        need(not self.is_samples or header["shift"] == 0, "the shift of samples is not 0")
        self.shift, self.definite = fixed(header["shift"] or 0.0), header["shift"] is not None
        if nothing:
            self.shift, self.definite = 0, True
        self.additive = self.definite  # contributions of features add up
        self.plain = self.definite and not self.include and not self.directions  # then levels may build on others
        self.diagonal = [self.product(j, j) + self.shift for j in range(d)]
        self.largest_variance = max(self.diagonal) - self.shift
        self.largest = max(map(abs, self.diagonal)) + 2
        if not self.is_samples:
            need(all(values[i * d : i * d + i] == values[i : i * d : d] for i in range(d)), "it is not symmetric")
            if self.definite and not nothing:
                lower = [[*(self.product(i, j) for j in range(i)), self.diagonal[i]] for i in range(d)]
                need(is_definite(lower, 2), "the covariance and its shift are not positive semidefinite")
        need(self.definite or not any(rho), "budgets of a covariance need a shift")
        units = Fraction(2) ** (2 * BITS - 2 * self.exponent) / self.n
        self.budgets = [inf if isinf(x) or nothing else isqrt(int(Fraction(x) ** 2 * units)) for x in rho]
        self.r, self.most = self.budgets, []
        if self.definite:
            lengths = [isqrt(a + 2 << BITS) + 1 for a in self.diagonal]
            beyond = [length - r if r < length else 0 for length, r in zip(lengths, self.r, strict=True)]
            self.most = [up(x * x) - cost for x, cost in zip(beyond, self.costs, strict=True)]
            # What an attack may spend; and with directions a budget counts in full, unless it is infinite.
            spent = [min(r, isqrt(max(a, 0) << BITS)) for r, a in zip(self.r, self.diagonal, strict=True)]
            whole = self.directions and not nothing
            self.r = [s if isinf(r) else r for r, s in zip(self.r, spent, strict=True)] if whole else spent
            farthest = 4 * isqrt(self.largest << BITS)
            self.spent = [min(r, farthest) for r in self.r]
        self.top = max(self.r)
        self.w = [(r << BITS) // self.top for r in self.r] if self.top else [ONE] * d

    def penalty(self, sigma, i, columns):
        """Return some entries of row i of V'diag(sigma)V, times 2^256, rounded down by less than 1."""
        row = [s * v[i] for s, v in zip(sigma, self.directions, strict=True)]
        return [sum(a * v[j] for a, v in zip(row, self.directions, strict=True)) >> BITS for j in columns]

    def product(self, i, j):
        """Return A_ij without the shift, rounded down."""
        if not self.is_samples:
            return fixed(self.values[i * self.d + j], 2 * self.exponent)
        for column in (i, j):
            if column not in self.columns:
                self.columns[column] = integers(self.values[column :: self.d])
        (x, s), (y, t) = self.columns[i], self.columns[j]
        shift = BITS - 2 * self.exponent - s - t
        total = sum(map(mul, x, y))
        return (total << max(shift, 0) >> max(-shift, 0)) // self.n

    def lengths(self, node):
        """Return at least what the features of any choice contribute together."""
        most = self.most
        return sum(most[j] for j in node.inside) + largest_sum([max(most[j], 0) for j in node.free], node.most)

    def entries(self, i, columns):
        """Return some entries of row i of A; each is too small by at most an ulp, two on the diagonal."""
        row = self.rows.setdefault(i, {i: self.diagonal[i]})
        for j in columns:
            if j not in row:
                row[j] = self.rows.setdefault(j, {j: self.diagonal[j]})[i] = self.product(i, j)
        return [row[j] for j in columns]


class Majorant:
    """M_ij = f_i f_j (A_ij - g_i g_j) + (1 + kappa) h_i h_j, the attack in response to x; plain: M = A.

    Let u be the unit vector of sum x_j a_j and g_j = a_j'u. The attack takes a_j to c_j = h_j u + f_j (a_j - g_j u), at
    most r_j away. So (|a_j'y| - r_j)_+ <= |c_j'y| for all y: the Gram matrix of the c_j is a majorant.
    With kappa > 0 all components along u weigh sqrt(1 + kappa) more, and so do the c_j of the features that are
    stretched. For a unit vector y with y0 = u'y >= 0 let z be the unit vector along y with y0 / sqrt(1 + kappa) in the
    place of y0. Then |c_j'z| >= sqrt(1 + kappa) (|a_j'y| - r_j)_+ with the new c_j: always for those stretched, and for
    the others if (|a_j| - r_j)(sqrt(1 + kappa (1 - y0^2)) - 1) <= r_j (1 - y0), so if kappa (|a_j| - r_j) <= r_j.
    """

    def __init__(self, problem, gain, sigma, multipliers, features, weights):
        self.problem, self.features, self.gain = problem, list(features), fixed(gain)
        self.sigma, self.known, self.error = [*map(fixed, sigma)], {}, 3
        # The gain is proved for a fixed u, not for each v.
        need(self.gain == 0 or not sigma, "a majorant has a gain, and the claim has directions")
        self.loss = up(max(self.sigma, default=0) * problem.tolerance)
        whole = (problem.penalty(self.sigma, j, [j])[0] for j in range(problem.d))
        self.added = up(max(whole)) + 1 if any(self.sigma) else 0
        self.multipliers = [*map(fixed, multipliers)]
        if not self.features:
            need(gain == 0 and not any(multipliers), "a plain majorant has no gain and no multipliers")
            return
        need(problem.definite, "an attack in response to x needs definiteness")
        scale = frexp(max(map(abs, weights)))[1]
        self.x = [fixed(w, scale) for w in weights]
        square = sum(map(mul, self.x, map(self.along, self.features))) >> BITS
        # An entry of A is wrong by at most 2 ulps, one of A x by off, x'A x by off2, g = A x / sqrt(x'A x) by self.off.
        total = sum(map(abs, self.x))
        off = up(2 * total) + 1
        off2 = up(off * total) + 1
        need(square > off2, "x'Ax of a majorant is not positive")
        self.root = isqrt(square << BITS)
        reach, least = isqrt(problem.largest << BITS) + 1, square - off2
        self.off = up(off << BITS, isqrt(least << BITS)) + 2 * up(reach * off2, least) + up(reach) + 4
        self.stretch = isqrt((ONE + self.gain) << BITS) + 1
        # An entry of M: f <= stretch and |g|, |h| / stretch <= reach, each but f wrong by at most 2 `self.off` (+ 1).
        reach += max(problem.spent) if problem.directions else 0  # |h| <= |g| + r
        weight = up(up(self.stretch * self.stretch) * (ONE + self.gain))
        self.error = up(up(weight * (reach + self.off + ONE)) * (8 * self.off + 8)) + up(problem.largest) + 9

    def along(self, j):
        """Return (A x)_j."""
        return sum(map(mul, self.x, self.problem.entries(j, self.features))) >> BITS

    def grows(self, length, r):
        """Return whether a column of such a length must be stretched even where |g_j| is at least the budget."""
        return self.gain * (length - r + 2 * self.off) > (r - 2 * self.off) << BITS

    def parts(self, j):
        """Return f_j, f_j g_j, h_j and (1 + kappa) h_j, stretched where they must be."""
        if not self.features:
            return ONE, 0, 0, 0
        if j not in self.known:
            problem, r, off = self.problem, self.problem.spent[j], self.off
            g = (self.along(j) << BITS) // self.root
            aim = sum(x * v[j] for x, v in zip(self.multipliers, problem.directions, strict=True)) >> BITS
            size, f, h = abs(g - aim), ONE, aim
            length = isqrt(problem.diagonal[j] + 2 << BITS) + 1
            # Any smaller budget may be taken: |g| where it is all but r, or a tie decides whether the column grows.
            if self.gain > ONE >> 18 and size > r - (r >> 40) and not self.grows(length, size):
                r = min(r, size)
            if size + off > r:  # a budget of min(r, |g - aim|), so that h is at most `off` away from its true value
                h += max(size - r, 0) * (1 if g > aim else -1)
            else:
                inside = r * r - (size + off) ** 2
                outside = (problem.diagonal[j] + 2 << BITS) - max(abs(g) - off, 0) ** 2
                f = ONE - min(isqrt((inside << 2 * BITS) // outside), ONE) if outside > 0 else 0
            if size + off <= r or self.grows(length, r):
                f, h = up(f * self.stretch), h * self.stretch >> BITS
            self.known[j] = f, f * g >> BITS, h, (ONE + self.gain) * h >> BITS
        return self.known[j]


def eliminate(node, majorant):
    """Return the lower triangle of C, the Schur complement of P = tI - M + (1 + kappa) diag_F(pi) on F, rounded down.

    A choice S of the node worth more than T has lambda_max((M - (1 + kappa) diag_F(pi))_SS) > t. There is none if P_SS
    is positive semidefinite: if P_II is positive definite and C_QQ is positive semidefinite for all Q = S without I.
    """
    if node.problem.on_samples:
        return eliminate_attacked(node, majorant)
    problem, gain = node.problem, ONE + majorant.gain
    need(node.target + node.paid > 0 or problem.directions, "T and the costs of I are not positive")
    t = (gain * (node.target + node.paid) >> BITS) - majorant.loss
    order, first = node.inside + node.free, len(node.inside)
    top = max(t, 0) + problem.largest + majorant.added + majorant.error  # no P_II has more on its diagonal
    slack = len(order) * majorant.error + (len(order) * (isqrt(top << BITS) + 1) >> BITS) + 1
    scales, factor, pivots, result = [], [], [], []
    for a, i in enumerate(order):
        f, fg, h, long = majorant.parts(i)
        scales.append(f)
        row = [-x * (f * g >> BITS) for x, g in zip(problem.entries(i, order[: a + 1]), scales, strict=True)]
        if majorant.added:
            row = [x + y for x, y in zip(row, problem.penalty(majorant.sigma, i, order[: a + 1]), strict=True)]
        row[a] += (t - slack + (gain * problem.costs[i] >> BITS) * (a >= first)) << BITS
        # P = L L' on the rows of I; `left` and `right` have f g, h and the row of L, so that what is left is a sum.
        left, right = [fg, h], [fg, -long]
        for x, other, pivot in zip(row, factor, pivots):  # noqa: B905 - there are pivots of I only
            left.append((x + sum(map(mul, left, other))) // pivot)
            right.append(-left[-1])
        factor.append(right)
        if a < first:
            square = row[a] + sum(map(mul, left, right))
            need(square > 0, "P_II is not positive definite")
            pivots.append(isqrt(square))
        else:
            row = [x + sum(map(mul, left, other)) >> BITS for x, other in zip(row[first:], factor[first:], strict=True)]
            row[-1] -= len(node.free)
            result.append(row)
    return result


def largest_sum(numbers, count):
    """Return the sum of the `count` largest numbers."""
    return sum(sorted(numbers, reverse=True)[:count])


def check_lengths(node, _):
    """LENGTHS. A feature contributes at most most_j; those of F that contribute less than nothing can be left out."""
    need(node.problem.definite, "lengths need definiteness")
    total = node.problem.lengths(node)
    need(total <= node.bound, "its lengths add up to more than T")


def check_dominance(node, record):
    """DOMINANCE. With d_j > 0, C_QQ is positive semidefinite if C_ii d_i >= sum_{j in Q, j != i} |C_ij| d_j for i in Q.

    For Q of p features or fewer it is enough to compare with the p - 1 largest terms of each row (Gershgorin).
    """
    get = node.proof.certificate.arrays
    if get["dominance_threshold"][record] > 0:
        node.target = fixed(get["dominance_threshold"][record])
        need(node.target <= node.bound, "its threshold is above T")
    lower = eliminate(node, node.proof.majorant(get["dominance_majorant"][record]))
    dominant(node, lower, get["dominance_scaling"][record])


def dominant(node, lower, scaling):
    """Show that C_QQ is positive semidefinite by a scaling of this number less 1, or by ones."""
    need(all(row[-1] >= (node.most > 1) for row in lower), "C has a diagonal that is not positive")
    if node.most < 2:
        return
    part, number, scaling = node.proof.certificate.part, scaling - 1, {}
    if number >= 0:
        values = map(fixed, part("scaling_values", number))
        scaling = dict(zip(part("scaling_features", number), values, strict=True))
    roots = [isqrt(row[-1] << BITS) for row in lower]
    weights = [(scaling.get(j, ONE) << BITS) // root + 1 for j, root in zip(node.free, roots, strict=True)]
    for i, row in enumerate(lower):
        whole = [abs(c) for c in row[:-1]] + [0] + [abs(other[i]) for other in lower[i + 1 :]]
        others = largest_sum(map(mul, whole, weights), node.most - 1)
        need(others <= row[-1] * weights[i], f"the row of feature {node.free[i]} is not dominant")


class Line:
    """For unit v, zero outside S: v'Gv <= c + plain s + weighted t + (sum_S tau) (s or t) + sum_S alpha.

    Here s = (sum |v_i|)^2 and t = (sum w_i |v_i|)^2. Three steps, with N = sum n_i |v_i|, so that N^2 is s or t:
    - dues: 2 v_i sum_j y_ij v_j + v_i^2 (1 - |y_i|^2) <= 1 for unit v with y_ii = 0, since the sum is at most
      |y_i| sqrt(1 - v_i^2); so v'Gv <= v'G'v + sum_S alpha_i;
    - v'G'v <= v'Bv + sum_ij box_ij |v_i| |v_j| - sum_i q_i v_i^2, box_ii the same formula: B is that close to G'; and
      v'Bv <= c, which is proved here;
    - the sum over box is plain s + weighted t + N sum_i lambda_i |v_i|, and lambda_i |v_i| N - q_i v_i^2 <= tau_i N^2
      with tau_i = lambda_i^2 / (4 q_i).
    """

    def __init__(self, proof, number, gram, error, weights):
        """Prove line `number` about the matrix whose lower triangle is `gram`, up to `error` ulps in each entry."""
        get, part = proof.certificate.arrays, proof.certificate.part
        features = part("line_features", number)
        form, self.in_t = get["line_form"][number], get["line_counts"][number]
        sigma, problem = [*map(fixed, part("line_deflation", number))], proof.problem
        if any(sigma):
            rows = [problem.penalty(sigma, i, features[: len(row)]) for i, row in zip(features, gram, strict=True)]
            gram = [[g - (x >> BITS) for g, x in zip(*pair, strict=True)] for pair in zip(gram, rows, strict=True)]
            error += 2
        self.c, self.plain, self.weighted = (fixed(get[f"line_{name}"][number]) for name in ("c", "plain", "weighted"))
        loads, lifts, alpha = ([*map(fixed, part(name, number))] for name in ("line_loads", "line_lifts", "line_dues"))
        need(not any(load for load, q in zip(loads, lifts, strict=True) if not q), "a line has a load without a lift")
        tau = [up(load * load, 4 * q) if load else 0 for load, q in zip(loads, lifts, strict=True)]
        signs = part("line_signs", number) or [0] * len(tau)
        self.tau = dict(zip(features, tau, strict=True))
        self.alpha = dict(zip(features, alpha or [0] * len(tau), strict=True))
        self.signs = [(j, sign) for j, sign in zip(features, signs, strict=True) if sign]
        if form > 3:
            gram, error = self.less_dues(gram, alpha, part("line_pulls", number)), error + 1
        self.form, steps = form & 3, part("line_free" if form & 3 == FREE else "line_steps", number)
        self.lower, excess = self.difference(gram, loads, lifts, weights, signs, steps)
        need(is_definite(self.lower, error), f"c I - B of line {number} is not positive semidefinite")
        self.c += up(max(sigma, default=0) * problem.tolerance)
        self.plain += excess

    @staticmethod
    def less_dues(gram, alpha, pulls):
        """Return G' of G."""
        b, rows = len(alpha), enumerate(gram)
        y = [[fixed(x) for x in pulls[i * b : (i + 1) * b]] for i in range(b)]
        need(not any(y[i][i] for i in range(b)), "a line has a pull of a feature on itself")
        less = [[g - (alpha[i] * y[i][j] + alpha[j] * y[j][i] >> BITS) for j, g in enumerate(row)] for i, row in rows]
        for i, row in enumerate(less):
            row[i] -= alpha[i] * (ONE * ONE - sum(map(mul, y[i], y[i]))) >> 2 * BITS
        return less

    def difference(self, gram, loads, lifts, weights, signs, steps):
        """Return c I - B, with boxes and diagonal rounded down, and what `plain` lacks for B to be within its box."""
        counts = weights if self.in_t else [ONE] * len(weights)
        weighted = [self.weighted * w >> BITS for w in weights]
        starts = list(accumulate(range(len(weights) - 1, 0, -1), initial=-1))
        result, excess = [], 0
        for i, row in enumerate(gram):
            load, count, weight, new = loads[i], counts[i], weights[i], []
            for j in range(i):
                box = self.plain + (weighted[j] * weight >> BITS) + (load * counts[j] + loads[j] * count >> BITS + 1)
                if self.form == THRESHOLD:
                    step = -min(max(row[j], -box), box) if box > 0 else 0
                elif self.form == BOX:
                    whole = max(box, 0) * steps[starts[j] + i - j]
                    step = whole // 32767 if whole >= 0 else -(-whole // 32767)
                else:
                    step = fixed(steps[starts[j] + i - j])
                sign = signs[i] * signs[j]
                excess = max(excess, (-sign * step if sign else abs(step)) - box, -box)
                new.append(-row[j] - step)
            taken = self.plain + (weighted[i] * weight >> BITS) + (load * count >> BITS)
            new.append(self.c - row[i] - lifts[i] + taken)
            result.append(new)
        return result, excess


def check_matrix(node, record):
    """MATRIX. N = D C D, D about C_ii^(-1/2), has v'Nv >= 0 for all v of m features: C_QQ is positive semidefinite.

    A line about G = -N says v'Gv <= c + sigma s, and 1 <= s <= m for unit v of m features; c + m max(sigma, 0) <= 0.
    """
    proof, get = node.proof, node.proof.certificate.arrays
    lower, number = eliminate(node, proof.majorant(get["matrix_majorant"][record])), get["matrix_line"][record]
    if not node.free:
        return
    need(list(proof.certificate.part("line_features", number)) == node.free, "its line is not about the features of F")
    in_t = get["line_counts"][number] or get["line_weighted"][number]
    need(get["line_form"][number] in (THRESHOLD, BOX) and not in_t, "its line is FREE, or counts in t, or has dues")
    need(not any(proof.certificate.part("line_deflation", number)), "its line has multipliers of directions")
    need(all(row[-1] > 0 for row in lower), "C has a diagonal that is not positive")
    scale = [isqrt((1 << 3 * BITS) // row[-1]) for row in lower]
    for i, row in enumerate(lower):
        lower[i] = [-(c * scale[i] * other >> 2 * BITS) for c, other in zip(row, scale[: i + 1], strict=True)]
    line = Line(proof, number, lower, 1, [ONE] * len(lower))
    sigma = line.plain + largest_sum(line.tau.values(), node.most)
    need(line.c + node.most * max(sigma, 0) <= 0, f"c + {node.most} sigma of its line is positive")


def check_envelope(node, record):
    """ENVELOPE. The variance lies below lines, and these below what a choice worth more than T must have.

    That is h(x) = (sqrt(T + x) + r sqrt(t))^2 with the costs x of the choice. Lines are linear in s and in t, h is
    concave in t and in x: the ends of s, the ends of pieces of t and chords of h are enough. The set of t where a line
    closes the node is an interval (convex - concave <= 0), so intervals are strung together.
    """
    need(node.bound + node.paid > 0, "T and the costs of I are not positive")
    lines = [node.proof.line(number) for number in node.proof.certificate.part("envelope_lines", record)]
    for line in lines:
        need(all(j in line.tau for j in node.inside + node.free), "a line does not speak of all features of the node")
        need(all(node.signs.get(j) == sign for j, sign in line.signs), "a line has signs that the node has not")
    strung_together(node, lines)


def strung_together(node, lines):
    """Show that at every t one of the lines closes the node."""
    inside, free = ([node.problem.w[j] ** 2 for j in features] for features in (node.inside, node.free))
    t = start = min(inside + free) >> BITS
    end = up(sum(inside) + largest_sum(free, node.most))
    while True:
        reaching = [line for line in lines if closes(node, line, t)]
        need(reaching, f"no line closes it at t = {t / ONE:.9g}")
        if any(closes(node, line, end) for line in reaching):
            return
        before = t
        for line in reaching:
            low, high = before, end
            while high - low > (end - start >> 64) + 1:
                middle = low + high >> 1
                low, high = (middle, high) if closes(node, line, middle) else (low, middle)
            t = max(t, low)
        need(t > before, f"no line closes it beyond t = {t / ONE:.9g}")


def closes(node, line, t):
    """Show for one t, both ends of s and every Q: Y + sum_Q g <= h(pi_I + sum_Q pi). All numbers are times 2^256."""
    costs, r = node.problem.costs, node.problem.top
    rest = largest_sum([costs[j] for j in node.free], node.most)
    pieces = 16 if rest and r else 1
    cuts = [node.paid + rest * i // pieces for i in range(pieces + 1)]
    square = r * r * t
    h = [(node.bound + x << BITS) + (square >> BITS) + 2 * isqrt(square * (node.bound + x)) for x in cuts]
    size = len(node.inside) + node.most
    for s in (size, 1) if line.plain < 0 else (size,):
        count = t if line.in_t else s << BITS
        g = {j: line.tau[j] * count + (line.alpha[j] << BITS) for j in node.inside + node.free}
        y = (line.c + line.plain * s << BITS) + line.weighted * t + sum(g[j] for j in node.inside)
        for (x, high), (after, higher) in pairwise(zip(cuts, h, strict=True)):
            slope = (higher - high) // (after - x) if after > x else 0
            gains = largest_sum([max(g[j] - slope * costs[j], 0) for j in node.free], node.most)
            if y + gains > high - slope * (x - node.paid):
                return False
    return True


# Attacks on samples. A row x of X is in units of 2^exponent, in fixed point: cut off below 2^-128, so off by an ulp at
# most. For a node (I, F, p) let N(e)^2 be |e_I|^2 and the p largest squares of e_F: N(e) is the largest e'v over unit
# vectors v of the node. A row with N(x) <= rho contributes nothing; for the rows of the root this is decided exactly.


class SampleProblem:
    """Rows of X that can contribute, budgets, costs and what follows from them."""

    on_samples, additive, definite, directions, tolerance = True, False, True, (), 0

    def __init__(self, values, certificate):
        header, get, d = certificate.header, certificate.arrays, certificate.d
        need(header["shift"] == 0, "the shift of samples is not 0")
        self.n, self.k, self.d, self.exponent = header["n_samples"], header["k"], d, header["exponent"]
        self.include, self.exclude = certificate.include, certificate.exclude
        self.allowed = [j for j in range(d) if j not in self.exclude]
        self.costs = [fixed(c, 2 * self.exponent) for c in get["costs"]] or [0] * d
        free = [j for j in self.allowed if j not in set(self.include)]
        places = max(min(self.k - len(self.include), len(free)), 0)
        self.rows, self.rho = {}, {}
        for i, rho in enumerate(certificate.rho):
            x = values[i * d : i * d + d]
            if isfinite(rho) and counts([x[j] for j in self.include], [x[j] for j in free], places, rho):
                self.rows[i] = [fixed(a, self.exponent) for a in x]
                self.rho[i] = fixed(rho, self.exponent)
        self.reach = max((abs(a) for row in self.rows.values() for a in row), default=0) + 1
        squares = [sum((abs(row[j]) + (row[j] != 0)) ** 2 for row in self.rows.values()) for j in range(d)]
        self.diagonal = [up(square, ONE * self.n) for square in squares]
        self.largest_variance = max(self.diagonal)
        self.most = [square - cost for square, cost in zip(self.diagonal, self.costs, strict=True)]
        self.plain = False  # contributions of features do not add up
        self.top = max(self.rho.values(), default=0)
        self.w = {i: (rho << BITS) // self.top if self.top else ONE for i, rho in self.rho.items()}

    @staticmethod
    def norm(row, inside, free, places):
        """Return at least N of a row of X."""
        squares = [(abs(row[j]) + 1) ** 2 for j in inside]
        return isqrt(sum(squares) + largest_sum([(abs(row[j]) + 1) ** 2 for j in free], places)) + 1

    def counting(self, node):
        """Return the rows that can contribute in a node, and their norms."""
        found = {}
        for i, row in self.rows.items():
            norm = self.norm(row, node.inside, node.free, node.most)
            if norm > self.rho[i]:
                found[i] = norm
        return found

    def lengths(self, node):
        """Return at least the value of any choice, by samples or by features.

        It is at most sum (N(x_i) - rho_i)_+^2 / n less the costs of I. With a_j = |x_j|^2 / n, a their sum over the
        choice and A the largest such sum, it is also at most (sqrt(a) - r)_+^2 <= (1 - r / sqrt(A))_+^2 a less costs.
        """
        total = sum((norm - self.rho[i]) ** 2 for i, norm in self.counting(node).items())
        a = self.diagonal
        reach = sum(a[j] for j in node.inside) + largest_sum([a[j] for j in node.free], node.most)
        root = isqrt(reach * self.n * ONE) + 1
        left = max(ONE - (min(self.rho.values(), default=root) << BITS) // root, 0)
        each = {j: up(left * left * a[j], ONE * ONE) - self.costs[j] for j in [*node.inside, *node.free]}
        most = sum(each[j] for j in node.inside)
        most += largest_sum([max(each[j], 0) for j in node.free], node.most)
        return min(up(total, ONE * self.n) - node.paid, most)


def counts(inside, free, places, rho):
    """Return, exactly, whether N(x) > rho."""
    x, s = integers([*inside, *free])
    squares = [a * a for a in x]
    total = sum(squares[: len(inside)]) + largest_sum(squares[len(inside) :], places)
    return Fraction(total) / Fraction(4) ** s > Fraction(rho) ** 2


class SampleMajorant:
    """M = sum_i om_i y_i y_i' / n + kappa (T + pi_I) v0 v0' for rows y_i = x_i + e_i, N(e_i) <= rho_i, and t as ever.

    For unit v of the node, f_i = (|x_i'v| - rho_i)_+^2 <= (y_i'v)^2. A row of R has e_i = -+rho_i v0: with c = v0'v
    then (y_i'v)^2 >= f_i + (1 - c^2) (rho_i / z_i) f_i, z_i = N(x_i) - rho_i. With om_i = 1 + (kappa - rho_i / z_i)_+
    on R and 1 + kappa elsewhere, sum om_i (y_i'v)^2 + kappa c^2 n L >= (1 + kappa) n L where sum f_i >= n L.
    """

    def __init__(self, proof, number, features, weights):
        certificate, self.problem = proof.certificate, proof.problem
        get, problem = certificate.arrays, self.problem
        self.gain, self.spread = fixed(get["majorant_gain"][number]), fixed(get["attack_spread"][number])
        self.inside = list(certificate.part("attack_columns", 2 * number))
        self.outside = list(certificate.part("attack_columns", 2 * number + 1))
        self.columns, self.places = self.inside + self.outside, get["attack_places"][number]
        at = {j: a for a, j in enumerate(self.columns)}
        need(len(at) == len(self.columns) > 0 and self.places <= problem.k, "its node has a feature twice, or none")
        need(self.spread <= ONE, "its spread is above 1")
        self.at, first = at, len(self.inside)
        need(len(features) or not self.gain, "a gain without a vector")
        self.v, moves = [0] * len(self.columns), {}
        if len(features):
            scale = frexp(max(map(abs, weights)))[1]
            x = [fixed(w, scale) for w in weights]
            length = isqrt(sum(map(mul, x, x))) + 1
            need(length > 1 << 64 and all(j in at for j in features), "its vector is not one of its node")
            for j, weight in zip(features, x, strict=True):
                self.v[at[j]] = (abs(weight) << BITS) // length * (1 if weight > 0 else -1)
            need(sum(a != 0 for a in self.v[first:]) <= self.places, "its vector is not one of its node")
        else:
            rows, c = certificate.part("attack_samples", number), len(self.columns)
            entries = certificate.part("attack_moves", number)
            moves = {i: entries[a * c : a * c + c] for a, i in enumerate(rows)}
        left, right, largest = [], [], ONE
        for i, whole in problem.rows.items():
            rho, x = problem.rho[i], [whole[j] for j in self.columns]
            norm = problem.norm(x, range(first), range(first, len(x)), self.places)
            if norm <= rho:
                continue
            strong = False
            if len(features):
                move, strong = self.response(x, rho)
            else:
                need(i in moves, f"sample {i} has no move")
                move = [fixed(e, 0) for e in moves[i]]
            square = sum(e * e for e in move[:first]) + largest_sum([e * e for e in move[first:]], self.places)
            need(strong or square <= rho * rho, f"sample {i} is moved by more than its budget")
            y = [a + e for a, e in zip(x, move, strict=True)]
            weight = ONE + self.gain
            if strong:
                weight = ONE + max(self.gain - (rho << BITS) // (norm - rho), 0) + 1
            largest = max(largest, weight)
            left.append([weight * a >> BITS for a in y])
            right.append(y)
        columns = list(zip(*left, strict=True)), list(zip(*right, strict=True))
        self.gram = {}
        for a, j in enumerate(self.columns):
            for b, i in enumerate(self.columns[: a + 1]):
                total = sum(map(mul, columns[0][a], columns[1][b])) if left else 0
                self.gram[j, i] = self.gram[i, j] = (total >> BITS) // problem.n
        # y is off by an ulp, its product with the weight by another and `largest`, the sum of n of them by both.
        self.error = 8 + 8 * up(up((2 * problem.reach + problem.top + ONE) * (largest + ONE)))

    def response(self, x, rho):
        """Return a move within the budget, as docs/certificate-format.md has it, and whether it is one of R."""
        v, first, p = self.v, len(self.inside), self.places
        low = max(rho - 64 * (len(x) + 4), 0)
        score = sum(map(mul, x, v)) >> BITS
        if self.gain and abs(score) >= rho:
            return [-(low if score > 0 else -low) * a >> BITS for a in v], True
        along = max(min(score, low), -low)
        move = [-along * a >> BITS for a in v]
        chosen = [a for a in range(len(x)) if a < first or v[a]]
        spare = isqrt(max(low * low - along * along, 0))
        if self.spread:
            across = {a: x[a] - (score * v[a] >> BITS) for a in chosen}
            length = isqrt(sum(b * b for b in across.values())) + 1
            share = min(ONE, self.spread * spare // length)
            for a, b in across.items():
                move[a] -= share * b >> BITS
        others = [a for a in range(len(x)) if a >= first and not v[a]]
        if p and others:
            taken = sorted(move[a] ** 2 for a in chosen if a >= first)
            taken = [0] * (p - len(taken)) + taken
            room = low * low - sum(move[a] ** 2 for a in range(first)) - sum(taken)
            most = min((room + done) // q for q, done in enumerate(accumulate(taken), 1))
            t = isqrt(max(most - rho * rho // 10**12, 0))
            for a in others:
                move[a] = -max(min(x[a], t), -t)
        return move, False

    def block(self, node, order):
        """Return the lower triangle of M on some features."""
        need(all(j in self.at for j in order), "a feature that its attack does not know")
        need(set(self.inside) <= set(node.inside), "its attack is about another node")
        need(len(node.inside) - len(self.inside) + node.most <= self.places, "its attack has fewer places")
        level, at = self.gain * (node.target + node.paid) >> BITS, self.at
        v = [self.v[at[j]] for j in order]
        rows = ((j, level * a >> BITS, order[: b + 1]) for b, (j, a) in enumerate(zip(order, v, strict=True)))
        return [[self.gram[j, i] + (a * b >> BITS) for i, b in zip(up_to, v)] for j, a, up_to in rows]  # noqa: B905


def complement(lower, first, slack):
    """Return the Schur complement of the first rows of a symmetric matrix less slack I, rounded down."""
    factor, pivots, result = [], [], []
    for a, row in enumerate(lower):
        new = []
        for x, other, pivot in zip(row, factor, pivots):  # noqa: B905 - there are pivots of the first rows only
            new.append(((x << BITS) - sum(map(mul, new, other))) // pivot)
        if a < first:
            square = (row[a] - slack << BITS) - sum(map(mul, new, new))
            need(square > 0, "P_II is not positive definite")
            pivots.append(isqrt(square))
            factor.append(new)
        else:
            factor.append(new)
            left = [
                (x << BITS) - sum(map(mul, new, other)) >> BITS
                for x, other in zip(row[first:], factor[first:], strict=True)
            ]
            left[-1] -= slack + len(lower) - first
            result.append(left)
    return result


def eliminate_attacked(node, majorant):
    """Return C of P = tI - M + diag_F(pi) for an attack on samples; see `eliminate`."""
    problem, gain, order, first = node.problem, ONE + majorant.gain, node.inside + node.free, len(node.inside)
    need(node.target + node.paid > 0, "T and the costs of I are not positive")
    t = gain * (node.target + node.paid) >> BITS
    lower = [[-x for x in row] for row in majorant.block(node, order)]
    for a, j in enumerate(order):
        lower[a][a] += t + problem.costs[j] * (a >= first)
    top = max(row[-1] for row in lower)
    rounded = (len(order) * (isqrt(max(top, 0) << BITS) + 1) >> BITS) + 1
    return complement(lower, first, len(order) * (majorant.error + 4) + rounded)


def check_samples_envelope(node, record):
    """ENVELOPE, of samples. The root of n times the value is the largest |X_S'u| - sum rho_i |u_i| over unit u.

    A line about the zero matrix has R in the place of B. Where [[cI - R, X_S], [X_S', I]] is positive semidefinite,
    u'X_S X_S'u + u'Ru <= c, so |X_S'u|^2 is below the line, and the adversary takes rho sqrt(t).
    """
    problem, proof, certificate = node.problem, node.proof, node.proof.certificate
    need(not any(problem.costs[j] for j in node.free), "features that cost something are undecided")
    rows = problem.counting(node)
    if not rows:
        need(node.bound + node.paid >= 0, "T is too small")
        return
    numbers = certificate.part("envelope_lines", record)
    lines = [proof.sample_line(number) for number in numbers]
    for number, line, scaling in zip(numbers, lines, certificate.part("envelope_scalings", record), strict=True):
        samples = list(certificate.part("line_features", number))
        need(set(rows) <= set(samples), "a line does not speak of all samples")
        order, m = node.inside + node.free, len(samples)
        lower = [list(row) for row in line.lower]
        for a, j in enumerate(order):
            lower.append([problem.rows[i][j] for i in samples] + [0] * a + [ONE])
        top = max(row[-1] for row in lower)
        rounded = (len(lower) * (isqrt(max(top, 0) << BITS) + 1) >> BITS) + 1
        inner = complement(lower, m + len(node.inside), 4 * len(lower) + rounded)
        dominant(node, inner, scaling)
    about = SimpleNamespace(costs=[], top=problem.top, w=problem.w)
    bound = (node.bound + node.paid) * problem.n
    stand_in = SimpleNamespace(problem=about, inside=list(rows), free=[], most=0, paid=0, bound=bound, signs={})
    strung_together(stand_in, lines)


def check_listed(node, number):
    """Prove LISTED: all choices of the node are part of a support; where features cost something they are all of it."""
    support, reach = node.proof.certificate.part("list_features", number), node.inside + node.free
    need(set(support).issuperset(reach), "the node has features that the support has not")
    costs = any(node.proof.certificate.arrays["costs"])
    need(not costs or (not node.free and len(node.inside) == len(support)), "with costs a part may be worth more")


def check_beyond(node, number):
    """Prove BEYOND: all choices of the node contain a support."""
    support = node.proof.certificate.part("list_features", number)
    need(set(support).issubset(node.inside), "not all choices of the node contain the support")


CHECKS = {LENGTHS: check_lengths, DOMINANCE: check_dominance, MATRIX: check_matrix, ENVELOPE: check_envelope}
CHECKS |= {LISTED: check_listed, BEYOND: check_beyond}


class Level:
    """No choice of at most `size` features is worth more than `bound`."""

    def __init__(self, certificate, number):
        get, ends = certificate.arrays, certificate.ends["rule"]
        self.size, self.exact = get["level_size"][number], get["level_bound"][number]
        self.bound, self.target = fixed(self.exact), fixed(get["level_target"][number])
        need(get["level_target"][number] <= self.exact, f"the target of level {number} is above its bound")
        self.features = list(certificate.part("features", number))
        self.is_list = certificate.header["kind"] == "list" and number == len(get["level_size"]) - 1
        self.nodes = range(ends[number], ends[number + 1])


class Node:
    """The choices with I in S, S in I and F, at most p features of F, and signs of v; a chain of branches."""

    def __init__(self, parent=None, rule=None, feature=None, way=0, beyond=None):
        self.parent, self.rule, self.feature, self.way = parent, rule, feature, way
        self.depth = parent.depth + 1 if parent else 0
        self.beyond = parent.beyond if parent and beyond is None else beyond  # its own threshold, if it has one

    def place(self, proof, level, demanded):
        """Find I, F, p and the signs of the node."""
        self.proof, self.problem, self.bound, self.target = proof, proof and proof.problem, level.bound, level.target
        if self.beyond is not None:
            self.bound = self.target = max(self.beyond, level.bound)
        added, outside, self.signs, node = [], set(demanded), {}, self
        while node.parent:
            if node.rule == SIGN:
                self.signs[node.feature] = node.way
            elif node.rule == FEATURE:
                outside.add(node.feature)
                added += [node.feature] * (node.way > 0)
            node = node.parent
        self.inside = demanded + added[::-1]
        p = level.size - len(self.inside)
        self.free = [j for j in level.features if j not in outside] if p else []
        self.most = min(p, len(self.free))
        self.paid = sum(self.problem.costs[j] for j in self.inside) if proof else 0

    def branches(self, rule, feature):
        """Return the nodes that a branch leads to, the first one last."""
        fits = feature in self.free or (rule == SIGN and feature in self.inside)
        need(fits and (rule == FEATURE or feature not in self.signs), "its feature is not open")
        one_way = rule == SIGN and not self.signs  # v and -v have the same value
        return [Node(self, rule, feature, way) for way in ((1,) if one_way else (-1, 1))]


def walk(certificate, level, proof=None):
    """Yield the nodes of a level's tree in preorder, with number, rule and item; they end when none is open."""
    todo = [Node()] if level.nodes else []
    for number in level.nodes:
        rule, item = certificate.arrays["rule"][number], certificate.arrays["item"][number]
        try:
            need(todo, "the tree is closed before it")
            node = todo.pop()
            node.place(proof, level, certificate.include)
            if rule in (FEATURE, SIGN):
                todo += node.branches(rule, item)
            elif rule in (LISTED, BEYOND):
                need(level.is_list, "only a list has such a rule")
                need(item < len(certificate.arrays["list_size"]), "there is no such support")
                todo += [Node(node, rule, beyond=fixed(certificate.arrays["list_beyond"][item]))] * (rule == BEYOND)
            else:
                there = item == 0 if rule == LENGTHS else item < len(certificate.arrays[RECORDS[rule]])
                need(there, "there is no such record")
            if proof and rule in CHECKS and (node.inside + node.free or rule == BEYOND):
                on_samples = proof.problem.on_samples and rule not in (LISTED, BEYOND)
                if on_samples and node.most == len(node.free) and not any(proof.problem.costs[j] for j in node.free):
                    node.inside, node.free, node.most = node.inside + node.free, [], 0  # all may be used, at no cost
                (check_samples_envelope if on_samples and rule == ENVELOPE else CHECKS[rule])(node, item)
        except Reject as reason:
            raise Reject(f"node {number}, {RULES[rule]} {item}: {reason}") from None
        yield number, rule, item, node
        node.free = node.inside = node.signs = None  # a deep tree would keep them all
    need(not todo, "its tree has open nodes")


class Proof:
    """A certificate about a problem: checks levels and trees, and keeps what several leaves have in common."""

    def __init__(self, certificate, problem):
        self.certificate, self.problem = certificate, problem
        self.lines, self.majorants = {}, {}

    def majorant(self, number):
        """Return a majorant of the certificate; some are kept, since neighbours in the tree share them."""
        if number not in self.majorants:
            self.majorants = {} if len(self.majorants) > 200 else self.majorants
            vector = [self.certificate.part(name, number) for name in ("majorant_features", "majorant_weights")]
            if self.problem.on_samples:
                self.majorants[number] = SampleMajorant(self, number, *vector)
            else:
                gain = self.certificate.arrays["majorant_gain"][number]
                names = ("majorant_deflation", "majorant_multipliers")
                own = (self.certificate.part(name, number) for name in names)
                self.majorants[number] = Majorant(self.problem, gain, *own, *vector)
        return self.majorants[number]

    def line(self, number):
        """Return a line about A, proved once."""
        if number not in self.lines:
            features = self.certificate.part("line_features", number)
            gram = [self.problem.entries(j, features[: i + 1]) for i, j in enumerate(features)]
            self.lines[number] = Line(self, number, gram, 2, [self.problem.w[j] for j in features])
        return self.lines[number]

    def sample_line(self, number):
        """Return a line about samples, proved once: near the zero matrix."""
        if number not in self.lines:
            samples = self.certificate.part("line_features", number)
            need(all(i in self.problem.rows for i in samples), "a line speaks of a sample that contributes nothing")
            zero = [[0] * (a + 1) for a in range(len(samples))]
            self.lines[number] = Line(self, number, zero, 2, [self.problem.w[i] for i in samples])
            need(not self.lines[number].signs, "a line has signs of samples")
        return self.lines[number]

    def check(self):
        """Prove the bound, and that a list is complete."""
        levels, problem = self.certificate.levels(), self.problem
        if self.certificate.header["kind"] == "list":
            need(not problem.include and not problem.directions, "a list takes no demanded features and no directions")
            for i, value in enumerate(self.certificate.arrays["list_value"]):
                vector = (self.certificate.part(name, i) for name in ("list_features", "list_weights"))
                least = attained(problem, self.certificate, *map(list, vector)) / Fraction(4) ** problem.exponent
                need(least >= Fraction(value), f"support {i} of the list is worth less than it says")
            self.check_levels(levels[-1:])
            levels = levels[:-1]
        self.check_levels(levels)
        proved = Fraction(levels[-1].exact) * Fraction(4) ** problem.exponent
        need(proved <= Fraction(self.certificate.header["bound"]), "the last level proves less than the bound")

    def check_levels(self, levels):
        """Prove levels of rising size, each from those before it."""
        problem, sizes = self.problem, [0, *(level.size for level in levels)]
        need(levels and all(a < b for a, b in pairwise(sizes)), "level_size is empty or not ascending")
        need(min(problem.k, len(problem.allowed)) <= sizes[-1] <= problem.k, "the last level is not of k features")
        need(
            len(levels) == 1 or problem.plain,
            "with demanded features or directions, or without definiteness: one level only",
        )
        most = sorted((max(problem.most[j], 0) for j in problem.allowed), reverse=True) if problem.additive else []
        sums = list(accumulate(most, initial=0))
        # below[q] bounds the choices of q features. Without its least feature one worth V is worth (q - 1) / q of V.
        below = [0]
        for number, level in enumerate(levels):
            for q in range(len(below), level.size + 1 if problem.additive else 0):
                below.append(min(sums[min(q, len(most))], up(q * below[-1], q - 1) if q > 1 else sums[-1]))
            try:
                self.check_level(level, below)
            except Reject as reason:
                raise Reject(f"level {number}, of {level.size} features: {reason}") from None
            below[-1] = min(below[-1], max(level.bound, 0))
        need(problem.include or levels[-1].bound >= 0, "the last level's bound is below 0, the value of no features")

    def check_level(self, level, below):
        """Prove a level: the features that it leaves out contribute too little, and its tree is closed."""
        problem, features = self.problem, set(level.features)
        need(features.issuperset(problem.include), "it leaves out a demanded feature")
        need(not features & problem.exclude, "it has a forbidden feature")
        others = [j for j in problem.allowed if j not in features]
        need(problem.definite or not others, "it does not list all allowed features")
        if problem.directions:  # whatever its length, a feature may be needed; an infinite budget cancels what uses it
            need(problem.idle.issuperset(others), "it leaves out features, and the claim has directions")
        elif others:
            # In a choice worth more than T, all features but one are worth at most below[q - 1].
            due = max(0, level.bound - below[-2]) if problem.plain else 0
            worst = max(others, key=problem.most.__getitem__)
            need(problem.most[worst] <= due, f"feature {worst}, which it leaves out, may contribute more than is due")
        known = problem.plain and below[-1] <= level.bound
        need(level.nodes or known, "it has no nodes, and what is known before is not enough")
        for _ in walk(self.certificate, level, self):
            pass


def exact_directions(values, certificate):
    """Return the directions as rational numbers."""
    return [[*map(Fraction, values[i * certificate.d : (i + 1) * certificate.d])] for i in range(certificate.many)]


def attained(problem, certificate, features, weights):
    """Return a lower bound for the value of a vector w, in the units of the data.

    It is (sqrt(w'Aw) - sum r |w|)_+^2 / w'w less costs. An entry of A without the shift is at most an ulp too small.
    """
    get, scale = certificate.arrays, Fraction(4) ** problem.exponent
    chosen = set(features).union(problem.include)
    need(len(chosen) <= problem.k, "the vector has more than k features, with the demanded ones")
    need(not chosen & problem.exclude, "the vector has a forbidden feature")
    value, (w, _) = Fraction(0), integers(weights)
    if any(w):
        along = [sum(map(mul, w, (v[j] for j in features))) for v in exact_directions(get["directions"], certificate)]
        need(
            sum(x * x for x in along) * 10**16 <= sum(map(mul, w, w)), "the vector is not orthogonal to the directions"
        )
    if any(w) and problem.on_samples:
        length, total = isqrt(sum(map(mul, w, w)) << 2 * BITS) + 1, 0
        for i, row in problem.rows.items():
            score = abs(sum(row[j] * x for j, x in zip(features, w, strict=True))) - sum(map(abs, w))
            total += max((score << BITS) // length - problem.rho[i] - 2, 0) ** 2
        value = Fraction(total) / (ONE * ONE * problem.n) * scale
    elif any(w):
        square = sum(x * sum(map(mul, w, problem.entries(j, features))) for j, x in zip(features, w, strict=True))
        length, sizes = sum(map(mul, w, w)), [abs(x) for x in w]
        square -= length * problem.shift + sum(sizes) ** 2
        taken = sum((problem.budgets[j] + 1) * size for j, size in zip(features, sizes, strict=True) if size)
        norm = isqrt(max(square, 0) << BITS)
        value = Fraction(norm - taken if norm > taken else 0) ** 2 / (ONE * ONE * length) * scale
    return value - sum(Fraction(get["costs"][j]) for j in chosen if get["costs"])


def proved_value(problem, certificate):
    """Return a lower bound for the value of the certificate's vector, or of none; it must be nearly the claimed one."""
    support, weights = (list(certificate.arrays[name]) for name in ("support", "weights"))
    value = attained(problem, certificate, support, weights)
    value = max(value, attained(problem, certificate, [], []))
    scale = Fraction(4) ** problem.exponent
    claimed, largest = Fraction(certificate.header["value"]), Fraction(problem.largest_variance, ONE)
    least = claimed - abs(claimed) / 10**9 - largest * scale / 10**12
    need(value >= least, f"the vector attains no more than {decimal(value, ROUND_FLOOR)}")
    return value


def proved(certificate, data):
    """Return what the certificate proves of the data, in decimals."""
    kind = SampleProblem if certificate.on_samples else Problem
    problem = kind(prepared(data, certificate), certificate)
    Proof(certificate, problem).check()
    bound = Fraction(certificate.header["bound"])
    return decimal(proved_value(problem, certificate), ROUND_FLOOR), decimal(bound, ROUND_CEILING)


def about_list(certificate):
    """Say what a list claims beside the bound."""
    get = certificate.arrays
    threshold = Fraction(get["level_bound"][-1]) * Fraction(4) ** certificate.header["exponent"]
    pairs = zip(get["list_beyond"], get["list_value"], strict=True)
    slack = max((Fraction(b) / Fraction(w) - 1 for b, w in pairs), default=0)
    return (
        f"what a choice is worth beyond {decimal(threshold, ROUND_CEILING)} it owes to one of "
        f"{len(get['list_size'])} supports, to {float(max(slack, 0)):.1e}"
    )


def decimal(x, rounding):
    """Return a rational number in decimals, rounded to a side."""
    return str(Context(prec=15, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)))


def explain(certificate):
    """Yield the lines of the proof in words."""
    header, get = certificate.header, certificate.arrays
    yield f"Claim: {header['value']} <= optimum <= {header['bound']}, at most {header['k']} of {certificate.d} features"
    if certificate.many:
        yield f"  all vectors with |V v| <= 1e-8, where V are the file's {certificate.many} directions"
    yield f"  adversary: {header['adversary']}; demanded: {certificate.include}; forbidden: {len(certificate.exclude)}"
    for number, level in enumerate(certificate.levels()):
        yield f"Level {number}: at most {level.size} features are worth no more than T = {level.exact:.9g} units;"
        if level.is_list:
            yield f"  what is worth more owes that to one of the {len(get['list_size'])} supports of a list;"
        how = "the tree below" if level.nodes else "what is known of fewer features"
        yield f"  {how} proves it for {len(level.features)} features; each of the others contributes too little."
        for index, rule, item, node in walk(certificate, level):
            ways = ("without {}, ", "with {}, ") if node.rule == FEATURE else ("v_{} <= 0, ", "v_{} >= 0, ")
            way = ways[node.way > 0].format(node.feature) if node.rule in (FEATURE, SIGN) else ""
            if rule in (FEATURE, SIGN):
                says = f"with or without feature {item}:" if rule == FEATURE else f"by the sign of v_{item}:"
            elif rule == LENGTHS or not node.inside + node.free:
                says = "closed: the lengths of its columns add up to too little"
            elif rule in (LISTED, BEYOND):
                support = list(certificate.part("list_features", item))
                says = f"closed: all are part of the support {support}" if rule == LISTED else ""
                says = says or f"all contain {support}; below, T = {get['list_beyond'][item]:.9g}, if this is more:"
            elif rule == ENVELOPE:
                says = f"closed: the variance lies below lines {list(certificate.part('envelope_lines', item))}"
            else:
                majorant = get[RECORDS[rule]][item]
                says = f"closed by majorant {majorant} (x has {get['majorant_size'][majorant]} features) and "
                says += "diagonal dominance" if rule == DOMINANCE else f"line {get['matrix_line'][item]}"
            yield f"{'  ' * min(node.depth + 1, 40)}{index}: {way}{says}"


def main():
    """Check the certificate that the command line names."""
    parser = argparse.ArgumentParser(description="Check a certificate of noap.")
    parser.add_argument("certificate")
    parser.add_argument("data", nargs="?", help=".csv or .npy: samples or covariance; not needed with --explain")
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help="the .csv begins with names; guessed")
    parser.add_argument("--explain", action="store_true", help="print the proof in words")
    options = parser.parse_args()
    if not (options.data or options.explain):
        parser.error("the data are missing; only --explain does without")
    try:
        certificate = Certificate(read_file(options.certificate))
        for line in explain(certificate) if options.explain else ():
            print(line)
        if options.data:
            data = read_data(options.data, certificate, options.header)
            print("ACCEPT: {} <= optimum <= {}".format(*proved(certificate, data)))
            if certificate.header["kind"] == "list":
                print(f"  A list: {about_list(certificate)}.")
            print(f"  Not part of the claim: {about_preparation(data, certificate)}.")
    except Reject as reason:
        print(f"REJECT: {reason}")
        return 1
    except Unreadable as reason:
        print(f"{parser.prog}: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
