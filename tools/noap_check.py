"""Check a noap certificate: one file, Python's standard library, written from docs/certificate-format.md alone.

    python noap_check.py CERTIFICATE DATA [--header | --no-header] [--explain]

DATA holds the samples or the covariance that the certificate speaks of: numbers in a .csv or .npy file. The answer is
ACCEPT with what is proved, exit code 0; REJECT with the reason, 1; or that an input cannot be read, 2. With --explain
the proof is printed in words; that needs no data.

What is claimed. A *choice* is a set S of at most k features (all demanded, no forbidden ones) and a unit vector v that
is zero outside S. It is worth (sqrt(v'Av) - sum_j r_j |v_j|)_+^2 - sum_{j in S} pi_j, where A = X'X/n. The claim:
the best choice is worth at least `value` and at most `bound`.

How numbers are held. An integer a stands for a / 2^128 (a *fixed-point number*; its last place is an *ulp*). There is
no floating point in the proof, and three ideas make rounding safe:

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
import math
import re
import struct
import sys
import zlib
from array import array
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from math import isqrt
from operator import mul, or_

BITS = 128
ONE = 1 << BITS
FEATURE, SIGN, LENGTHS, DOMINANCE, MATRIX, ENVELOPE = range(6)
RULES = ("FEATURE", "SIGN", "LENGTHS", "DOMINANCE", "MATRIX", "ENVELOPE")
THRESHOLD, BOX, FREE = range(3)


class Reject(Exception):
    """The certificate does not prove its claim, or this checker does not understand it."""


class Unreadable(Exception):
    """An input that is no certificate's fault."""


def need(condition, reason):
    """Reject unless the condition holds."""
    if not condition:
        raise Reject(reason)


# Fixed-point numbers


def fixed(x, exponent=0):
    """Return floor(x 2^(128 - exponent)) of a double x."""
    fraction, e = math.frexp(x)
    shift = e - 53 + BITS - exponent
    whole = int(fraction * 2.0**53)
    return whole << shift if shift >= 0 else whole >> -shift


def up(a, bits=BITS):
    """Return the ceiling of a / 2^bits."""
    return -(-a >> bits)


def over(a, b):
    """Return the ceiling of a / b, b > 0."""
    return -(-a // b)


def integers(doubles):
    """Return integers m and s with x = m / 2^s for all doubles x of a list, s as small as it can be."""
    parts = [math.frexp(x) for x in doubles]
    least = min((e for x, e in parts if x), default=0)
    whole = [int(x * 2.0**53) << e - least if x else 0 for x, e in parts]
    every = reduce(or_, whole, 0)
    zeros = (every & -every).bit_length() - 1 if every else 0
    return [m >> zeros for m in whole], 53 - least - zeros


def is_definite(lower, error):
    """Prove that a symmetric matrix is positive semidefinite (see the head of this file).

    `lower` has the rows of its lower triangle, each entry at most `error` ulps from the truth.
    """
    n = len(lower)
    top = max((row[-1] for row in lower), default=0)
    if top <= 0:
        return n == 0
    slack = n * error + (n * (isqrt(top << BITS) + 1) >> BITS) + 1
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


# The file

TYPES = {"u1": "B", "u4": "I", "i1": "b", "i2": "h", "f4": "f", "f8": "d"}
KEYS = {
    *("kind", "adversary", "k", "n_samples", "n_features", "source", "fingerprint", "value", "bound", "exponent"),
    *("shift", "device", "arrays"),
}
ARRAYS = {
    **dict.fromkeys(("rho", "costs", "mean", "scale", "weights", "level_bound", "level_target"), "f8"),
    **dict.fromkeys(("majorant_gain", "majorant_weights", "line_c", "line_plain", "line_weighted"), "f8"),
    **dict.fromkeys(("scaling_values", "line_loads", "line_lifts", "line_free", "line_dues", "line_pulls"), "f4"),
    **dict.fromkeys(("include", "exclude", "support", "level_size", "level_features", "level_nodes"), "u4"),
    **dict.fromkeys(("features", "item", "majorant_size", "majorant_features", "dominance_majorant"), "u4"),
    **dict.fromkeys(("dominance_scaling", "scaling_size", "scaling_features", "line_size", "line_features"), "u4"),
    **dict.fromkeys(("matrix_majorant", "matrix_line", "envelope_size", "envelope_lines"), "u4"),
    **dict.fromkeys(("rule", "line_counts", "line_form"), "u1"),
    **{"line_steps": "i2", "line_signs": "i1"},
}


def object_once(pairs):
    """Return a JSON object whose keys are all different."""
    keys = [key for key, _ in pairs]
    need(len(set(keys)) == len(keys), "a key of the header occurs twice")
    return dict(pairs)


def no_constant(name):
    """Refuse NaN and Infinity, which are no JSON."""
    raise Reject(f"the header has {name}")


def is_integer(x, least, most):
    """Tell whether a JSON value is an integer between two numbers."""
    return type(x) is int and least <= x <= most


def little(values):
    """Return an array as its little-endian bytes; also turns an array that was read so into the machine's order."""
    if sys.byteorder == "big":
        values = array(values.typecode, values)
        values.byteswap()
    return values


def read_header(raw):
    """Return the header of a file and where its arrays begin."""
    need(raw[:8] == b"NOAP\0CRT", "this is not a certificate of noap")
    need(len(raw) >= 46, "the file is cut off")
    version, length = struct.unpack_from("<HI", raw, 8)
    need(version == 5, f"the file is of version {version}; this checker knows version 5")
    need(hashlib.sha256(raw[:-32]).digest() == raw[-32:], "the file is damaged: its digest is another one")
    need(14 + length <= len(raw) - 32, "the header is longer than the file")
    try:
        header = json.loads(raw[14 : 14 + length], object_pairs_hook=object_once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Reject(f"the header is not JSON: {error}") from None
    need(isinstance(header, dict) and set(header) == KEYS, "the header has other keys than version 5 has")
    need(header["kind"] == "single", "this checker knows certificates of kind single only")
    need(header["adversary"] in ("none", "feature-wise"), "this checker does not know the adversary")
    need(header["source"] in ("samples", "covariance"), "source is neither samples nor covariance")
    need(header["device"] is False, "this checker accepts no bounds that rest on a device's arithmetic")
    need(is_integer(header["n_samples"], 1, 2**63) and is_integer(header["n_features"], 1, 2**32), "no size of data")
    need(is_integer(header["k"], 1, header["n_features"]), "k is not between 1 and the number of features")
    need(is_integer(header["exponent"], -600, 600), "exponent is not between -600 and 600")
    for key in ("value", "bound", "shift"):
        number = header[key]
        if number is None and key == "shift":
            continue
        need(type(number) is float or is_integer(number, -(2**53), 2**53), f"{key} is not a number")
        need(math.isfinite(number), f"{key} is not finite")
    need(header["value"] <= header["bound"], "value is larger than bound")
    need(header["shift"] is None or header["shift"] >= 0, "shift is negative")
    need(type(header["fingerprint"]) is str and re.fullmatch("[0-9a-f]{64}", header["fingerprint"]), "no fingerprint")
    need(type(header["arrays"]) is list, "arrays is not a list")
    return header, 14 + length


def read_arrays(raw, start, records):
    """Return the arrays of a file by name; empty ones are not in the file."""
    arrays, total = {name: array(TYPES[kind]) for name, kind in ARRAYS.items()}, 0
    for record in records:
        need(type(record) is dict and set(record) == {"name", "dtype", "count", "bytes"}, "an array has other keys")
        name, packed = record["name"], record["bytes"]
        need(type(name) is str and name in ARRAYS, f"there is an array that this checker does not know: {name!r}")
        need(record["dtype"] == ARRAYS[name], f"{name} is not of type {ARRAYS[name]}")
        need(is_integer(packed, 1, len(raw) - 32 - start), f"{name} is longer than the file")
        need(is_integer(record["count"], 1, 2**31), f"{name} has no count")
        need(not arrays[name], f"{name} occurs twice")
        size = record["count"] * arrays[name].itemsize
        total += size
        need(size <= 1032 * packed + 1024, f"{name} cannot be as long as it says")
        need(total <= min(max(64 << 20, 32 * len(raw)), 2 << 30), "the arrays are too large for the file")
        stream = zlib.decompressobj()
        try:
            content = stream.decompress(raw[start : start + packed], size + 1)
        except zlib.error as error:
            raise Reject(f"{name} cannot be decompressed: {error}") from None
        whole = stream.eof and not stream.unused_data and not stream.unconsumed_tail
        need(whole and len(content) == size, f"{name} has not the length that it says")
        arrays[name].frombytes(content)
        arrays[name] = little(arrays[name])
        if ARRAYS[name] in ("f4", "f8"):
            need(all(map(math.isfinite, arrays[name])) or name in ("scale", "rho"), f"{name} has numbers not finite")
        start += packed
    need(start == len(raw) - 32, "there is something after the last array")
    return arrays


class Ragged:
    """Lists of different lengths, one after the other in an array of the file."""

    def __init__(self, flat, lengths, name):
        self.flat, self.ends = flat, [0, *accumulate(lengths)]
        need(self.ends[-1] == len(flat), f"{name} is too long or too short")

    def __getitem__(self, i):
        return self.flat[self.ends[i] : self.ends[i + 1]]


class Certificate:
    """The content of a file: every array has its length, every index its range, every list of features its order."""

    def __init__(self, raw):
        self.header, start = read_header(raw)
        self.arrays = get = read_arrays(raw, start, self.header["arrays"])
        d = self.d = self.header["n_features"]

        def same(names, count):
            for name in names.split():
                need(len(get[name]) == count, f"{name} is too long or too short")

        def below(name, limit):
            need(max(get[name], default=-1) < limit, f"{name} has a number out of range")

        def ragged(name, lengths, ascending=False):
            lists = Ragged(get[name], lengths, name)
            if ascending:
                below(name, d)
                starts, flat = set(lists.ends), lists.flat
                need(all(flat[i - 1] < flat[i] for i in range(1, len(flat)) if i not in starts), f"{name} is not ascending")
            return lists

        for name in ("include", "exclude", "support"):
            ragged(name, [len(get[name])], ascending=True)
        same("weights", len(get["support"]))
        need(len(get["rho"]) in ((1, d) if self.header["adversary"] == "feature-wise" else (0,)), "rho is too long or short")
        need(len(get["costs"]) in (0, d), "costs is too long or too short")
        need(all(x >= 0 for name in ("rho", "costs") for x in get[name]), "a budget or a cost is negative")
        preparing = d if get["mean"] and self.header["source"] == "samples" else 0
        same("mean scale", preparing)
        need(all(x > 0 for x in get["scale"]), "scale is not positive")
        self.include, self.exclude = list(get["include"]), set(get["exclude"])
        need(not self.exclude.intersection(self.include), "a feature is demanded and forbidden")
        need(len(self.include) <= self.header["k"], "more than k features are demanded")

        same("level_bound level_target level_features level_nodes", len(get["level_size"]))
        self.level_features = ragged("features", get["level_features"], ascending=True)
        self.level_ends = [0, *accumulate(get["level_nodes"])]
        same("rule item", self.level_ends[-1])
        below("rule", len(RULES))

        same("majorant_gain", len(get["majorant_size"]))
        self.majorant_features = ragged("majorant_features", get["majorant_size"], ascending=True)
        self.majorant_weights = ragged("majorant_weights", get["majorant_size"])
        need(all(x >= 0 for x in get["majorant_gain"]), "majorant_gain is negative")
        same("dominance_scaling", len(get["dominance_majorant"]))
        same("matrix_line", len(get["matrix_majorant"]))
        below("dominance_scaling", len(get["scaling_size"]) + 1)
        below("dominance_majorant", len(get["majorant_size"]))
        below("matrix_majorant", len(get["majorant_size"]))
        below("matrix_line", len(get["line_size"]))
        below("envelope_lines", len(get["line_size"]))
        self.scaling_features = ragged("scaling_features", get["scaling_size"], ascending=True)
        self.scaling_values = ragged("scaling_values", get["scaling_size"])
        need(all(z > 0 for z in get["scaling_values"]), "scaling_values is not positive")

        sizes, forms = get["line_size"], get["line_form"]
        same("line_c line_plain line_weighted line_counts line_form", len(sizes))
        below("line_counts", 2)
        need(all(form & 3 <= FREE and form < 8 for form in forms), "line_form has a form that this checker does not know")
        pairs = [b * (b - 1) // 2 for b in sizes]
        self.line_features = ragged("line_features", sizes, ascending=True)
        self.line_loads, self.line_lifts = ragged("line_loads", sizes), ragged("line_lifts", sizes)
        self.line_steps = ragged("line_steps", [n * (f & 3 == BOX) for n, f in zip(pairs, forms, strict=True)])
        self.line_free = ragged("line_free", [n * (f & 3 == FREE) for n, f in zip(pairs, forms, strict=True)])
        self.line_signs = ragged("line_signs", [b * (f & 3 == FREE) for b, f in zip(sizes, forms, strict=True)])
        self.line_dues = ragged("line_dues", [b * (f >= 4) for b, f in zip(sizes, forms, strict=True)])
        self.line_pulls = ragged("line_pulls", [b * b * (f >= 4) for b, f in zip(sizes, forms, strict=True)])
        need(all(x >= 0 for name in ("line_loads", "line_lifts", "line_dues") for x in get[name]), "a load is negative")
        need(min(get["line_steps"], default=0) >= -32767, "line_steps has -32768")
        need(all(-1 <= x <= 1 for x in get["line_signs"]), "line_signs has other numbers than -1, 0, 1")
        self.envelope_lines = ragged("envelope_lines", get["envelope_size"])
        need(all(get["envelope_size"]), "an envelope has no line")
        self.counts = {
            DOMINANCE: len(get["dominance_majorant"]),
            MATRIX: len(get["matrix_majorant"]),
            ENVELOPE: len(get["envelope_size"]),
        }


# The data


def read_npy(raw):
    """Return the numbers of a .npy file row by row, and its shape."""
    if len(raw) < 12 or raw[6] not in (1, 2, 3):
        raise Unreadable("this is not an .npy file of format 1 to 3")
    wide = raw[6] > 1
    length = struct.unpack_from("<I" if wide else "<H", raw, 8)[0]
    start = (12 if wide else 10) + length
    try:
        about = ast.literal_eval(raw[start - length : start].decode("utf-8"))
        descr, fortran, shape = about["descr"], about["fortran_order"], about["shape"]
        codes = {"f8": "d", "f4": "f", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}
        kind = codes[descr[1:]] if descr[0] == "<" or descr[1:] in ("i1", "u1") else None
        rows, columns = shape
        values = array(kind)
        values.frombytes(raw[start:])
    except (ValueError, TypeError, KeyError, IndexError, SyntaxError, MemoryError, RecursionError):
        raise Unreadable("the .npy file is not a table of little-endian numbers") from None
    if len(values) != rows * columns:
        raise Unreadable("the .npy file has not as many numbers as it says")
    values = array("d", little(values))
    if fortran:
        values = array("d", (x for i in range(rows) for x in values[i::rows]))
    return values, rows, columns


def read_csv(text, rows_expected, has_header):
    """Return the numbers of a .csv file row by row, and its shape; the first line may hold names."""
    lines = [line for line in text.splitlines() if line.strip()]
    if has_header is None and lines:
        has_header = len(lines) == rows_expected + 1
        try:
            array("d", map(float, lines[0].split(",")))
        except ValueError:
            has_header = True
    values, columns = array("d"), None
    for number, line in enumerate(lines[1:] if has_header else lines, 2 if has_header else 1):
        try:
            row = array("d", map(float, line.split(",")))
        except ValueError:
            raise Unreadable(f"line {number} of the data has a field that is not a number") from None
        columns = len(row) if columns is None else columns
        if len(row) != columns:
            raise Unreadable(f"line {number} of the data has {len(row)} fields, others have {columns}")
        values.extend(row)
    if columns is None:
        raise Unreadable("the file of data has no numbers")
    return values, len(values) // columns, columns


def read_data(path, certificate, has_header):
    """Return the doubles of the file of data row by row; it has the shape that the certificate says."""
    header = certificate.header
    expected = (header["n_samples"] if header["source"] == "samples" else certificate.d, certificate.d)
    raw = read_file(path)
    if raw[:6] == b"\x93NUMPY":
        values, *shape = read_npy(raw)
    else:
        try:
            values, *shape = read_csv(raw.decode("utf-8-sig"), expected[0], has_header)
        except UnicodeDecodeError:
            raise Unreadable(f"{path} is neither .npy nor text") from None
    if not all(map(math.isfinite, values)):
        raise Unreadable("the data have numbers that are not finite")
    what = f"{header['source']} of {expected[0]} x {expected[1]}"
    need(tuple(shape) == expected, f"the certificate speaks of {what}, the data are {shape[0]} x {shape[1]}")
    return values


def read_file(path):
    """Return the bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None


def prepared(values, certificate):
    """Return the numbers that the claim is about: (x - mean) / scale in IEEE doubles, and -0.0 as 0.0."""
    mean, scale = certificate.arrays["mean"], certificate.arrays["scale"]
    if mean:
        d = len(mean)
        values = array("d", ((x - mean[i % d]) / scale[i % d] for i, x in enumerate(values)))
        need(all(map(math.isfinite, values)), "a prepared sample is not finite")
    return array("d", [x + 0.0 for x in values])


def fingerprint(values, header):
    """Return the digest of the numbers, in blocks of rows."""
    n, d, source = header["n_samples"], header["n_features"], header["source"]
    block = max(1, 2**17 // d)
    whole = hashlib.sha256(b"\1" + source.encode() + struct.pack("<3Q", n, d, block))
    for start in range(0, len(values), block * d):
        whole.update(hashlib.sha256(b"\0" + little(values[start : start + block * d]).tobytes()).digest())
    return whole.hexdigest()


def about_preparation(values, certificate):
    """Say, to rounding, whether mean and scale are those of the data. This is no part of the claim."""
    mean, scale, d = certificate.arrays["mean"], certificate.arrays["scale"], certificate.d
    if not mean:
        return "the data are taken as they are"
    n = len(values) // d
    centred, kinds = True, {"1": True, "standard deviations": True, "standard deviations (n - 1)": True}
    for j in range(d):
        column = values[j::d]
        middle = math.fsum(column) / n
        spread = math.sqrt(math.fsum((x - middle) ** 2 for x in column) / n)
        size = max(map(abs, column))
        centred &= abs(mean[j] - middle) <= 1e-12 * size
        constant = math.isinf(scale[j]) and spread <= 1e-12 * size
        for kind, wanted in zip(kinds, (1.0, spread, spread * math.sqrt(n / max(n - 1, 1))), strict=True):
            kinds[kind] &= constant or abs(scale[j] - wanted) <= 1e-10 * wanted
    means = "the means of the data" if centred else "NOT the means of the data"
    found = next((kind for kind, fits in kinds.items() if fits), "NOT 1 or the standard deviations")
    return f"taken off: {means}; divided by: {found}"


# The problem, in units of 4^exponent


class Problem:
    """The matrix A, budgets r, costs and what follows from them, all fixed-point; nothing is computed before it is needed."""

    def __init__(self, values, certificate):
        header, get = certificate.header, certificate.arrays
        self.values, self.d, self.n = values, certificate.d, header["n_samples"]
        self.exponent, self.k = header["exponent"], header["k"]
        self.is_samples = header["source"] == "samples"
        self.rows, self.columns = {}, {}
        self.include, self.exclude = certificate.include, certificate.exclude
        self.allowed = [j for j in range(self.d) if j not in self.exclude]
        self.costs = [fixed(c, 2 * self.exponent) for c in get["costs"]] or [0] * self.d
        shift = header["shift"]
        if not self.is_samples:
            square = all(values[i * self.d + j] == values[j * self.d + i] for i in range(self.d) for j in range(i))
            need(square, "the covariance is not symmetric")
        need(not self.is_samples or shift == 0, "shift of samples is 0")
        self.shift = fixed(shift or 0.0)
        self.diagonal = [self.product(j, j) + self.shift for j in range(self.d)]
        self.largest = max(map(abs, self.diagonal)) + 2
        self.definite = shift is not None
        if self.definite and not self.is_samples:
            lower = [self.row(i, range(i + 1)) for i in range(self.d)]
            proved = is_definite([[row[j] for j in range(i + 1)] for i, row in enumerate(lower)], 2)
            need(proved, "the covariance and its shift are not positive semidefinite")
        budgets = get["rho"] * (self.d if len(get["rho"]) == 1 else 1) or array("d", bytes(8 * self.d))
        need(self.definite or not any(budgets), "budgets of a covariance need shift")
        roots = [isqrt(max(a, 0) << BITS) for a in self.diagonal]
        self.rho = budgets
        full = self.full = [root + 2 if math.isinf(rho) else self.budget(rho) for rho, root in zip(budgets, roots, strict=True)]
        # most_j, rounded up; then no budget need be larger than the length of its column.
        lengths = [max(isqrt(a + 2 << BITS) + 1 - r, 0) for a, r in zip(self.diagonal, full, strict=True)] if self.definite else []
        self.most = [up(h * h) - c for h, c in zip(lengths, self.costs, strict=False)]
        self.r = [min(r, root) for r, root in zip(full, roots, strict=True)] if self.definite else full
        self.top = max(self.r)
        self.w = [(r << BITS) // self.top for r in self.r] if self.top else [ONE] * self.d

    def budget(self, rho):
        """Return r_j = rho_j / sqrt(n), rounded down."""
        numerator, denominator = rho.as_integer_ratio()
        shift = 2 * (BITS - self.exponent)
        top, bottom = numerator**2, denominator**2 * self.n
        return isqrt((top << shift) // bottom if shift >= 0 else top // (bottom << -shift))

    def column(self, j):
        """Return column j of the samples as integers and their exponent."""
        if j not in self.columns:
            self.columns[j] = integers(self.values[j :: self.d])
        return self.columns[j]

    def product(self, i, j):
        """Return A_ij without the shift, rounded down."""
        if not self.is_samples:
            return fixed(self.values[i * self.d + j], 2 * self.exponent)
        (x, s), (y, t) = self.column(i), self.column(j)
        shift = BITS - 2 * self.exponent - s - t
        total = sum(map(mul, x, y))
        return (total << shift) // self.n if shift >= 0 else (total >> -shift) // self.n

    def row(self, i, wanted):
        """Return row i of A as a dictionary that has the wanted entries: at most an ulp too small, two on the diagonal."""
        row = self.rows.setdefault(i, {})
        for j in wanted:
            if j not in row:
                row[j] = self.diagonal[i] if i == j else self.product(i, j)
                self.rows.setdefault(j, {})[i] = row[j]
        return row


# Majorants


class Majorant:
    """M_ij = f_i f_j (A_ij - g_i g_j) + (1 + kappa) h_i h_j, the attack in response to x; plain: M = A.

    Let u be the unit vector of sum x_j a_j, g_j = a_j'u. In place of a_j the attack puts c_j = h_j u + f_j (a_j - g_j u),
    no more than r_j away from it; so (|a_j'y| - r_j)_+ <= |c_j'y| for all y, and the Gram matrix of the c_j is a majorant.
    kappa > 0: features that are stretched have their c_j multiplied by sqrt(1 + kappa), and the component along u weighs
    sqrt(1 + kappa) more. For a unit vector y with y0 = u'y >= 0 take y~, the unit vector along y with its component y0
    divided by sqrt(1 + kappa): |c~_j'y~| >= sqrt(1 + kappa) (|a_j'y| - r_j)_+ for stretched features, and for the others
    if (|a_j| - r_j)(sqrt(1 + kappa (1 - y0^2)) - 1) <= r_j (1 - y0), which kappa (|a_j| - r_j) <= r_j implies.
    """

    def __init__(self, problem, gain, features, weights):
        self.problem, self.features = problem, list(features)
        self.gain = fixed(gain)
        self.known = {}
        self.plain = not self.features
        if self.plain:
            need(self.gain == 0, "a plain majorant has no gain")
            self.error = 2
            return
        need(problem.definite, "an attack in response to x needs definiteness")
        size = max(map(abs, weights))
        need(size > 0, "the vector of a majorant is zero")
        scale = math.frexp(size)[1]
        self.x = [fixed(w, scale) for w in weights]
        total = sum(map(abs, self.x))
        ax = [self.along(j) for j in self.features]
        square = sum(map(mul, self.x, ax)) >> BITS
        # Each entry of A is wrong by at most 2 ulps: A x by `off`, x'A x by `off2`, g = A x / sqrt(x'A x) by `self.off`.
        off = up(2 * total) + 1
        off2 = up(off * total) + 1
        need(square > off2, "x'Ax of a majorant is not positive")
        self.root = isqrt(square << BITS)
        reach = isqrt(problem.largest << BITS) + 1
        self.off = over(off << BITS, isqrt((square - off2) << BITS)) + 2 * over(reach * off2, square - off2) + up(reach) + 4
        self.stretch = isqrt((ONE + self.gain) << BITS) + 1
        # An entry of M: f <= stretch and |g|, |h| / stretch <= reach, each but f wrong by at most 2 `self.off` (+ 1).
        weight = up(up(self.stretch * self.stretch) * (ONE + self.gain))
        self.error = up(up(weight * (reach + self.off + ONE)) * (8 * self.off + 8)) + up(problem.largest) + 8

    def along(self, j):
        """Return (A x)_j."""
        row = self.problem.row(j, self.features)
        return sum(map(mul, self.x, [row[i] for i in self.features])) >> BITS

    def parts(self, j):
        """Return f_j, f_j g_j, h_j and (1 + kappa) h_j, stretched where they must be."""
        if self.plain:
            return ONE, 0, 0, 0
        if j not in self.known:
            problem, r, off = self.problem, self.problem.r[j], self.off
            g = (self.along(j) << BITS) // self.root
            size, f, h = abs(g), ONE, 0
            if size + off > r:  # a budget of min(r, |g|), so that h is at most `off` away from its true value
                h = max(size - r, 0) * (1 if g > 0 else -1)
            else:
                inside, outside = r * r - (size + off) ** 2, (problem.diagonal[j] + 2 << BITS) - max(size - off, 0) ** 2
                f = ONE - min(isqrt((inside << 2 * BITS) // outside), ONE) if outside > 0 else 0
            length = isqrt(problem.diagonal[j] + 2 << BITS) + 1
            if size + off <= r or self.gain * (length - r + 2 * off) > (r - 2 * off) << BITS:
                f, h = up(f * self.stretch), h * self.stretch >> BITS
            self.known[j] = f, f * g >> BITS, h, (ONE + self.gain) * h >> BITS
        return self.known[j]


def eliminate(node, majorant):
    """Return C, the Schur complement of P = tI - M + (1 + kappa) diag_F(pi) on F, rounded down; only its lower triangle.

    A choice S of the node worth more than T has lambda_max((M - (1 + kappa) diag_F(pi))_SS) > t. It has none if P_SS is
    positive semidefinite, that is, P_II is positive definite and C_QQ positive semidefinite with Q = S without I.
    """
    problem, gain = node.problem, ONE + majorant.gain
    t = gain * (node.target + node.paid) >> BITS
    order, first = node.inside + node.free, len(node.inside)
    top = t + problem.largest + majorant.error
    need(top > 0, "P_II is not positive definite")
    slack = len(order) * majorant.error + (len(order) * (isqrt(top << BITS) + 1) >> BITS) + 1
    factor, negative, pivots, result = [], [], [], []
    scales = []
    for a, i in enumerate(order):
        row, (f, fg, h, long) = problem.row(i, order[: a + 1]), majorant.parts(i)
        scales.append(f)
        if majorant.plain:
            entries = [-(row[j] << BITS) for j in order[: a + 1]]
        else:
            entries = [-row[j] * (f * g >> BITS) for j, g in zip(order[: a + 1], scales, strict=True)]
        entries[a] += (t - slack + (0 if a < first else gain * problem.costs[i] >> BITS)) << BITS
        left, right = [fg, h], [fg, -long]
        for entry, other, pivot in zip(entries, negative, pivots):  # noqa: B905 - entries of F come later
            new = (entry + sum(map(mul, left, other))) // pivot
            left.append(new)
            right.append(-new)
        if a < first:
            square = entries[a] + sum(map(mul, left, right))
            need(square > 0, "P_II is not positive definite")
            pivots.append(isqrt(square))
            negative.append(right)
        else:
            factor.append(right)
            row = [entry + sum(map(mul, left, other)) >> BITS for entry, other in zip(entries[first:], factor, strict=True)]
            row[-1] -= len(node.free)
            result.append(row)
    return result


# The rules: each shows that no choice of a node is worth more than T


def check_lengths(node):
    """LENGTHS. A feature contributes at most most_j, and those of F that contribute less than nothing can be left out."""
    problem = node.problem
    need(problem.definite, "lengths need definiteness")
    rest = sorted((problem.most[j] for j in node.free), reverse=True)[: node.p]
    total = sum(problem.most[j] for j in node.inside) + sum(most for most in rest if most > 0)
    need(total <= node.bound, "its lengths add up to more than T")


def check_dominance(node, record):
    """DOMINANCE. With d_j > 0, C_QQ is positive semidefinite if C_ii d_i >= sum_{j in Q, j != i} |C_ij| d_j for i in Q.

    For Q of p features or fewer it is enough to compare with the p - 1 largest terms of each row (Gershgorin).
    """
    get = node.proof.certificate.arrays
    lower = eliminate(node, node.proof.majorant(get["dominance_majorant"][record]))
    others = min(node.p, len(node.free)) - 1
    need(all(row[-1] >= 0 for row in lower), "C has a negative number on its diagonal")
    if others < 1:
        return
    need(all(row[-1] > 0 for row in lower), "C has a zero on its diagonal")
    scaling = node.proof.scaling(get["dominance_scaling"][record])
    weights = [
        (scaling.get(j, ONE) << BITS) // isqrt(row[-1] << BITS) + 1 for j, row in zip(node.free, lower, strict=True)
    ]
    for i, row in enumerate(lower):
        whole = [abs(c) for c in row[:-1]] + [0] + [abs(other[i]) for other in lower[i + 1 :]]
        terms = sorted(map(mul, whole, weights), reverse=True)
        need(sum(terms[:others]) <= row[-1] * weights[i], f"the row of feature {node.free[i]} is not dominant")


class Line:
    """For unit v zero outside S: v'Gv <= c + (plain + [in s] sum_S tau) s + (weighted + [in t] sum_S tau) t + sum_S alpha.

    Here s = (sum |v_i|)^2 and t = (sum w_i |v_i|)^2. Three steps, with N = sum n_i |v_i|, so that N^2 is s or t:
    - dues: 2 v_i sum_j y_ij v_j + v_i^2 (1 - |y_i|^2) <= 1 for unit v with y_ii = 0, since the sum is at most
      |y_i| sqrt(1 - v_i^2); so v'Gv <= v'G'v + sum_S alpha_i;
    - v'G'v <= v'Bv + sum_ij box_ij |v_i| |v_j| - sum_i q_i v_i^2, box_ii the same formula: B is that close to G'; and
      v'Bv <= c, which is proved here;
    - the sum over box is plain s + weighted t + N sum_i lambda_i |v_i|, and lambda_i |v_i| N - q_i v_i^2 <= tau_i N^2
      with tau_i = lambda_i^2 / (4 q_i).
    """

    def __init__(self, proof, number, gram, error):
        """Prove line `number` about the matrix whose lower triangle is `gram`, up to `error` ulps in each entry."""
        certificate, problem = proof.certificate, proof.problem
        get = certificate.arrays
        self.features = list(certificate.line_features[number])
        self.plain, self.weighted = fixed(get["line_plain"][number]), fixed(get["line_weighted"][number])
        self.in_t = get["line_counts"][number]
        self.c = fixed(get["line_c"][number])
        self.form, dues = get["line_form"][number] & 3, get["line_form"][number] >= 4
        loads = [fixed(x) for x in certificate.line_loads[number]]
        lifts = [fixed(x) for x in certificate.line_lifts[number]]
        need(all(q or not load for load, q in zip(loads, lifts, strict=True)), f"line {number} has a load without a lift")
        tau = [over(load * load, 4 * q) if load else 0 for load, q in zip(loads, lifts, strict=True)]
        self.tau = dict(zip(self.features, tau, strict=True))
        alpha = [fixed(x) for x in certificate.line_dues[number]] or [0] * len(tau)
        self.alpha = dict(zip(self.features, alpha, strict=True))
        signs = certificate.line_signs[number] or [0] * len(tau)
        self.signs = [(j, sign) for j, sign in zip(self.features, signs, strict=True) if sign]
        if dues:
            gram, error = self.less_dues(gram, alpha, certificate.line_pulls[number]), error + 1
        weights = [problem.w[j] for j in self.features]
        matrix, excess = self.near(gram, certificate, number, loads, lifts, weights, signs)
        lower = [[-b for b in row] for row in matrix]
        for row in lower:
            row[-1] += self.c
        need(is_definite(lower, error), f"c I - B of line {number} is not positive semidefinite")
        self.plain += excess

    @staticmethod
    def less_dues(gram, alpha, pulls):
        """Return G' of G."""
        b = len(alpha)
        y = [[fixed(x) for x in pulls[i * b : (i + 1) * b]] for i in range(b)]
        need(not any(y[i][i] for i in range(b)), "a line has a pull of a feature on itself")
        result = []
        for i, row in enumerate(gram):
            new = [g - (alpha[i] * y[i][j] + alpha[j] * y[j][i] >> BITS) for j, g in enumerate(row)]
            new[i] = row[i] - (alpha[i] * (ONE * ONE - sum(map(mul, y[i], y[i]))) >> 2 * BITS)
            result.append(new)
        return result

    def near(self, gram, certificate, number, loads, lifts, weights, signs):
        """Return B, and what must be added to `plain` so that B is within the box off the diagonal.

        Boxes are rounded down, and B_ii up.
        """
        counts = weights if self.in_t else [ONE] * len(weights)
        at_most = [self.weighted * w >> BITS for w in weights]
        starts = [0, *accumulate(range(len(weights) - 1, 0, -1))]
        steps, free = certificate.line_steps[number], certificate.line_free[number]
        result, excess = [], 0
        for i, row in enumerate(gram):
            load, count, weight = loads[i], counts[i], weights[i]
            new = []
            for j in range(i):
                box = self.plain + (at_most[j] * weight >> BITS) + (load * counts[j] + loads[j] * count >> BITS + 1)
                if box < 0:
                    excess, box = max(excess, -box), 0
                g = row[j]
                if self.form == THRESHOLD:
                    new.append(g - min(max(g, -box), box))
                elif self.form == BOX:
                    step = steps[starts[j] + i - j - 1]
                    new.append(g + (box * step // 32767 if step >= 0 else -(box * -step // 32767)))
                else:
                    step = fixed(free[starts[j] + i - j - 1])
                    sign = signs[i] * signs[j]
                    excess = max(excess, (-sign * step if sign else abs(step)) - box)
                    new.append(g + step)
            new.append(row[i] + lifts[i] - self.plain - (at_most[i] * weight >> BITS) - (load * count >> BITS))
            result.append(new)
        return result, excess


def check_matrix(node, record):
    """MATRIX. N = D C D, D about C_ii^(-1/2), has v'Nv >= 0 for all v of m features: C_QQ is positive semidefinite.

    A line about G = -N says v'Gv <= c + sigma s, and 1 <= s <= m for unit v of m features; c + m max(sigma, 0) <= 0.
    """
    proof = node.proof
    get = proof.certificate.arrays
    lower = eliminate(node, proof.majorant(get["matrix_majorant"][record]))
    if not node.free:
        return
    number = get["matrix_line"][record]
    need(list(proof.certificate.line_features[number]) == node.free, "its line is not about the features of F")
    need(get["line_form"][number] in (THRESHOLD, BOX), "its line is neither of form THRESHOLD nor BOX, or has dues")
    need(get["line_counts"][number] == 0 and get["line_weighted"][number] == 0, "its line does not count in s alone")
    need(all(row[-1] > 0 for row in lower), "C has no positive diagonal")
    scale = [isqrt((1 << 3 * BITS) // row[-1]) for row in lower]
    gram = [
        [-(c * left * right >> 2 * BITS) for c, right in zip(row, scale, strict=False)]
        for row, left in zip(lower, scale, strict=True)
    ]
    line = Line(proof, number, gram, 1)
    m = min(node.p, len(node.free))
    sigma = line.plain + sum(sorted(line.tau.values(), reverse=True)[:m])
    need(line.c + m * max(sigma, 0) <= 0, f"c + {m} sigma of its line is positive")


def check_envelope(node, record):
    """ENVELOPE. The variance lies below lines, and these below what a choice worth more than T must have.

    That is h(x) = (sqrt(T + x) + r sqrt(t))^2 with the costs x of the choice. Lines are linear in s and in t, h is
    concave in t and in x: it is enough to look at the ends of s, at the ends of pieces of t, and at chords of h. The set
    of t where a line closes the node is an interval (convex - concave <= 0), so intervals are strung together.
    """
    proof, problem = node.proof, node.problem
    lines = [proof.line(number) for number in proof.certificate.envelope_lines[record]]
    for line in lines:
        need(all(j in line.tau for j in node.inside + node.free), "a line does not speak of all features of the node")
        need(all(node.signs.get(j) == sign for j, sign in line.signs), "a line has signs that the node has not")
    w, chosen = problem.w, min(node.p, len(node.free))
    start = min(w[j] ** 2 for j in node.inside + node.free) >> BITS
    end = up(sum(w[j] ** 2 for j in node.inside) + sum(sorted((w[j] ** 2 for j in node.free), reverse=True)[:chosen]))
    t, end = start, max(start, end)
    while True:
        reaching = [line for line in lines if closes(node, line, t, chosen)]
        need(reaching, f"no line closes it at t = {t / ONE:.9g}")
        if any(closes(node, line, end, chosen) for line in reaching):
            return
        furthest = t
        for line in reaching:
            low, high = t, end
            while high - low > (end - start >> 64) + 1:
                middle = low + high >> 1
                low, high = (middle, high) if closes(node, line, middle, chosen) else (low, middle)
            furthest = max(furthest, low)
        need(furthest > t, f"no line closes it beyond t = {t / ONE:.9g}")
        t = furthest


def closes(node, line, t, chosen):
    """Show at one t, for s at its ends and for every Q: Y + sum_Q g <= h(pi_I + sum_Q pi). All numbers times 2^256."""
    problem = node.problem
    costs, r = problem.costs, problem.top
    rest = sum(sorted((costs[j] for j in node.free), reverse=True)[:chosen])
    pieces = 16 if rest and r else 1
    cuts = [node.paid + rest * i // pieces for i in range(pieces + 1)]
    square = r * r * t
    h = [((node.bound + x) << BITS) + (square >> BITS) + 2 * isqrt(square * (node.bound + x)) for x in cuts]
    m = len(node.inside) + chosen
    for s in (m, 1) if line.plain < 0 else (m,):
        count = t if line.in_t else s << BITS
        g = {j: line.tau[j] * count + (line.alpha[j] << BITS) for j in node.inside + node.free}
        y = (line.c + line.plain * s << BITS) + line.weighted * t + sum(g[j] for j in node.inside)
        for x, height, after, next_height in zip(cuts, h, cuts[1:], h[1:], strict=False):
            slope = (next_height - height) // (after - x) if after > x else 0
            worst = sorted((g[j] - slope * costs[j] for j in node.free), reverse=True)[:chosen]
            if y + sum(z for z in worst if z > 0) > height - slope * (x - node.paid):
                return False
    return True


CHECKS = {DOMINANCE: check_dominance, MATRIX: check_matrix, ENVELOPE: check_envelope}


# Levels and trees


class Node:
    """The choices with I in S, S in I and F, at most p features outside I, and signs of v."""

    def __init__(self, proof, level, state):
        self.proof, self.problem = proof, proof.problem
        self.bound, self.target = level.bound, level.target
        self.inside = list(state.inside)
        self.p = level.size - len(self.inside)
        self.free = [j for j in level.features if state.status.get(j) is None] if self.p else []
        self.signs = {j: sign for j, sign in state.signs.items() if sign}
        self.paid = sum(self.problem.costs[j] for j in self.inside)


class State:
    """The node that a walk through a tree has come to: features inside and outside, signs, and the open branches.

    An open branch is (rule, feature, whether a second subtree is to come).
    """

    def __init__(self, demanded):
        self.inside = list(demanded)
        self.status = dict.fromkeys(demanded, True)
        self.signs, self.branches = {}, []

    def enter(self, rule, j):
        """Go to the first subtree of a branch."""
        self.branches.append((rule, j, rule == FEATURE or bool(self.signs)))
        if rule == FEATURE:
            self.status[j] = True
            self.inside.append(j)
        else:
            self.signs[j] = 1

    def leave(self):
        """Go on to the next open subtree, and tell whether there is one."""
        while self.branches:
            rule, j, second = self.branches.pop()
            if rule == FEATURE and second:
                self.inside.pop()
                self.status[j] = False
            elif second:
                self.signs[j] = -1
            elif rule == FEATURE:
                del self.status[j]
            else:
                del self.signs[j]
            if second:
                self.branches.append((rule, j, False))
                return True
        return False


class Level:
    """No choice of at most `size` features is worth more than `bound`."""

    def __init__(self, certificate, number):
        get = certificate.arrays
        self.number, self.size = number, get["level_size"][number]
        self.t = get["level_bound"][number]
        self.bound, self.target = fixed(self.t), fixed(get["level_target"][number])
        self.features = list(certificate.level_features[number])
        self.feature_set = set(self.features)
        self.nodes = range(certificate.level_ends[number], certificate.level_ends[number + 1])


class Proof:
    """A certificate about a problem: checks levels and trees, and keeps what several leaves have in common."""

    def __init__(self, certificate, problem):
        self.certificate, self.problem = certificate, problem
        self.lines, self.majorants = {}, {}

    def majorant(self, number):
        """Return a majorant of the certificate."""
        if number not in self.majorants:
            get = self.certificate
            x = get.majorant_features[number], get.majorant_weights[number]
            if len(self.majorants) > 200:  # bounds memory: neighbours in the tree share majorants
                self.majorants.clear()
            self.majorants[number] = Majorant(self.problem, get.arrays["majorant_gain"][number], *x)
        return self.majorants[number]

    def scaling(self, number):
        """Return a scaling's z by feature; 0 stands for none."""
        if not number:
            return {}
        pairs = zip(self.certificate.scaling_features[number - 1], self.certificate.scaling_values[number - 1], strict=True)
        return {j: fixed(z) for j, z in pairs}

    def line(self, number):
        """Return a line about A, proved once."""
        if number not in self.lines:
            features = self.certificate.line_features[number]
            gram = []
            for i, j in enumerate(features):
                row = self.problem.row(j, features[: i + 1])
                gram.append([row[other] for other in features[: i + 1]])
            self.lines[number] = Line(self, number, gram, 2)
        return self.lines[number]

    def check(self):
        """Prove the bound, level by level."""
        certificate, problem = self.certificate, self.problem
        levels = [Level(certificate, number) for number in range(len(certificate.arrays["level_size"]))]
        need(levels, "there is no level")
        sizes = [level.size for level in levels]
        need(all(a < b for a, b in zip(sizes, sizes[1:], strict=False)), "level_size is not ascending")
        need(sizes[-1] in (problem.k, min(problem.k, len(problem.allowed))), "the last level is not of k features")
        one_only = problem.include or not problem.definite
        need(len(levels) == 1 or not one_only, "with demanded features or without definiteness there is one level only")
        most = sorted((max(problem.most[j], 0) for j in problem.allowed), reverse=True) if problem.definite else []
        sums = [0, *accumulate(most)]
        # below[q] bounds the choices of q features: of a choice worth V, some q - 1 features are worth (q - 1) / q of V.
        below = [0]
        for level in levels:
            for q in range(len(below), level.size + 1 if problem.definite else 0):
                likely = sums[min(q, len(most))]
                below.append(min(likely, over(q * below[-1], q - 1)) if q > 1 else likely)
            try:
                self.check_level(level, below)
            except Reject as reason:
                raise Reject(f"level {level.number} (of at most {level.size} features): {reason}") from None
            below[-1] = min(below[-1], max(level.bound, 0))
        scale = Fraction(4) ** certificate.header["exponent"]
        need(Fraction(levels[-1].t) * scale <= Fraction(certificate.header["bound"]), "the last level proves less than bound")

    def check_level(self, level, below):
        """Prove a level: what its tree leaves out contributes too little, and its tree is closed."""
        problem, features = self.problem, set(level.features)
        need(level.target <= level.bound, "its target is above its bound")
        need(problem.include or level.bound >= 0, "its bound is below 0, the value of no features")
        need(features.issuperset(problem.include), "a demanded feature is not among its features")
        need(not features & problem.exclude, "a forbidden feature is among its features")
        others = [j for j in problem.allowed if j not in features]
        if problem.definite and others:
            # The others of a choice worth more than T are worth at most below[q - 1].
            due = max(0, level.bound - below[-2]) if level.size and not problem.include else 0
            worst = max(others, key=problem.most.__getitem__)
            need(problem.most[worst] <= due, f"feature {worst} contributes more than what is left out may")
        need(problem.definite or not others, "it does not list all allowed features")
        if level.nodes:
            self.check_tree(level)
        else:
            known = problem.definite or not problem.allowed
            need(known and below[-1] <= level.bound, "it has no nodes, and what is known before is not enough")

    def check_tree(self, level):
        """Walk through the tree in preorder and check every leaf."""
        get, state, is_open = self.certificate.arrays, State(self.problem.include), True
        for number in level.nodes:
            rule, item = get["rule"][number], get["item"][number]
            try:
                need(is_open, "the tree is closed before it")
                is_open = self.check_node(level, state, rule, item)
            except Reject as reason:
                raise Reject(f"node {number}, {RULES[rule]} {item}: {reason}") from None
        need(not is_open, "its tree is not closed")

    def check_node(self, level, state, rule, item):
        """Check one node, go on to the next, and tell whether there is one."""
        if rule in (FEATURE, SIGN):
            is_free = item in level.feature_set and state.status.get(item) is None and len(state.inside) < level.size
            inside = state.status.get(item) is True
            need(is_free or (rule == SIGN and inside), "the feature is not in F" if rule == FEATURE else "no such feature")
            need(rule == FEATURE or not state.signs.get(item), "the feature has a sign")
            state.enter(rule, item)
            return True
        node = Node(self, level, state)
        if not node.inside and not node.free:
            need(item == 0, "an empty node has item 0")
        elif rule == LENGTHS:
            need(item == 0, "lengths have item 0")
            check_lengths(node)
        else:
            need(item < self.certificate.counts[rule], "there is no such record")
            need((node.bound if rule == ENVELOPE else node.target) + node.paid > 0, "T and the costs of I are not positive")
            CHECKS[rule](node, item)
        return state.leave()


def proved_value(problem, certificate):
    """Return a lower bound for the value that the vector of the certificate attains, in the units of the data.

    It is (sqrt(w'Aw) - sum r |w|)_+^2 / w'w less costs. A is rounded down to at most an ulp below each entry; budgets and
    costs are rounded down too, and an ulp is added.
    """
    get, r = certificate.arrays, problem.full
    features = list(get["support"])
    chosen = set(features).union(problem.include)
    need(len(chosen) <= problem.k, "the vector has more than k features, with the demanded ones")
    need(not chosen & problem.exclude, "the vector has a forbidden feature")
    costs = sum((Fraction(get["costs"][j]) for j in chosen), Fraction(0)) if get["costs"] else Fraction(0)
    w, _ = integers(get["weights"])
    size, length = sum(map(abs, w)), sum(map(mul, w, w))
    value = Fraction(0)
    if length:
        square = 0
        for j, weight in zip(features, w, strict=True):
            row = problem.row(j, features)
            square += weight * (sum(map(mul, w, [row[i] for i in features])) - weight * problem.shift)
        norm = isqrt(max(square - size * size, 0) << BITS)
        least = norm - sum((r[j] + 1) * abs(weight) for j, weight in zip(features, w, strict=True))
        infinite = any(weight and math.isinf(problem.rho[j]) for j, weight in zip(features, w, strict=True))
        value = Fraction(0 if infinite else max(least, 0) ** 2, ONE * ONE * length) * Fraction(4) ** problem.exponent
    value -= costs
    claimed, scale = Fraction(certificate.header["value"]), Fraction(4) ** problem.exponent
    room = abs(claimed) / 10**9 + Fraction(max(problem.diagonal) - problem.shift, ONE) * scale / 10**12
    need(value >= claimed - room, f"the vector attains no more than {decimal(value, ROUND_FLOOR)}")
    return value


def decimal(x, rounding):
    """Return a rational number in decimals, rounded to a side."""
    x = Fraction(x)
    return str(Context(prec=15, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)))


# Explaining


def explain(certificate):
    """Yield the lines of the proof in words."""
    header, get = certificate.header, certificate.arrays
    names = ", ".join(map(str, certificate.include)) or "none"
    yield f"Claim: {header['value']} <= best value of at most {header['k']} of {certificate.d} features <= {header['bound']}"
    yield f"  adversary {header['adversary']}; demanded features: {names}; forbidden: {len(certificate.exclude)}"
    yield f"  attained by features {', '.join(map(str, get['support'])) or 'none'}"
    unit = 4.0 ** header["exponent"]
    for number in range(len(get["level_size"])):
        level = Level(certificate, number)
        yield f"Level {number}: at most {level.size} features, no choice is worth more than {level.t * unit:.9g}"
        left = certificate.d - len(level.features) - len(certificate.exclude)
        yield f"  works on {len(level.features)} features; {left} others contribute too little"
        if not level.nodes:
            yield "  proved: what is known of fewer features and of lengths is enough"
        state = State(certificate.include)
        for node in level.nodes:
            rule, item, depth = get["rule"][node], get["item"][node], len(state.branches)
            yield f"{'  ' * min(depth + 1, 40)}{node}: {place(state)}{words(certificate, rule, item)}"
            if rule in (FEATURE, SIGN):
                state.enter(rule, item)
            elif not state.leave():
                break


def place(state):
    """Say which branch the node is."""
    if not state.branches:
        return ""
    rule, j, _ = state.branches[-1]
    if rule == FEATURE:
        return f"with {j}, " if state.status[j] else f"without {j}, "
    return f"v_{j} {'>=' if state.signs[j] > 0 else '<='} 0, "


def words(certificate, rule, item):
    """Say what a rule does."""
    get = certificate.arrays
    if rule == FEATURE:
        return f"with or without feature {item}:"
    if rule == SIGN:
        return f"by the sign of v_{item}:"
    if rule == LENGTHS:
        return "closed: the lengths of its columns add up to too little"
    if item >= certificate.counts[rule]:
        return f"closed by {RULES[rule]} {item}, which is not there (or the node is empty)"
    if rule == ENVELOPE:
        return f"closed: the variance lies below lines {', '.join(map(str, certificate.envelope_lines[item]))}"
    majorant = get["dominance_majorant" if rule == DOMINANCE else "matrix_majorant"][item]
    features = len(certificate.majorant_features[majorant])
    attack = f"under the attack in response to a vector of {features} features" if features else "without an attack"
    how = "its rows are dominant" if rule == DOMINANCE else f"line {get['matrix_line'][item]} bounds its eigenvalues"
    return f"closed {attack} (majorant {majorant}): {how}"


def main():
    """Check the certificate that the command line names."""
    parser = argparse.ArgumentParser(description="Check a certificate of noap.")
    parser.add_argument("certificate")
    parser.add_argument("data", nargs="?", help=".csv or .npy: samples or covariance; not needed with --explain")
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help="whether a .csv begins with names (guessed)")
    parser.add_argument("--explain", action="store_true", help="print the proof in words")
    options = parser.parse_args()
    if options.data is None and not options.explain:
        parser.error("the data are missing; only --explain does without")
    try:
        certificate = Certificate(read_file(options.certificate))
        if options.explain:
            for line in explain(certificate):
                print(line)
        if options.data is None:
            return 0
        raw = read_data(options.data, certificate, options.header)
        values = prepared(raw, certificate)
        found = fingerprint(values, certificate.header)
        need(found == certificate.header["fingerprint"], "the data are others than the certificate speaks of")
        problem = Problem(values, certificate)
        value = proved_value(problem, certificate)
        Proof(certificate, problem).check()
    except Reject as reason:
        print(f"REJECT: {reason}")
        return 1
    except Unreadable as reason:
        print(f"{parser.prog}: {reason}", file=sys.stderr)
        return 2
    bound = certificate.header["bound"]
    print(f"ACCEPT: {decimal(value, ROUND_FLOOR)} <= optimum <= {decimal(bound, ROUND_CEILING)}")
    print(f"  not part of the claim: {about_preparation(raw, certificate)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
