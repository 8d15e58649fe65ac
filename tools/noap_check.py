"""Check a noap certificate: one file, Python's standard library, written from docs/certificate-format.md alone.

    python noap_check.py CERTIFICATE DATA [--explain]

DATA, a .npy file or a .csv one (with a line of names or without), holds the samples or the covariance that the
certificate speaks of. The answer is ACCEPT with what is proved, exit code 0; REJECT, 1; or that an input cannot be
read, 2. --explain prints the proof in words.

What is claimed. A *choice* is a set S of at most k features (all demanded, no forbidden ones) and a unit vector v that
is zero outside S. Its value is (sqrt(v'Av) - sum_j r_j |v_j|)_+^2 - sum_{j in S} pi_j, where A = X'X/n. The claim:
the best choice has a value of at least `value` and at most `bound`. A certificate may have *directions*, rows V: then
choices have |V v| <= 10^-8, so that v'Gv <= v'(G - V'diag(sigma)V) v + 10^-16 max sigma for all sigma >= 0. It may have
a *metric* B: then the value is (sqrt(v'Av) - sum_j r_j |v_j|)_+^2 / v'Bv. Without one, B = I below. Against attacks on
samples the value is sum_i (|x_i'v| - rho_i)_+^2 / n - sum_{j in S} pi_j.

How numbers are held. An integer a stands for a / 2^128 (its last place is an *ulp*). Three ideas make rounding safe:

1. Budgets r, costs pi and thresholds T are rounded down once, and are exact from then on. That is another problem,
   whose choices have no smaller value, with a bound to prove that is no larger.
2. Multipliers of a proof may be any numbers. They are rounded once, in any direction, and are exact from then on.
3. A symmetric matrix whose n x n entries are wrong by at most e each is wrong by at most n e in the order of
   semidefinite matrices (its eigenvalues are at most its largest row sum). So A is rounded to an ulp, n ulps are added
   to its diagonal, no value falls, and it is exact from then on. Of a matrix computed from it, wrong by e, n e is taken
   off the diagonal, and what is shown of the rest holds.

Symmetric matrices are lists of the rows of their lower triangle.
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
from copy import copy
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain, combinations, pairwise, product
from math import frexp, inf, isfinite, isqrt
from operator import mul
from pathlib import Path
from statistics import fmean, pstdev
from types import SimpleNamespace

BITS = 128
ONE = 1 << BITS
TOLERANCE = (ONE + (ONE >> 40)) // 10**16  # of |V v|^2; entries of V are rounded, which makes it longer by an ulp each
THRESHOLD, BOX, FREE, CORE = range(4)
# Of each rule: the kind of its records, and what it says.
RULES = {
    "FEATURE": ("", "with or without feature {}:"),
    "SIGN": ("", "by the sign of v_{}:"),
    "LENGTHS": ("", "closed: the lengths of its columns add up to too little"),
    "DOMINANCE": ("dominance", "closed by a majorant and diagonal dominance, record {}"),
    "MATRIX": ("matrix", "closed by a majorant and a matrix, record {}"),
    "ENVELOPE": ("envelope", "closed: the variance lies below lines, record {}"),
    "LISTED": ("list", "closed: all are part of support {} of the list"),
    "BEYOND": ("list", "all contain support {} of the list; below, T is at least what these are worth at most:"),
}
LEAVES = range(2, 6)


class Reject(Exception):
    """The certificate does not prove its claim, or this checker does not understand it."""


def need(condition, reason):
    """Reject unless the condition holds."""
    if not condition:
        raise Reject(reason)


def fixed(x, exponent=0):
    """Return floor(x 2^(128 - exponent)) of a double or a rational number x."""
    over, under = x.as_integer_ratio()
    places = BITS - exponent
    return (over << max(places, 0)) // (under << max(-places, 0))


def up(a, b=ONE):
    """Return the ceiling of a / b, b > 0."""
    return -(-a // b)


def root(a):
    """Return the square root of a number of this checker, rounded down; 0 of negative ones."""
    return isqrt(max(a, 0) << BITS)


def inner(x, y):
    """Return the inner product of two vectors."""
    return sum(map(mul, x, y))


def largest(numbers, inside, free, most):
    """Return the largest sum of the numbers of all of I and at most so many of F."""
    return sum(numbers[j] for j in inside) + sum(sorted((max(numbers[j], 0) for j in free), reverse=True)[:most])


def ascending(numbers):
    """Return whether each number is larger than the one before."""
    return all(a < b for a, b in pairwise(numbers))


def integers(doubles):
    """Return integers m and s with x = m / 2^s for all doubles x of a list."""
    ratios = [x.as_integer_ratio() for x in doubles]
    most = max((under for _, under in ratios), default=1)
    return [over * (most // under) for over, under in ratios], most.bit_length() - 1


def complement(lower, first, error):
    """Return the Schur complement of the first rows of a symmetric matrix M, rounded down; M is definite on these.

    Each entry of M is at most `error` ulps from the truth. In integers each step of a Cholesky factorisation is a
    division with remainder: 2^128 M_ij = sum_{k <= j} L_ik L_jk + E_ij, with 0 <= E_ij < L_jj for j < i and
    0 <= E_ii <= 2 L_ii. So 2^128 M = L L' + E exactly, and no eigenvalue of E is below -(n - 1) max_j L_jj, where
    L_jj^2 <= 2^128 M_jj. That much, and n `error`, is taken off the diagonal of M before the start. What remains of the
    other rows is a lower bound of the Schur complement, since this grows with M.
    """
    n, factor, pivots, result = len(lower), [], [], []
    slack = n * error + up(n * (root(max((row[-1] for row in lower[:first]), default=0)) + 1)) + 1
    for a, row in enumerate(lower):
        new = []
        for entry, other, pivot in zip(row, factor, pivots, strict=False):  # there are pivots of the first rows only
            new.append(((entry << BITS) - sum(map(mul, new, other))) // pivot)
        factor.append(new)
        if a < first:
            square = ((row[a] - slack) << BITS) - inner(new, new)
            need(square > 0, "a matrix is not positive semidefinite, or not by enough")
            pivots.append(isqrt(square))
        else:
            pairs = zip(row[first:], factor[first:], strict=True)
            result.append([(entry << BITS) - sum(map(mul, new, other)) >> BITS for entry, other in pairs])
            result[-1][-1] -= slack + n - first
    return result


# The file holds records of several kinds. Of each kind the table has the arrays: NAME:TYPE, where each record has a
# number, or NAME:TYPE[LENGTH], where it has a list, LENGTH a formula in its own numbers and those of the file (`given`:
# the length of the array). Then bounds, if not any finite number, or of what it is the index: features and samples
# (ascending in a list), members (not so), records. A dot stands for the kind; what follows = is our own name.

TABLE = """
problem    include:u4[given]feature exclude:u4[given]feature rho:f8[given]0..inf costs:f8[d*(given>0)]0.. mean:f8[means]
problem    scale:f8[means]5e-324..inf directions:f8[many*d] metric:f8[given] metric_least:f8[1<d*d==metrics]5e-324..
slot       slots=k:u4;1.. .size:u4
vector     support=features:u4[vectors[number]]feature weights:f8[vectors[number]]
list       .size:u4 .value:f8;5e-324.. .beyond:f8 .features:u4[size]feature .weights:f8[size]
level      .size:u4 .bound=exact:f8 .target:f8 .features=width:u4 .nodes:u4
level      features:u4[width]feature rule:u1[nodes]0..7 item:u4[nodes]
conflict   .level:u4;level .order=length:u4 .claims:u4 order:u4[length]member
claim      .size=width:u4;1.. .rooted:u1;0..1 .kept:u4 .nodes:u4 .features=members:u4[width]member
claim      rule:u1[nodes]0..7 item:u4[nodes]
majorant   .size:u4 .gain:f8;0.. .chord:f8[given>0]..0 .deflation:f8[many]0.. .multipliers:f8[many+(metrics>0)]
majorant   .features:u4[size]feature .weights:f8[size]
attack     .included:u4 .free:u4 .places:u4 .rows:u4 .spread:f8;0..1 .columns:u4[included+free]member
attack     .samples:u4[rows]sample .moves:f4[rows*(included+free)]
scaling    .size:u4 .features:u4[size]feature .values:f4[size]5e-324..
dominance  .majorant:u4;majorant .scaling:u4;scaling_or_none .threshold:f8;0..
line       .size:u4 .c:f8 .plain:f8 .weighted:f8 .counts:u1;0..1 .form:u1;0..7 .deflation:f8[many]0..
line       .features:u4[size]feature_or_sample .loads:f4[size]0.. .lifts:f4[size]0..
line       .core:u1[size*(form%4==3)]0..1 .steps:i2[pairs(size*(form%4==1)+sum(core))]-32767..
line       .free:f4[pairs(size*(form%4==2))] .signs:i1[size*(form%4==2)]-1..1
line       .dues:f4[size*(form>3)]0.. .pulls:f4[size*size*(form>3)]
matrix     .majorant:u4;majorant .line:u4;line
envelope   .size:u4;1.. .lines:u4[size]line .scalings:u4[size*attacked]scaling_or_none
price      claim_levels=length:u4;1.. claim_costs=costs:f8[d]0..
owner      owner=feature:u4;feature_or_leaf owner_claims=claims:u4[slots*(feature==d)]price
fan        .line:u4;line .rank:u4 .factors:f8[rank*records["line"][line].size]
"""
TYPES = {"u1": "B", "u4": "I", "i1": "b", "i2": "h", "f4": "f", "f8": "d"}
# Of each array: kind, name, what we call it, type, length and numbers.
ROWS = [
    (row.split()[0], *re.fullmatch(r"(\.?\w+)(?:=(\w+))?:(\w\w)(?:;|\[(.*)\])?(.*)", one).groups())
    for row in TABLE.strip().split("\n")
    for one in row.split()[1:]
]
ROWS = [(kind, name.replace(".", kind + "_"), own or name.strip("."), *rest) for kind, name, own, *rest in ROWS]
ARRAYS = {name: code for _, name, _, code, *_ in ROWS}
BIG = sys.float_info.max
LARGEST = ONE << 30  # of a budget of an entry
COLUMNS = ("name", "dtype", "count", "bytes")
WORDS = {
    "kind": "single list joint",
    "adversary": "none feature-wise sample-wise entry-wise spectral",
    "source": "samples covariance",
}
NUMBERS = {"value": (-BIG, BIG), "bound": (-BIG, BIG), "shift": (0, BIG), "exponent": (-600, 600)}
NUMBERS |= {"k": (1, 2**32 - 1), "n_features": (1, 2**32 - 1), "n_samples": (1, 2**63 - 1)}


def only(pairs, keys):
    """Return a JSON object that has these keys, each once."""
    need(type(pairs) is tuple and sorted(key for key, _ in pairs) == sorted(keys), "a JSON object has other keys")
    return dict(pairs)


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
    header = only(pairs, ("fingerprint", "device", "arrays", *WORDS, *NUMBERS))
    for key, words in WORDS.items():
        need(header[key] in words.split(), f"this checker does not know this {key}")
    need(header["device"] is False, "this checker does not know bounds that rest on a device")
    for key, (least, most) in NUMBERS.items():
        x = header[key]
        fits = type(x) in (int, type(most)) and least <= x <= most and float(x) == x
        need(fits or (key == "shift" and x is None), f"{key} is no number of its kind, or out of range")
    ordered = header["value"] <= header["bound"] and header["k"] <= header["n_features"]
    need(ordered and type(header["arrays"]) is list, "value is larger than bound, or k than n_features; or no arrays")
    return header, 14 + length


def read_arrays(raw, start, records):
    """Return the arrays of a file by name; empty ones are not in the file. No more is allocated than is allowed."""
    arrays, total = {name: array(TYPES[code]) for name, code in ARRAYS.items()}, 0
    for pairs in records:
        name, code, count, packed = map(only(pairs, COLUMNS).get, COLUMNS)
        need(type(name) is str and name in ARRAYS, f"this checker does not know the array {name!r}")
        need(code == ARRAYS[name] and not arrays[name], f"{name} occurs twice or is not of type {ARRAYS[name]}")
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
        start += packed
    need(start == len(raw) - 32, "something follows the last array")
    return arrays


class Certificate:
    """What a file says: of the problem; and its records, whose numbers are within bounds and whose lists ascend."""

    def __init__(self, raw):
        self.header, start = read_header(raw)
        self.arrays = arrays = read_arrays(raw, start, self.header["arrays"])
        names = ("n_samples", "n_features", "k", "kind", "adversary", "source")
        n, d, self.k, self.kind, self.adversary, self.source = map(self.header.get, names)
        self.n, self.d, self.of_samples, self.boxes = n, d, self.source == "samples", self.adversary == "entry-wise"
        on_samples = self.boxes or self.adversary == "sample-wise"
        self.attacked = on_samples and any(arrays["rho"])  # without budgets such an adversary does nothing
        # Numbers that the table speaks of. There are as many records of a kind as its first array has numbers.
        self.many, self.means = up(len(arrays["directions"]), d), d * self.of_samples * (len(arrays["mean"]) > 0)
        self.metrics, self.slots = len(arrays["metric"]), len(arrays["slots"])
        self.vectors, count = list(arrays["slot_size"]) or [len(arrays["support"])], {}
        for kind, name, *_ in ROWS:
            count.setdefault(kind, len(arrays[name]))
        count |= {"problem": 1, "vector": len(self.vectors), "attack": count["majorant"] * self.attacked}
        self.ranges = {kind: (0, number - 1) for kind, number in count.items()}
        self.ranges |= {"feature": (0, d - 1), "member": (0, d - 1), "sample": (0, n - 1), "feature_or_leaf": (0, d)}
        self.ranges["scaling_or_none"] = 0, count["scaling"]
        self.ranges["feature_or_sample"] = self.ranges["sample" if self.attacked else "feature"]
        self.records = {}
        for kind, number in count.items():
            self.records[kind] = self.read(kind, number)
        for name, rest in arrays.items():
            need(not rest, f"{name} is too long or too short")
        vars(self).update(vars(self.records["problem"][0]))
        width = {"feature-wise": (1, d), "sample-wise": (1, n), "entry-wise": (1, d, n * d), "spectral": (1,)}
        width = width.get(self.adversary, (0,))
        need(len(self.rho) in width, "rho is too long or too short")
        self.check_kinds(on_samples)
        # Against the spectral norm sqrt(v'Av) falls by sqrt(norm), and proofs are about v'Av.
        spectral = self.adversary == "spectral"
        self.norm = Fraction(min(self.rho[0], BIG)) ** 2 / n if spectral else Fraction(0)
        rho = [*self.rho] if self.attacked or not (on_samples or spectral) else []
        self.rho = rho * (width[-1] // max(len(rho), 1)) or [0.0] * d
        self.include, self.exclude, self.unit = [*self.include], {*self.exclude}, Fraction(4) ** self.header["exponent"]
        self.costs = [*map(Fraction, self.costs)] or [Fraction(0)] * d
        self.arrange()

    def read(self, kind, number):
        """Return the records of a kind; their numbers are taken off the arrays."""
        found = [SimpleNamespace(number=i) for i in range(number)]
        for _, name, field, _, length, numbers in (row for row in ROWS if row[0] == kind):
            values, (low, _, high) = self.arrays[name], numbers.partition("..")
            least, most = self.ranges.get(numbers) or (float(low or -BIG), float(high or BIG))
            known = vars(self) | {"given": len(values), "pairs": lambda m: m * (m - 1) // 2}
            lengths = (eval(length, {}, known | vars(record)) if length else 1 for record in found)
            places = list(accumulate(lengths, initial=0))
            need(places[-1] <= len(values), f"{name} is too long or too short")
            used, self.arrays[name] = values[: places[-1]], values[places[-1] :]
            need(all(least <= x <= most for x in used), f"{name} has a number out of range")
            for record, (i, j) in zip(found, pairwise(places), strict=True):
                fits = numbers not in ("feature", "sample", "feature_or_sample") or ascending(used[i:j])
                need(fits, f"{name} is not ascending")
                setattr(record, field, used[i:j] if length else used[i])
        return found

    def check_kinds(self, on_samples):
        """Reject what belongs to no claim, and combinations that no rule is about."""
        get, single, directions = self.records, self.kind == "single", "where v is orthogonal to directions"
        need(self.of_samples or not on_samples, "attacks on samples need them")
        need(not (on_samples and self.directions), f"no rule is about attacks on samples {directions}")
        need(single or not (self.include or self.directions), "kinds list and joint take no demands and no directions")
        fits = single and not (self.directions or self.costs or on_samples)
        need(fits or not self.metric, "no rule is about a metric with costs, directions, samples, a list or slots")
        need(self.metrics in (0, self.d, self.d**2), "metric is too long or too short")
        need(self.kind == "list" or not get["list"], "it lists supports, and claims nothing of them")
        several = get["slot"] or get["price"] or get["owner"] or get["fan"]
        need(self.kind == "joint" or not several, "it has several slots, and claims nothing of them")
        fits = single and not (self.costs or self.metric)
        need(fits or self.adversary != "spectral", "no rule is about this norm with costs, metric, list or slots")
        need(self.kind != "list" or not self.attacked, "no rule is about a list against attacks on samples")
        need(all(all(one.weights) for one in get["list"]), "a weight of the list is 0")
        for one in get["majorant"]:
            need(not any(one.chord) or not (one.size or one.gain or on_samples), "chords with a vector or a gain")
        for one, attack in zip(get["majorant"], get["attack"], strict=False):
            need(not (one.size and attack.rows), "a response has moves")
            halves = attack.columns[: attack.included], attack.columns[attack.included :]
            need(all(map(ascending, halves)), "attack_columns is not ascending")
        need(not set(self.exclude) & set(self.include), "a feature is demanded and forbidden")
        need(len(self.include) <= self.k, "more than k features are demanded")

    def arrange(self):
        """Give small claims to their levels, and levels to their prices; of a claim features are numbered by places."""
        get, claims, levels = self.records, iter(self.records["claim"]), iter(self.records["level"])
        for level in get["level"]:
            need(level.target <= level.exact, f"the target of level {level.number} is above its bound")
            level.bound, level.target, level.claims = fixed(level.exact), fixed(level.target), None
            level.is_list = self.kind == "list" and level is get["level"][-1]
        need(ascending(one.level for one in get["conflict"]), "conflict_level is not ascending")
        need(sum(one.claims for one in get["conflict"]) == len(get["claim"]), "conflict_claims are too many or too few")
        for conflict in get["conflict"]:
            level = get["level"][conflict.level]
            need(not level.features and not level.rule, "a level by conflicts has features or nodes of its own")
            level.order, level.claims = conflict.order, [next(claims) for _ in range(conflict.claims)]
            for claim in level.claims:
                need(claim.kept <= claim.width, "a claim keeps more features than it has")
                claim.features, claim.size, claim.is_list = range(claim.kept), level.size, False
                claim.bound, claim.target = level.bound, level.target
        fits = self.kind != "joint" or sum(price.length for price in get["price"]) == len(get["level"])
        need(fits, "levels belong to no claim, or are missing")
        for price in get["price"]:
            price.levels = [next(levels) for _ in range(price.length)]


# The data


def read_npy(raw):
    """Return the numbers of a .npy file row by row, and its shape."""
    width = {1: 2, 2: 4, 3: 4}[raw[6]]
    start = 8 + width + int.from_bytes(raw[8 : 8 + width], "little")
    about = ast.literal_eval(raw[8 + width : start].decode())
    codes = TYPES | {"u2": "H", "i4": "i", "i8": "q", "u8": "Q"}
    values, (n, d) = array(codes[about["descr"].lstrip("<|")]), about["shape"]
    values.frombytes(raw[start : start + n * d * values.itemsize])
    values = array("d", values)
    return array("d", (x for i in range(n) for x in values[i::n])) if about["fortran_order"] else values, n, d


def read_data(path, file):
    """Return the doubles of the file of data, row by row; it has the shape that the certificate says."""
    raw, n = Path(path).read_bytes(), file.n if file.of_samples else file.d
    try:
        if raw[:6] == b"\x93NUMPY":
            values, *shape = read_npy(raw)
        else:
            rows = [line.split(",") for line in raw.decode("utf-8-sig").splitlines() if line.strip()]
            rows = [array("d", map(float, row)) for row in rows[len(rows) == n + 1 :]]  # one too many: it has names
            values, shape = array("d", chain.from_iterable(rows)), [len(rows), max(map(len, rows), default=0)]
    except Exception as error:  # whatever a file that is no table leads to
        raise OSError(f"{path} is no table of numbers, little-endian .npy or .csv: {error}") from None
    if not all(map(isfinite, values)) or len(values) != shape[0] * shape[1]:
        raise OSError("the data have numbers that are not finite, or are cut off")
    need(shape == [n, file.d], f"it speaks of {n} x {file.d} {file.source}, the data are {shape[0]} x {shape[1]}")
    return values


def prepared(values, file):
    """Return what the claim is about, (x - mean) / scale in IEEE doubles and -0.0 as 0.0; its fingerprint must fit."""
    d, mean, scale = file.d, file.mean, file.scale
    if mean:
        values = ((x - mean[i % d]) / scale[i % d] for i, x in enumerate(values))
    values, block = array("d", [x + 0.0 for x in values]), max(1, 2**17 // d)
    need(all(map(isfinite, values)), "a prepared sample is not finite")
    whole = hashlib.sha256(b"\1" + file.source.encode() + struct.pack("<3Q", file.n, d, block))
    for start in range(0, len(values), block * d):
        whole.update(hashlib.sha256(b"\0" + values[start : start + block * d].tobytes()).digest())
    need(whole.hexdigest() == file.header["fingerprint"], "the data are not those that it speaks of")
    return values


def about_preparation(values, file):
    """Say, to rounding, whether mean and scale are those of the data. This is no part of the claim."""
    if not file.mean:
        return "the data are taken as they are"
    columns = [values[j :: file.d] for j in range(file.d)]
    off = max(abs(m - fmean(x)) / (max(map(abs, x)) or 1) for m, x in zip(file.mean, columns, strict=True))
    by = max(abs(pstdev(x) / s - (s < inf)) for s, x in zip(file.scale, columns, strict=True))
    less, over = "means" if off < 1e-12 else "OTHER NUMBERS", "standard deviations" if by < 1e-10 else "OTHER NUMBERS"
    return f"the data less their {less}, divided by {'one' if {*file.scale} == {1} else over}"


# The problem, in units of 4^exponent. Matrices are functions of two features; a triangle has their entries.


def triangle(order, entry):
    """Return the lower triangle of a symmetric matrix on some features."""
    return [[entry(i, j) for j in order[: a + 1]] for a, i in enumerate(order)]


def too_short(square, rho, cost):
    """Return, for rational numbers, whether sqrt(square) <= rho + sqrt(cost)."""
    beyond = -1 if rho == inf else square - rho * rho - cost
    return beyond <= 0 or beyond * beyond <= 4 * rho * rho * cost


def changed(thing, **changes):
    """Return a copy of a problem or a node with changes."""
    other = copy(thing)
    vars(other).update(changes)
    return other


class Problem:
    """What the problems of all adversaries have in common."""

    def __init__(self, file, say):
        vars(self).update(vars(file))  # what the file says
        self.say, self.demands, self.known, d = say, None, range(self.d), self.d
        self.shift, self.exponent = self.header["shift"], self.header["exponent"]
        need(self.shift == 0 or not self.of_samples, "the shift of samples is not 0")
        self.pi = [fixed(cost / self.unit) for cost in self.costs]
        self.allowed = [j for j in range(d) if j not in self.exclude]
        self.V = [[*map(fixed, self.directions[i : i + d])] for i in range(0, len(self.directions), d)]
        self.constrained = bool(self.directions or self.metric_least)

    def B(self, i, j):  # noqa: N802
        """Return an entry of the metric; here it is I."""
        return ONE * (i == j)

    def penalised(self, M, sigma):
        """Return M - V'diag(sigma)V, to an ulp, and 10^-16 max sigma."""
        parts = [(s, v) for s, v in zip(sigma, self.V, strict=True) if s]
        loss = up(max(sigma, default=0) * TOLERANCE)
        return (lambda i, j: M(i, j) - (sum(s * v[i] * v[j] for s, v in parts) >> 2 * BITS)) if parts else M, loss


class Features(Problem):
    """The matrix A, budgets r, and what follows from them; without attacks r = 0.

    A feature contributes at most (|a_j| - r_j)_+^2 / b_j - pi_j, which `most` has, rounded up, but above 0 only if it
    really is. After that a budget beyond |a_j| = sqrt(A_jj) is lowered to that: either leaves the feature no
    contribution. With directions or a matrix for a metric only infinite ones are. A column of infinite budget is taken
    as zeros, unless the feature is demanded, or there are directions or a metric: no vector that uses it has a value.
    """

    on_samples = False

    def __init__(self, values, file, say):
        super().__init__(file, say)
        d, samples, values = self.d, self.of_samples, list(values)
        useless = {j for j, x in enumerate(self.rho) if x == inf and not (self.directions or self.metric)}
        for j in useless.difference(self.include):
            values[j::d] = [0.0] * len(values[j::d])
            if not samples:
                values[j * d : j * d + d] = [0.0] * d
        need(samples or all(values[i * d : i * d + i] == values[i : i * d : d] for i in range(d)), "not symmetric")
        # Of samples m_j has the column of feature j, of a covariance the row, as integers over 2^s_j.
        self.m, self.s = zip(*(integers(values[j::d]) for j in range(d)), strict=True)
        self.take_metric(self.metric, self.metric_least)
        self.rho = [x if x == inf else Fraction(x) * Fraction(2) ** e for x, e in zip(self.rho, self.e, strict=True)]
        self.A, squares, nothing = lru_cache(None)(self.A), [self.exact(j, j) for j in range(d)], self.nothing_left()
        if nothing:
            self.m, self.shift, squares = [[0] * len(self.m[0])] * d, 0, [Fraction(0)] * d
        self.definite, shift = self.shift is not None, Fraction(self.shift or 0)
        need(self.definite or not any(self.rho), "budgets of a covariance need a shift")
        self.plain = self.definite and not self.include and not self.constrained  # then levels may build on others
        self.largest_variance = fixed(max(squares) / self.unit)
        # No entry is too small by more than an ulp, two on the diagonal.
        self.raised = fixed(shift) + d + 1
        self.diagonal = [fixed(square / self.unit) + self.raised for square in squares]
        self.largest = max(map(abs, self.diagonal))
        if self.definite and not nothing and not samples:
            complement(triangle(range(d), self.A), d, 0)
        self.squares = [self.n * (square + self.unit * shift) for square in squares]
        self.budgets = [inf if x == inf else isqrt(fixed(x * x / self.n / self.unit, -BITS)) for x in self.rho]
        cut = [min(r, root(a)) for r, a in zip(self.budgets, self.diagonal, strict=True)]
        self.r = [c if r == inf or not self.constrained else r for r, c in zip(self.budgets, cut, strict=True)]
        self.most = self.contributions()
        self.weigh()

    def weigh(self):
        """Take the largest budget, and the others as shares of it; lines are about A, these weights and the metric."""
        self.top = max(self.r)
        self.w = [(r << BITS) // self.top if self.top else ONE for r in self.r]
        self.near = self.A, self.w, self.B

    def take_metric(self, B, least):
        """Take the metric in units 2^e_j of the features, in which its diagonal lies from 1/2 to 2.

        `below` has b with v'Bv >= sum b_j v_j^2: the diagonal, or `least`. Entries are rounded down, by an ulp.
        """
        d, full = self.d, len(least) > 0
        given = {(j, j): x for j, x in enumerate(B or [1.0] * d)}
        if full:
            given = {(i, j): B[i * d + j] for i in range(d) for j in range(d)}
        need(all(given[j, j] > 0 for j in range(d)), "the diagonal of the metric is not positive")
        need(all(x == given[j, i] for (i, j), x in given.items()), "the metric is not symmetric")
        e = self.e = [-(frexp(given[j, j])[1] // 2) for j in range(d)]
        self.form = {(i, j): fixed(x, -e[i] - e[j]) for (i, j), x in given.items()}
        self.widest = max(map(abs, self.form.values())) + 1
        self.below = [fixed(least[0]) if full else self.B(j, j) for j in range(d)]
        self.least = Fraction(min(self.below), ONE)
        need(self.least > 0, "the least eigenvalue of the metric is too small")
        if full:
            complement(triangle(range(d), lambda i, j: self.B(i, j) - self.below[i] * (i == j)), d, 2)

    def B(self, i, j):  # noqa: N802
        """Return an entry of the metric."""
        return self.form.get((i, j), 0)

    def A(self, i, j):  # noqa: N802
        """Return an entry of A."""
        if i < j:
            return self.A(j, i)
        return self.diagonal[j] if i == j else fixed(self.exact(i, j), 2 * self.exponent)

    def contributions(self):
        """Return at least what each feature contributes, above 0 only if it really does."""
        found = []
        for j, (square, rho) in enumerate(zip(self.squares, self.rho, strict=True)):
            length = max(root(self.diagonal[j]) + 1 - self.budgets[j], 0)
            most = (0 if too_short(square, rho, 0) else up(length**2, self.below[j])) - self.pi[j]
            found.append(min(most, 0) if too_short(square, rho, self.n * self.costs[j]) else most)
        return found

    def exact(self, i, j):
        """Return A_ij without the shift, exactly, in the units of the data and of the metric."""
        samples = self.of_samples
        over, under = (inner(self.m[i], self.m[j]), self.n) if samples else (self.m[i][j], 1)
        power = self.s[i] + self.s[j] * samples - self.e[i] - self.e[j]
        return Fraction(over << max(-power, 0), under << max(power, 0))

    def nothing_left(self):
        """Decide exactly whether no choice is worth more than 0 less what demanded features cost: A is as good as 0.

        With phi = rho + sqrt(n pi), or rho where features are demanded, which pay in any case: no column of the samples
        is longer than phi. Or, with a covariance, n |A_ij| <= phi_i phi_j, so n v'Av <= (sum phi_j |v_j|)^2, and what
        is left of sqrt(v'Av) is at most sum sqrt(pi_j) |v_j|.
        """
        usable, n, rho = self.include if len(self.include) == self.k else self.allowed, self.n, self.rho
        usable = [j for j in usable if rho[j] != inf]
        costs = {j: 0 if self.include else n * self.costs[j] for j in usable}
        if not all(too_short(n * self.exact(j, j), rho[j], costs[j]) for j in usable):
            return False
        phi = {j: rho[j] + Fraction(isqrt(int(costs[j] * 4**1200)), 2**1200) for j in usable}
        pairs = () if self.of_samples or self.k == 1 else combinations(usable, 2)
        return all(n * abs(self.exact(i, j)) <= phi[i] * phi[j] for i, j in pairs)

    def lengths(self, node):
        """Return at least what the features of any choice contribute together."""
        need(self.definite, "lengths need definiteness")
        return largest(self.most, node.inside, node.free, node.most)

    def attained(self, features, w):
        """Return at most (sqrt(v'Av) - sum r |v|)_+^2 / v'Bv for a vector; entries of A may be too small by an ulp."""
        most = max(self.e[j] for j in features)
        v = {j: x << most - self.e[j] for j, x in zip(features, w, strict=True) if x}
        if any(self.budgets[j] == inf for j in v):
            return Fraction(0)
        square, length = (sum(x * M(i, j) * v[j] for i, x in v.items() for j in v) for M in (self.A, self.B))
        size = sum(map(abs, v.values())) ** 2
        norm = root(square - self.raised * sum(x * x for x in v.values()) - size)
        left = max(norm - sum((self.budgets[j] + 1) * abs(x) for j, x in v.items()), 0)
        return Fraction(left * left, ONE * (length + size))


# Majorants: matrices M such that each choice S of a node that is worth more than T has lambda_max(M_SS) > t.


def chord(problem, j, due=0):
    """Return m, L, alpha and b with (s - r_j)^2 - pi_j <= alpha s^2 - b for s from m = r_j + sqrt(due + pi_j) to L."""
    r, cost = problem.r[j], problem.pi[j]
    m = r + root(due + cost)
    length = max(root(problem.diagonal[j] + 2) + 1, m)
    slope = max(ONE - (2 * r << BITS) // (length + m), 0)
    return m, length, slope, cost + ((2 * r * m * length // (length + m) - r * r) >> BITS)


@lru_cache(200)  # several leaves may use it
class Majorant:
    """M_ij = f_i f_j (A_ij - g_i g_j) + (1 + kappa) h_i h_j, with f, g, h of one of three kinds; t = (1 + kappa) T.

    Plain: f = 1, g = h = 0. Chords, in a small claim: f_j = c_j, g = h = 0. There (|a_j'u| - r_j)^2 - pi_j <= c_j^2
    (a_j'u)^2 + beta with beta < 0, and a choice has at least `size` features: t = T - size beta, and costs are in M.

    The attack in response to x: let u be the unit vector of sum x_j a_j and g_j = a_j'u. The attack takes a_j to c_j =
    h_j u + f_j (a_j - g_j u), at most r_j away. So (|a_j'y| - r_j)_+ <= |c_j'y| for all y: M is their Gram matrix.
    With kappa > 0 all components along u weigh sqrt(1 + kappa) more, and so do the c_j of the features that are
    stretched. For a unit vector y with y0 = u'y >= 0 let z be the unit vector along y with y0 / sqrt(1 + kappa) in the
    place of y0. Then |c_j'z| >= sqrt(1 + kappa) (|a_j'y| - r_j)_+ with the new c_j: always for those stretched, and for
    the others if (|a_j| - r_j)(sqrt(1 + kappa (1 - y0^2)) - 1) <= r_j (1 - y0), so if kappa (|a_j| - r_j) <= r_j.

    Where contributions add up, M contains what free features cost: a contribution f of at most m has f - pi_j <= (1 -
    pi_j / m) f. An included feature contributes more than pi_j, unless it is demanded, and where |g_j| < 15/16 r_j it
    has the column sqrt(alpha) a_j of its chord, and pays b in the place of pi_j.
    """

    def __init__(self, problem, number):
        record = problem.records["majorant"][number]
        self.problem, self.features, self.gain = problem, record.features, fixed(record.gain)
        self.multipliers, self.factor = [*map(fixed, record.multipliers)], ONE + self.gain
        self.costs, self.stretch, reach = self.factor, root(self.factor) + 1, 5 * root(problem.largest) + 5
        need(all(j in problem.known for j in self.features), "a feature that the claim does not have")
        # The gain is proved for a fixed u, not for each v.
        need(not record.gain or not problem.constrained, "a majorant has a gain, and the claim directions or a metric")
        M, beta = problem.A, fixed(sum(record.chord))
        costly = any(problem.costs[j] for j in problem.known)
        self.contains = costly and problem.definite and not problem.constrained and not beta
        self.error = 4 + up(problem.largest)
        if beta:
            need(problem.demands, "chords outside a small claim")
            chords = [(problem.demands.chord(j, -beta), 0, 0, 0) for j in problem.members]
            M, self.column, self.costs, self.stretch = self.attacked, chords.__getitem__, 0, max(chords)[0]
        elif self.features:
            need(problem.definite, "an attack in response to x needs definiteness")
            scale, self.normals = frexp(max(map(abs, record.weights)))[1], problem.V
            self.x = {j: fixed(w, scale) for j, w in zip(self.features, record.weights, strict=True)}
            if problem.metric:  # B x; any numbers would do
                bent = (sum(x * problem.B(i, j) for j, x in self.x.items()) for i in range(problem.d))
                self.normals = [[fixed(Fraction(x, ONE * ONE), -scale) for x in bent]]
            self.square = sum(x * self.along(j) for j, x in self.x.items())
            need(self.square > 0, "x'Ax of a majorant is not positive")
            self.turned = lru_cache(None)(self.turned)
            M, self.column = self.attacked, lru_cache(None)(self.response)
        else:
            need(not record.gain and not any(self.multipliers), "a plain majorant has no gain and no multipliers")
        M, self.loss = problem.penalised(M, [*map(fixed, record.deflation)])
        self.costs = 0 if self.contains else self.costs
        self.on = lambda node: self.containing(M, {*node.inside}) if self.contains else M  # else on all nodes the same
        self.loss += problem.demands.size * beta if beta else 0
        # An entry of M: f <= stretch and |g|, |h| / stretch <= reach, each but f wrong by at most 2 ulps.
        weight = up(up(self.stretch * self.stretch) * self.factor)
        self.error += (1 + self.contains) * (up(problem.largest) + 16 * up(up(weight * (reach + 2 * ONE))))

    def along(self, j):
        """Return (A x)_j times 2^256."""
        return sum(x * self.problem.A(i, j) for i, x in self.x.items())

    def turned(self, j):
        """Return alpha and b of an included feature that takes its chord, nothing of any other."""
        problem, along = self.problem, self.along(j)
        near = isqrt((along * along << BITS) // self.square) << 4 >= 15 * problem.r[j]
        return () if near or j in problem.include else chord(problem, j)[2:]

    def paid(self, node):
        """Return what the included features count in the threshold."""
        if not (self.contains and self.features):
            return node.paid if self.costs or self.contains else 0
        return sum((self.turned(j) or (0, self.problem.pi[j]))[1] for j in node.inside)

    def containing(self, M, inside):
        """Return the entries of M on a node with these features included."""
        problem = self.problem

        @lru_cache(None)
        def column(j):
            f, fg, h, long = self.column(j) if self.features else (ONE, 0, 0, 0)
            if j in inside and self.features and self.turned(j):
                along, f = self.along(j), up((root(self.turned(j)[0]) + 1) * self.stretch)
                h = fg = f * isqrt((along * along << BITS) // self.square) * (1 if along > 0 else -1) >> BITS
                return f, fg, h, self.factor * h >> BITS
            worth = max(problem.most[j], 0)
            if j in inside or not problem.pi[j]:
                return f, fg, h, long
            share = min(root(up(worth << BITS, worth + problem.pi[j])) + 1, ONE)
            return up(f * share), fg * share >> BITS, h * share >> BITS, long * share >> BITS

        def entry(i, j):
            (f, fg, h, _), (e, eg, _, long) = column(i), column(j)
            return problem.A(i, j) * (f * e >> BITS) - fg * eg + long * h >> BITS

        return entry

    def response(self, j):
        """Return f_j, f_j g_j, h_j and (1 + kappa) h_j, stretched where they must be."""
        problem, along = self.problem, self.along(j)
        r = min(problem.r[j], 4 * root(problem.largest))  # with directions a budget may be longer than the column
        g = isqrt((along * along << BITS) // self.square) * (1 if along > 0 else -1)  # to an ulp
        aim = sum(x * v[j] for x, v in zip(self.multipliers, self.normals, strict=True)) >> BITS
        size, f, h = abs(g - aim), ONE, aim
        length = root(problem.diagonal[j]) + 1

        def grows(r):  # whether the column must be stretched even where |g_j| is at least the budget
            return self.gain * (length - r + 2) > (r - 2) << BITS

        # Any smaller budget may be taken: |g| where it is all but r, or a tie decides whether the column grows.
        if self.gain > ONE >> 18 and size > r - (r >> 40) and not grows(size):
            r = min(r, size)
        strong = size + 1 > r
        if strong:  # a budget of min(r, |g - aim|), so that h is at most an ulp away from its true value
            h += max(size - r, 0) * (1 if g > aim else -1)
        else:
            outside = (problem.diagonal[j] << BITS) - g * g
            part = isqrt((r * r - (size + 1) ** 2 << 2 * BITS) // outside) if outside > 0 else ONE
            f = ONE - min(part, ONE)
        if not strong or grows(r):
            f, h = up(f * self.stretch), h * self.stretch >> BITS
        return f, f * g >> BITS, h, self.factor * h >> BITS

    def attacked(self, i, j):
        """Return an entry of M but for the penalty."""
        (f, fg, h, _), (e, eg, _, long) = self.column(i), self.column(j)
        return self.problem.A(i, j) * (f * e >> BITS) - fg * eg + long * h >> BITS


class Line:
    """For unit v, zero outside S: v'Gv <= c + plain s + weighted t + (sum_S tau) (s or t) + sum_S alpha.

    Here s = (sum |v_i|)^2 and t = (sum w_i |v_i|)^2. Three steps, with N = sum n_i |v_i|, so that N^2 is s or t:
    - dues: 2 v_i sum_j y_ij v_j + v_i^2 (1 - |y_i|^2) <= 1 for unit v with y_ii = 0, since the sum is at most
      |y_i| sqrt(1 - v_i^2); so v'Gv <= v'G'v + sum_S alpha_i;
    - v'G'v <= v'Rv + sum_ij box_ij |v_i| |v_j| - sum_i q_i v_i^2, box_ii the same formula: R is that close to G'; and
      v'Rv <= c, which is proved here (with a metric, v'Rv <= c v'Bv);
    - the sum over box is plain s + weighted t + N sum_i lambda_i |v_i|, and lambda_i |v_i| N - q_i v_i^2 <= tau_i N^2
      with tau_i = lambda_i^2 / (4 q_i).
    """

    def __init__(self, problem, line, G, w, B, L=None):
        """Prove a line about G; with rows of a factor L only v'Rv <= c v'Bv + |L'v|^2 is proved."""
        features, self.in_t, form, signs = line.features, line.counts, line.form & 3, line.signs or [0] * line.size
        need(all(j in problem.known for j in features), "a line speaks of what the claim has not, or does not count")
        need(not line.dues or not problem.metric, "a line has dues in a metric")
        c, plain, weighted = self.c, self.plain, self.weighted = [fixed(x) for x in (line.c, line.plain, line.weighted)]
        load, lift, alpha = (
            dict(zip(features, map(fixed, some or [0] * line.size), strict=True))
            for some in (line.loads, line.lifts, line.dues)
        )
        for j, x in zip(features, line.lifts, strict=True):
            lift[j] += x > 0  # none that is there becomes 0
            need(lift[j] or not load[j], "a line has a load without a lift")
        self.tau = {j: up(load[j] ** 2, 4 * q) if load[j] else 0 for j, q in lift.items()}
        self.alpha, signs, excess = alpha, dict(zip(features, signs, strict=True)), [0]
        self.signs = {j: sign for j, sign in signs.items() if sign}
        G, loss = problem.penalised(G, [*map(fixed, line.deflation)])
        y = dict(zip(product(features, features), map(fixed, line.pulls), strict=False))
        need(not any(y.get((j, j)) for j in features), "a line has a pull of a feature on itself")
        core = [j for j, inside in zip(features, line.core, strict=True) if inside] if form == CORE else features
        steps = dict(zip(combinations(core, 2), line.free or line.steps, strict=False))
        n = {j: w[j] if self.in_t else ONE for j in features}

        def box(i, j):
            return plain + (weighted * w[i] * w[j] >> 2 * BITS) + (load[i] * n[j] + load[j] * n[i] >> BITS + 1)

        def entry(i, j):
            """Return an entry of R; note by how much it is out of its box."""
            if i == j:
                own = ONE * ONE - sum(y.get((i, other), 0) ** 2 for other in features) if alpha[i] else 0
                return G(i, i) - (alpha[i] * own >> 2 * BITS) + lift[i] - box(i, i)
            g, limit, sign = G(i, j), box(i, j), signs[i] * signs[j]
            if y:
                g -= alpha[i] * y[i, j] + alpha[j] * y[j, i] >> BITS
            if (j, i) not in steps:
                step = -min(max(g, -max(limit, 0)), max(limit, 0))
            else:
                step = fixed(steps[j, i]) if form == FREE else limit * steps[j, i] // 32767
            excess[0] = max(excess[0], (-sign * step if sign else abs(step)) - limit, -limit)
            return g + step

        def rest(i, j):
            return (c * B(i, j) >> BITS) - entry(i, j) + (inner(L[i], L[j]) >> BITS if L else 0)

        self.lower = triangle(features, rest)
        self.error = 6 + up(abs(c))  # an ulp each: the penalty, dues, LL', G of MATRIX; and the metric
        complement(self.lower, line.size, self.error)
        self.plain, self.c = plain + excess[0], c + loss


@lru_cache(200)
def line_about_data(problem, number):
    """Return a line about A or, against attacks on samples, about 0."""
    return Line(problem, problem.records["line"][number], *problem.near)


# Attacks on samples. A row x of X is in units of 2^exponent, in fixed point: cut off below 2^-128, so off by an ulp at
# most. For a node (I, F, p) let N(e)^2 be |e_I|^2 and the p largest squares of e_F: N(e) is the largest e'v over unit
# vectors v of the node. A row with N(x) <= rho contributes nothing; for the rows of the root this is decided exactly.


class Samples(Problem):
    """Rows of X that can contribute, their budgets, and what follows from them."""

    on_samples, definite, plain = True, True, False  # contributions of features do not add up

    def __init__(self, values, file, say):
        super().__init__(file, say)
        d, e, live = self.d, self.exponent, []
        free = [j for j in self.allowed if j not in set(self.include)]
        for i, rho in enumerate(self.rho):
            x, s = integers(values[i * d : i * d + d])
            square = largest([a * a for a in x], self.include, free, self.k - len(self.include))
            if isfinite(rho) and Fraction(square, 4**s) > Fraction(rho) ** 2:
                live.append(i)
        self.known = self.rows = {i: [fixed(a, e) for a in values[i * d : i * d + d]] for i in live}
        self.rho = {i: fixed(self.rho[i], e) for i in live}
        self.reach = max((abs(a) for row in self.rows.values() for a in row), default=0) + 1
        columns = (integers([values[i * d + j] for i in live]) for j in range(d))
        self.squares = [Fraction(inner(x, x), self.n * 4**s) for x, s in columns]
        self.diagonal = [fixed(square / self.unit) + 1 for square in self.squares]
        self.largest_variance, self.most, self.least = max(self.diagonal), self.contributions(), 1
        self.top, self.below, self.widest = max(self.rho.values(), default=0), dict.fromkeys(live, ONE), ONE
        self.w = {i: (rho << BITS) // self.top if self.top else ONE for i, rho in self.rho.items()}
        self.near = lambda i, j: 0, self.w, self.B

    def contributions(self):
        """Return at least what leaving each feature out takes off a value, above 0 only if it really does."""
        return [-fixed((cost - square) / self.unit) for square, cost in zip(self.squares, self.costs, strict=True)]

    def counting(self, inside, free, places):
        """Return the rows that can contribute in a node, with at least N of each."""
        found = {}
        for i, row in self.rows.items():
            norm = isqrt(largest([(abs(x) + 1) ** 2 for x in row], inside, free, places)) + 1
            if norm > self.rho[i]:
                found[i] = norm
        return found

    def lengths(self, node):
        """Return at least the value of any choice, by samples or by features.

        It is at most sum (N(x_i) - rho_i)_+^2 / n less the costs of I. With a_j = |x_j|^2 / n, a their sum over the
        choice and A the largest such sum, it is also at most (sqrt(a) - r)_+^2 <= (1 - r / sqrt(A))_+^2 a less costs.
        """
        norms = self.counting(node.inside, node.free, node.most)
        total = sum((norm - self.rho[i]) ** 2 for i, norm in norms.items())
        whole = root(self.n * largest(self.diagonal, node.inside, node.free, node.most)) + 1
        left = max(ONE - (min(self.rho.values(), default=whole) << BITS) // whole, 0)
        each = [up(left * left * a, ONE * ONE) - pi for a, pi in zip(self.diagonal, self.pi, strict=True)]
        most = largest(each, node.inside, node.free, node.most)
        return min(up(total, ONE * self.n) - node.paid, most)

    def attained(self, features, w):
        """Return at most sum (|x_i'w| - rho_i)_+^2 / n for a vector w divided by its length."""
        length, total = isqrt(inner(w, w) << 2 * BITS) + 1, 0
        for i, row in self.rows.items():
            score = abs(inner(w, [row[j] for j in features])) - sum(map(abs, w))
            total += max((score << BITS) // length - self.rho[i] - 2, 0) ** 2
        return Fraction(total) / (ONE * ONE * self.n)


class Entries(Samples):
    """The same with a budget for every entry: rows of an attack are in boxes, and z_ij = (|x_ij| - delta_ij)_+ counts.

    For fixed u, S leaves sum_S (|a_j'u| - sum_i delta_ij |u_i|)_+^2, each of these at most sum_i z_ij^2.
    """

    def __init__(self, values, file, say):
        Problem.__init__(self, file, say)
        d, e, self.rows, self.delta, self.taken, self.beyond = self.d, self.exponent, {}, {}, {}, {}
        for i in range(self.n):
            x, budgets = values[i * d : i * d + d], self.rho[i * d : i * d + d]
            if any(abs(x[j]) > budgets[j] for j in self.allowed):
                self.taken[i] = [-1 if b == inf else fixed(b, e) + 1 for b in budgets]
                self.rows[i] = [0 if b == inf else fixed(a, e) for a, b in zip(x, budgets, strict=True)]
                self.delta[i] = [min(b - 1 if b > 0 else LARGEST, LARGEST) for b in self.taken[i]]
                pairs = zip(x, budgets, self.rows[i], self.delta[i], strict=True)
                self.beyond[i] = [max(abs(a) + 1 - b, 1) if abs(given) > most else 0 for given, most, a, b in pairs]
        self.known, self.top = self.rows, max((max(row) for row in self.delta.values()), default=0)
        self.reach = max((max(map(abs, row)) for row in self.rows.values()), default=0) + 1
        columns = zip(*self.beyond.values(), strict=True) if self.beyond else [()] * d
        self.diagonal = [up(sum(z * z for z in column), ONE * self.n) for column in columns]
        self.most, self.least = self.contributions(), 1
        columns = zip(*self.rows.values(), strict=True) if self.rows else [()] * d
        self.largest_variance = max(inner(column, column) // (ONE * self.n) for column in columns)
        self.below, self.widest = dict.fromkeys(self.rows, ONE), ONE

    def counting(self, inside, free, places):
        """Return the rows that can contribute in a node, with at least N of what is beyond the budgets of each."""
        found = {}
        for i, row in self.beyond.items():
            square = largest([z * z for z in row], inside, free, places)
            if square:
                found[i] = isqrt(square) + 1
        return found

    def contributions(self):
        """Return at least what leaving each feature out takes off a value."""
        return [a - pi for a, pi in zip(self.diagonal, self.pi, strict=True)]

    def lengths(self, node):
        """Return at least the value of any choice."""
        return largest(self.most, node.inside, node.free, node.most)

    def attained(self, features, w):
        """Return at most sum (|x_i'w| - sum delta_ij |w_j|)_+^2 / n for a vector w divided by its length."""
        length, total = isqrt(inner(w, w) << 2 * BITS) + 1, 0
        for i, row in self.rows.items():
            taken, used = [self.taken[i][j] for j in features], [row[j] for j in features]
            if all(b > 0 or not a for a, b in zip(w, taken, strict=True)):
                score = abs(inner(w, used)) - sum(abs(a) * (1 + max(b, 0)) for a, b in zip(w, taken, strict=True))
                total += max((score << BITS) // length - 2, 0) ** 2
        return Fraction(total) / (ONE * ONE * self.n)


@lru_cache(200)
class SampleMajorant:
    """M = sum_i om_i y_i y_i' / n + kappa (T + pi_I) v0 v0' for rows y_i = x_i + e_i, N(e_i) <= rho_i, and t as ever.

    For unit v of the node, f_i = (|x_i'v| - rho_i)_+^2 <= (y_i'v)^2. A row of R has e_i = -+rho_i v0: with c = v0'v
    then (y_i'v)^2 >= f_i + (1 - c^2) (rho_i / z_i) f_i, z_i = N(x_i) - rho_i. With om_i = 1 + (kappa - rho_i / z_i)_+
    on R and 1 + kappa elsewhere, sum om_i (y_i'v)^2 + kappa c^2 n L >= (1 + kappa) n L where sum f_i >= n L.
    Against entries f_i <= (y_i'v)^2 for every unit v if |e_ij| <= delta_ij; there is no gain.
    """

    costs, loss = ONE, 0  # costs count once

    def paid(self, node):
        """Return what the included features count in the threshold."""
        return node.paid

    def __init__(self, problem, number):
        record, attack = problem.records["majorant"][number], problem.records["attack"][number]
        columns, features, first, c = attack.columns, record.features, attack.included, len(attack.columns)
        self.gain, self.spread, self.columns = fixed(record.gain), fixed(attack.spread), set(columns)
        self.places = attack.places
        self.factor, self.inside, self.n = ONE + self.gain, columns[:first], problem.n
        need(len(self.columns) == c > 0 and self.places <= problem.k, "its node has a feature twice, or none")
        need(features or not self.gain, "a gain without a vector")
        self.boxes = problem.boxes
        need(not (self.boxes and self.gain), "a gain against entries")
        need(self.columns.issuperset(features), "its vector is not one of its node")
        need(any(record.weights) or not features, "its vector is 0")
        scale = frexp(max(map(abs, record.weights), default=1.0))[1]
        x = [fixed(w, scale) for w in record.weights]
        length = isqrt(inner(x, x)) + c + 2  # entries of v are at most an ulp too large: |v| <= 1
        self.v = dict.fromkeys(columns, 0) | {j: (a << BITS) // length for j, a in zip(features, x, strict=True)}
        need(sum(self.v[j] != 0 for j in columns[first:]) <= self.places, "its vector is not one of its node")
        moves = {i: [*map(fixed, attack.moves[a * c : a * c + c])] for a, i in enumerate(attack.samples)}
        left, right = [], []
        for i, norm in problem.counting(self.inside, columns[first:], self.places).items():
            x, strong = [problem.rows[i][j] for j in columns], False
            need(features or i in moves, f"sample {i} has no move")
            if self.boxes:
                delta = [problem.delta[i][j] for j in columns]
                move = self.boxed(x, delta) if features else moves[i]
                move = [max(min(e, b), -b) for e, b in zip(move, delta, strict=True)]
            else:
                rho = problem.rho[i]
                move, strong = self.response(x, rho) if features else (moves[i], False)
                used = largest([e * e for e in move], range(first), range(first, c), self.places)
                need(strong or used <= rho * rho, f"sample {i} is moved by more than its budget")
            weight = ONE + max(self.gain - (rho << BITS) // (norm - rho), 0) if strong else self.factor
            right.append([a + e for a, e in zip(x, move, strict=True)])
            left.append([weight * a >> BITS for a in right[-1]])
        self.left, self.right = (dict(zip(columns, zip(*rows, strict=True), strict=False)) for rows in (left, right))
        # y is off by an ulp, its product with the weight by another and the weight, the sum of n of them by both.
        self.error = 8 + 8 * up(up((2 * problem.reach + problem.top + ONE) * (self.factor + ONE)))
        self.gram = lru_cache(None)(self.gram)

    def boxed(self, x, delta):
        """Return a move of entries, as docs/certificate-format.md has it."""
        v = [*self.v.values()]
        near = [-max(min(a, b), -b) for a, b in zip(x, delta, strict=True)]
        score, most = inner(x, v), sum(b * abs(a) for a, b in zip(v, delta, strict=True))
        rest, side, share = score + inner(near, v), score, ONE
        if abs(score) < most:
            side = rest
            share = (abs(rest) << BITS) // (abs(rest) + most - (score if rest >= 0 else -score))
        share, side = share * (ONE - self.spread) >> BITS, (side > 0) - (side < 0)
        full = [side * b * ((a > 0) - (a < 0)) for a, b in zip(v, delta, strict=True)]
        return [
            (q if not a else ((ONE - share) * q - share * f) >> BITS) for a, q, f in zip(v, near, full, strict=True)
        ]

    def response(self, x, rho):
        """Return a move within the budget, as docs/certificate-format.md has it, and whether it is one of R."""
        v, first, p = [*self.v.values()], len(self.inside), self.places
        low = max(rho - 64 * (len(x) + 4), 0)
        score = inner(x, v) >> BITS
        along = max(min(score, low), -low)
        move = [-along * a >> BITS for a in v]
        if self.gain and abs(score) >= rho:
            return move, True
        chosen = [a for a in range(len(x)) if a < first or v[a]]
        across = {a: x[a] - (score * v[a] >> BITS) for a in chosen if self.spread}
        length = isqrt(sum(b * b for b in across.values())) + 1
        share = min(ONE, self.spread * isqrt(low * low - along * along) // length)
        for a, b in across.items():
            move[a] -= share * b >> BITS
        others = [a for a in range(first, len(x)) if not v[a]]
        if p and others:
            taken = sorted(move[a] ** 2 for a in chosen if a >= first)
            taken = [0] * (p - len(taken)) + taken
            room = low * low - sum(e * e for e in move[:first]) - sum(taken)
            most = min((room + done) // q for q, done in enumerate(accumulate(taken), 1))
            t = isqrt(max(most - rho * rho // 10**12, 0))
            for a in others:
                move[a] = -max(min(x[a], t), -t)
        return move, False

    def gram(self, i, j):
        """Return an entry of the first sum."""
        return (inner(self.left.get(i, ()), self.right.get(j, ())) >> BITS) // self.n

    def on(self, node):
        """Return M on a node, whose features and places must be among the attack's own."""
        need(self.columns.issuperset(node.inside + node.free), "a feature that its attack does not know")
        need(self.boxes or set(self.inside) <= set(node.inside), "its attack is about another node")
        need(
            self.boxes or len(node.inside) - len(self.inside) + node.most <= self.places, "its attack has fewer places"
        )
        level = self.gain * (node.target + node.paid) >> BITS
        return lambda i, j: self.gram(i, j) + (level * self.v[i] * self.v[j] >> 2 * BITS)


# The tree


class Node:
    """The choices with I in S, S in I and F, at most p features of F, and signs of v; an empty one has none.

    In a small claim all features of a choice fit together (`near`), and there are at least so many of them (`least`).
    """

    def __init__(self, problem, tree, inside, near=None, least=0):
        self.problem, self.tree, self.inside, self.near, self.least = problem, tree, list(inside), near, least
        self.outside, self.signs, self.depth, self.how, self.empty = [], {}, 0, "", False
        self.bound, self.target = tree.bound, tree.target

    def child(self, how, **changes):
        """Return a child, which is this node but for the changes."""
        return changed(self, how=how, depth=self.depth + 1, **changes)

    def opened(self):
        """Find F, p and what I costs, and return this node."""
        p, decided = self.tree.size - len(self.inside), {*self.inside, *self.outside}
        self.free = [j for j in self.tree.features if j not in decided] if p > 0 else []
        if self.near:
            self.free = [j for j in self.free if self.near[j].issuperset(self.inside)]
        self.most = min(p, len(self.free))
        self.empty = self.empty or len(self.inside) + self.most < self.least
        self.paid = sum(self.problem.pi[j] for j in self.inside)
        return self

    def close(self):
        """Prove that the tree, whose root this is, shows what it says of all choices of this node."""
        todo = [self] if self.tree.rule else []
        for number, (rule, item) in enumerate(zip(self.tree.rule, self.tree.item, strict=True)):
            name = list(RULES)[rule]
            kind, words = RULES[name]
            need(todo, f"the tree is closed before node {number}")
            node = todo.pop().opened()
            self.problem.say(f"{'  ' * min(node.depth + 2, 40)}{number}: {node.how}{words.format(item)}")
            records = self.problem.records[kind] if kind else range(1 if name == "LENGTHS" else self.problem.d)
            need(item < len(records), "there is no such record, or feature")
            if rule in LEAVES:
                node.decide()
                if node.empty or not node.inside + node.free:
                    continue
            todo += getattr(node, name.lower())(records[item]) or []
        need(not todo, "its tree has open nodes")

    def decide(self):
        """Against attacks on samples, include all of F where there is room for it, and it costs nothing."""
        if self.problem.on_samples and self.most == len(self.free) and not any(self.problem.pi[j] for j in self.free):
            self.inside, self.free, self.most = self.inside + self.free, [], 0

    # One method for each rule. It returns the children, the last one first; of a leaf there are none.

    def feature(self, j):
        """Branch on a feature. In a small claim one that does not fit to those included is in no choice."""
        need(j in self.free or (self.near and j not in self.inside), "its feature is not open")
        without = self.child(f"without {j}, ", outside=[*self.outside, j])
        return [without, self.child(f"with {j}, ", inside=[*self.inside, j], empty=self.empty or j not in self.free)]

    def sign(self, j):
        """Branch on the sign of v_j; v and -v have the same value, so the first sign is known."""
        need(j in self.inside + self.free and j not in self.signs, "its feature is not open")
        below = [self.child(f"v_{j} <= 0, ", signs=self.signs | {j: -1})] if self.signs else []
        return [*below, self.child(f"v_{j} >= 0, ", signs=self.signs | {j: 1})]

    def lengths(self, _):
        """LENGTHS. A feature contributes at most most_j; those of F with less than nothing can be left out."""
        need(self.problem.lengths(self) <= self.bound, "its lengths add up to more than T")

    def dominance(self, record):
        """DOMINANCE. C_QQ is positive semidefinite for Q of p features, shown by a scaling."""
        if record.threshold > 0:
            self.target = fixed(record.threshold)
            need(self.target <= self.bound, "its threshold is above T")
        self.dominant(self.eliminate(record.majorant), record.scaling)

    def matrix(self, record):
        """MATRIX. N = D C D, D about C_ii^(-1/2), has v'Nv >= 0 for all v of m features: C_QQ is semidefinite.

        A line about G = -N says v'Gv <= c + sigma s, and 1 <= s <= m for unit v of m features: need c + m sigma <= 0.
        """
        lower, line = self.eliminate(record.majorant), self.problem.records["line"][record.line]
        if not self.free:
            return
        need(list(line.features) == self.free, "its line is not about the features of F")
        need(line.form in (THRESHOLD, BOX) and not line.counts and not line.weighted, "its line is FREE, or about t")
        need(not any(line.deflation), "its line has multipliers of directions")
        need(all(row[-1] > 0 for row in lower), "C has a diagonal that is not positive")
        N = {(i, j): lower[a][b] for (a, i), (b, j) in product(enumerate(self.free), repeat=2) if b <= a}
        z = {j: isqrt((1 << 3 * BITS) // N[j, j]) for j in self.free}
        ones, one = dict.fromkeys(self.free, ONE), lambda i, j: ONE * (i == j)
        proved = Line(self.problem, line, lambda i, j: -(N[i, j] * z[i] * z[j] >> 2 * BITS), ones, one)
        sigma = proved.plain + largest(proved.tau, (), self.free, self.most)
        need(proved.c + self.most * max(sigma, 0) <= 0, f"c + {self.most} sigma of its line is positive")

    def envelope(self, record):
        """ENVELOPE. The variance lies below lines, and these below what a choice worth more than T must have.

        Of samples: the root of n times the value is the largest |X_S'u| - sum rho_i |u_i| over unit u. A line about
        zero has its R. Where [[cI - R, X_S], [X_S', I]] is positive semidefinite, u'X_S X_S'u + u'Ru <= c, so |X_S'u|^2
        is below the line, and the adversary takes rho sqrt(t).
        """
        problem, level, signs, rows = self.problem, self.bound + self.paid, self.signs, self.inside + self.free
        lines = [line_about_data(problem, number) for number in record.lines]
        need(level >= 0, "T and the costs of I are below 0")
        if problem.on_samples:
            need(not problem.boxes, "no line is about entries")
            need(not any(problem.pi[j] for j in self.free), "features that cost something are undecided")
            signs, rows = {}, [*problem.counting(self.inside, self.free, self.most)]
        for line in lines:
            need(line.tau.keys() >= {*rows}, "a line does not speak of all features, or samples, of the node")
            need(line.signs.items() <= signs.items(), "a line has signs that the node has not")
        if not problem.on_samples:
            covered(problem, lines, self.bound, self.inside, self.free, self.most, problem.pi)
            return
        for line, scaling in zip(lines, record.scalings, strict=True):
            X = [[problem.rows[i][j] for i in line.tau] for j in self.inside + self.free]
            lower = line.lower + [[*x, *[0] * a, ONE] for a, x in enumerate(X)]
            self.dominant(complement(lower, len(line.tau) + len(self.inside), line.error), scaling)
        if rows:
            covered(problem, lines, level * problem.n, rows)

    def listed(self, record):
        """Check LISTED: all choices of the node are part of a support."""
        need(self.tree.is_list, "only a list has such a rule")
        support, reach = set(record.features), {*self.inside, *self.free}
        need(support >= reach, "the node has features that the support has not")
        decided = not reach or (not self.free and support == reach) or not any(self.problem.costs)
        need(decided, "with costs a part may be worth more")

    def beyond(self, record):
        """BEYOND. All choices of the node contain a support; none is worth more than the record says."""
        need(self.tree.is_list, "only a list has such a rule")
        need(set(record.features).issubset(self.inside), "not all choices of the node contain the support")
        bound = max(fixed(record.beyond), self.tree.bound)
        return [self.child("", bound=bound, target=bound)]

    def eliminate(self, number):
        """Return C, the Schur complement of P = tB - M + diag_F(pi) on F, with a majorant M of this number.

        A choice S of the node worth more than T has lambda_max((M - diag_F(pi))_SS) > t = (1 + kappa) (T + pi_I). There
        is none if P_SS is positive semidefinite: if P_II is positive definite and C_QQ is positive semidefinite for all
        Q = S without I. (Against attacks on features, costs count 1 + kappa times.)
        """
        problem, first = self.problem, len(self.inside)
        majorant = (SampleMajorant if problem.on_samples else Majorant)(problem, number)
        level = self.target + majorant.paid(self)
        need(level > 0 or problem.directions, "T and the costs of I are not positive")
        t = (majorant.factor * level >> BITS) - majorant.loss
        M = majorant.on(self)
        lower = triangle(self.inside + self.free, lambda i, j: (t * problem.B(i, j) >> BITS) - M(i, j))
        for a, j in enumerate(self.free, first):
            lower[a][a] += majorant.costs * problem.pi[j] >> BITS
        return complement(lower, first, majorant.error + 5 + up(abs(t)))

    def dominant(self, lower, scaling):
        """Show, with d_j > 0, that C_ii d_i >= sum_{j in Q, j != i} |C_ij| d_j for i in Q, by a scaling or by ones.

        For Q of p features or fewer it is enough to compare with the p - 1 largest terms of each row (Gershgorin).
        """
        need(all(row[-1] >= (self.most > 1) for row in lower), "C has a diagonal that is not positive")
        if self.most < 2:
            return
        record = self.problem.records["scaling"][scaling - 1] if scaling else SimpleNamespace(features=(), values=())
        z = dict(zip(record.features, record.values, strict=True))
        d = [fixed(z.get(j, 1.0), -BITS) // root(row[-1]) + 1 for j, row in zip(self.free, lower, strict=True)]
        for i, row in enumerate(lower):
            whole = [abs(c) for c in row[:-1]] + [0] + [abs(other[i]) for other in lower[i + 1 :]]
            others = largest([*map(mul, whole, d)], (), range(len(d)), self.most - 1)
            need(others <= row[-1] * d[i], f"the row of feature {self.free[i]} is not dominant")


def covered(problem, lines, bound, inside, free=(), most=0, pi=()):
    """Show that at every t one of the lines closes a node: it is below h(x) = (sqrt(T + x) + r sqrt(t))^2.

    Here x are the costs of the choice. Lines are linear in s and in t, h is concave in t and in x: so a line closes an
    interval of t if it closes both ends, and the ends of s and chords of h are enough. (sum n |v|)^2 <= sum n^2 / b,
    and v'Bv is at most its largest entry times s.
    """
    spread = {j: ONE * ONE // problem.below[j] + 1 for j in chain(inside, free)}
    costs, shares = {j: pi[j] if pi else 0 for j in spread}, {j: up(problem.w[j] ** 2 * x) for j, x in spread.items()}

    least, longest = ONE * ONE // problem.widest, largest(spread, inside, free, most)
    start = (min(problem.w[j] for j in spread) ** 2 >> BITS) * least >> BITS
    end = up(largest(shares, inside, free, most))
    paid, pieces = sum(costs[j] for j in inside), 16 if any(costs.values()) and problem.top else 1
    rest = largest(costs, (), free, most)
    cuts = [paid + rest * i // pieces for i in range(pieces + 1)]

    def closes(line, t):
        """Show for one t, both ends of s and every Q: Y + sum_Q g <= h(pi_I + sum_Q pi). All is times 2^256."""
        square = problem.top**2 * t
        h = [(bound + x << BITS) + (square >> BITS) + 2 * isqrt(square * (bound + x)) for x in cuts]
        for s in (longest, least) if line.plain < 0 else (longest,):
            g = {j: line.tau[j] * (t if line.in_t else s) + (line.alpha[j] << BITS) for j in costs}
            y = (line.c << BITS) + line.plain * s + line.weighted * t
            for (x, high), (after, higher) in pairwise(zip(cuts, h, strict=True)):
                slope = (higher - high) // max(after - x, 1)
                net = {j: g[j] - slope * costs[j] for j in costs}
                if y + largest(net, inside, free, most) > high - slope * x:
                    return False
        return True

    @lru_cache(None)
    def closing(t):
        return {number for number, line in enumerate(lines) if closes(line, t)}

    todo, finest = [(start, end)], end - start >> 64
    while todo:
        low, high = todo.pop()
        need(closing(low), f"no line closes it at t = {low / ONE:.9g}")
        if not closing(low) & closing(high):
            need(high - low > finest, f"no line closes it beyond t = {low / ONE:.9g}")
            todo += [(low + high >> 1, high), (low, low + high >> 1)]


# Levels by conflicts: which features can lie in one choice above T at all, and small claims that cover their graph.


class Demands:
    """What a choice of at most q features worth more than T demands of them, where fewer are worth at most `below`.

    For one unit u, any e of its q places contribute more than due_e = T - below[q - e] together; what contributes
    nothing is left out. So there are at least `size` features, each with |a_j'u| > m_j = r_j + sqrt(due_1 + pi_j), and
    any two contribute more than due_2. On [m_j, L_j], L_j >= |a_j|, a contribution (s - r_j)^2 - pi_j is convex in s^2
    and lies below its chord alpha_j s^2 - b_j.
    """

    def __init__(self, problem, T, below, q):
        need(problem.plain and not problem.metric, "conflicts need columns, and no demands, directions or metric")
        due = [T - below[q - e] for e in range(q + 1)]
        self.size, self.problem, self.of = q - max((e for e in range(1, q + 1) if due[e] < 0), default=0), problem, {}
        need(q > 1 and self.size > 1 and T > 0, "a single feature may be enough for a choice")
        one, two = max(due[1], 0), due[2]
        best = max((problem.most[j] for j in problem.allowed), default=0)
        for j in problem.allowed:
            if problem.most[j] > one and problem.most[j] + best > two:
                m, length, slope, back = chord(problem, j, one)
                short = two + back - up(slope * length * length, ONE * ONE)
                self.of[j] = m, isqrt(length * length - m * m) + 1, slope, back, short, length

    def fit(self, i, j):
        """Return whether i and j may lie in one choice."""
        if i not in self.of or j not in self.of:
            return False
        m, rest, slope, back, short, _ = self.of[i]
        n, other, steep, far, scant, _ = self.of[j]
        size, x, y = abs(self.problem.A(i, j)) + 1, short + far, scant + back
        if size << BITS < m * n - rest * other:
            return False
        return not (x > 0 and y > 0 and size * size * slope * steep < x * y << 2 * BITS)

    def chord(self, j, beta):
        """Return c_j with (s - r_j)^2 - pi_j <= c_j^2 s^2 - beta on [m_j, L_j]; it is enough at both ends."""
        if j not in self.of:
            return 0  # it is in no choice
        (m, *_, length), r, cost = self.of[j], self.problem.r[j], self.problem.pi[j]
        need(m > 0, "a chord needs a floor above 0")
        slopes = [up((up((end - r) ** 2) - cost + beta) << 2 * BITS, end * end) for end in (m, length)]
        return root(max(*slopes, 0)) + 1


def check_cover(level, demands):
    """Prove that the first feature of each clique, in the level's order, has all others in its claim.

    A feature without a claim has too few later neighbours. No pair leads from a component to a later feature.
    """
    place, claims, later = {j: a for a, j in enumerate(level.order)}, {}, dict.fromkeys(demands.of, 0)
    need(len(place) == len(level.order), "a feature is twice in the order")
    for claim in level.claims:
        claim.all = set(claim.members)
        need(len(claim.all) == claim.width, "a claim has a feature twice")
        for j in claim.members[:1] if claim.rooted else claim.members:
            need(j not in claims, "two claims take the same feature out")
            claims[j] = claim
    for pair in combinations(demands.of, 2):
        first, last = sorted(pair, key=lambda j: place.get(j, -1))
        claim = claims.get(first)
        if (claim and last in claim.all) or not demands.fit(*pair):
            continue
        need(not claim, f"features {first} and {last} may lie in one choice, and no claim covers them")
        later[first] += 1
        need(later[first] < demands.size - 1, f"feature {first} has enough neighbours, and no claim")


def check_claim(problem, claim, demands):
    """Prove a small claim: features that it drops have too few neighbours before them, and its tree is closed."""
    near = [set() for _ in claim.members]
    for i, j in combinations(range(claim.width), 2):
        if demands.fit(claim.members[i], claim.members[j]):
            near[i].add(j)
            near[j].add(i)
    if claim.rooted:  # what does not fit to the root is in no choice
        known = near[0] | {0}
        near = [others & known if i in known else set() for i, others in enumerate(near)]
    for i in range(claim.kept, claim.width):
        need(sum(j < i for j in near[i]) < demands.size - 1, "a claim drops a feature with enough neighbours")
    members, inside = claim.members, [0] if claim.rooted and claim.kept else []
    given = {name: [getattr(problem, name)[j] for j in members] for name in ("diagonal", "pi", "r", "most")}
    part = changed(problem, members=members, d=claim.width, known=range(claim.width), demands=demands, **given)
    part.A = lambda i, j: problem.A(members[i], members[j])
    part.weigh()
    root = Node(part, claim, inside, near, demands.size).opened()
    need(claim.rule or root.empty, "a claim has no nodes")
    root.close()


# Levels: no choice of at most `size` features is worth more than `bound`.


def check_levels(problem, levels):
    """Prove levels of rising size, each from those before it."""
    sizes = [0, *(level.size for level in levels)]
    need(levels and ascending(sizes), "level_size is empty or not ascending")
    need(min(problem.k, len(problem.allowed)) <= sizes[-1] <= problem.k, "the last level is not of k features")
    need(len(levels) == 1 or problem.plain, "with demands or directions, or if it is not definite: one level only")
    most = sorted((max(problem.most[j], 0) for j in problem.allowed), reverse=True)
    sums = list(accumulate(most, initial=0))
    # below[q] bounds the choices of q features. Without its least feature one worth V is worth (q - 1) / q of V.
    below = [0]
    for level in levels:
        for q in range(len(below), level.size + 1 if problem.plain else 0):
            below.append(min(sums[min(q, len(most))], up(q * below[-1], q - 1) if q > 1 else sums[-1]))
        check_level(problem, level, below)
        below[-1] = min(below[-1], max(level.bound, 0))
    need(problem.include or levels[-1].bound >= 0, "the last level's bound is below 0, the value of no features")


def check_level(problem, level, below):
    """Prove a level: the features that it leaves out contribute too little, and its tree is closed; or its claims."""
    claims, many = level.claims, len(level.features)
    how = "the tree below" if level.rule else "what is known of fewer features"
    how = f"{how}, for {many} of them; the others contribute too little" if claims is None else "small claims"
    problem.say(f"Level {level.number}: {level.size} features are worth no more than T = {level.exact:.9g}, by {how}")
    if claims is not None:
        demands = Demands(problem, level.target, below, level.size)
        check_cover(level, demands)
        for number, claim in enumerate(claims):
            first = "with its first feature, " * claim.rooted
            problem.say(f"  Claim {number}, {first}among {list(claim.members)}, by their places")
            check_claim(problem, claim, demands)
        return
    features = set(level.features)
    need(features.issuperset(problem.include), "it leaves out a demanded feature")
    need(not features & problem.exclude, "it has a forbidden feature")
    others = [j for j in problem.allowed if j not in features]
    need(problem.definite or not others, "it does not list all allowed features")
    if problem.constrained:  # whatever its length, a feature may be needed; an infinite budget cancels what uses it
        need(all(problem.rho[j] == inf for j in others), "it leaves out features, and the claim is about constrained v")
    elif others:
        # In a choice worth more than T, all features but one are worth at most below[q - 1].
        due = max(0, level.bound - below[-2]) if problem.plain else 0
        worst = max(others, key=problem.most.__getitem__)
        need(problem.most[worst] <= due, f"feature {worst}, which it leaves out, may contribute more than is due")
    known = level.rule or (problem.plain and below[-1] <= level.bound)
    need(known, "it has no nodes, and what is known before is not enough")
    Node(problem, level, problem.include).close()


# Several choices. Let no feature be in two of them, let slot t have at most k_t, and let q_j >= pi_j be any charges.
# All together are worth at most sum_j (q_j - pi_j) + sum_t max(0, z_t), if no choice that slot t may have is worth more
# than z_t with costs of at most q: prices are paid once. A tree gives features to one slot after the other.


def fan(problem, record, slots):
    """Return what a line says of all choices together, and of those that use a feature.

    Unit vectors that share no feature are orthogonal: sum v'Bv <= r c + |L|^2. A feature is in one of them, all have at
    most K: sum_t v'Av is at most that and (plain + weighted) K, and the K largest tau k + alpha - pi. Who uses j pays
    for it, and for one less of the others.
    """
    places, line = sum(slots), problem.records["line"][record.line]
    need(not problem.on_samples and not problem.top, "no line is about all choices where there are budgets")
    others = set(problem.allowed) - set(line.features)
    fits = not others or (problem.definite and all(problem.most[j] <= 0 for j in others))
    need(line.features and fits, f"line {line.number} leaves out a feature that counts")
    parts = ([*map(fixed, record.factors[i * record.rank : (i + 1) * record.rank])] for i in range(line.size))
    L = dict(zip(line.features, parts, strict=True))
    proved = Line(problem, line, *problem.near, L)
    need(proved.c >= 0 and not proved.signs, f"line {line.number} has signs, or a constant below 0")
    adds = {j: proved.tau[j] * max(slots) + proved.alpha[j] - problem.pi[j] for j in line.features}
    falling = sorted((max(x, 0) for x in adds.values()), reverse=True)
    most = len(slots) * proved.c + up(sum(inner(x, x) for x in L.values())) + sum(falling[:places])
    most += max(proved.plain + proved.weighted, 0) * places
    last = falling[places - 1] if places <= len(falling) else 0
    return most, {j: most + min(x - last, 0) for j, x in adds.items()}


def check_packing(problem, bound):
    """Prove that no choices for all slots, none of which share a feature, are worth more than the bound together."""
    records, d, unit, costs = problem.records, problem.d, problem.unit, problem.costs
    slots = [slot.k for slot in records["slot"]]
    need(slots and max(slots) == problem.k, "the largest slot has not k features")
    owners = [None if j in problem.allowed else -1 for j in range(d)]  # -1: no choice that matters uses it
    for record in records["fan"]:
        most, using = fan(problem, record, slots)
        if Fraction(most, ONE) * unit <= bound:
            return
        for j, x in using.items():
            owners[j] = -1 if Fraction(x, ONE) * unit <= bound else owners[j]

    @lru_cache(None)
    def priced(number):
        """Return the costs of a claim and what its choices are worth at most."""
        price = records["price"][number]
        own, last = [*map(Fraction, price.costs)], price.levels[-1]
        need(last.size <= problem.k, f"claim {number} is about too many features")
        other = changed(problem, k=last.size, costs=own, pi=[fixed(cost / unit) for cost in own])
        other.most = other.contributions()
        check_levels(other, price.levels)
        return own, max(Fraction(last.exact), 0) * unit

    todo = [owners]
    for number, node in enumerate(records["owner"]):
        branch = node.feature
        what = f"who owns feature {branch}?" if branch < d else "closed by prices"
        problem.say(f"Node {number} of the slots: {what}")
        need(todo, "the tree is closed before it")
        owners = todo.pop()
        if branch < d:
            need(owners[branch] in (None, -1), "the feature has an owner")
            # Of slots that are alike and own nothing the first stands for all.
            empty = {k: slot for slot, k in reversed([*enumerate(slots)]) if slot not in owners}
            takers = [slot for slot, k in enumerate(slots) if slot in owners or empty[k] == slot]
            todo += [[*owners[:branch], slot, *owners[branch + 1 :]] for slot in takers[::-1]]
            continue
        sizes = [records["price"][claim].levels[-1].size for claim in node.claims]
        need(all(k <= size for k, size in zip(slots, sizes, strict=True)), "a claim is about too few features")
        own, most = zip(*map(priced, node.claims), strict=True)
        charges = []
        for j, cost in enumerate(costs):
            charges.append(max([cost, *(q[j] for slot, q in enumerate(own) if owners[j] in (None, slot))]))
        total = sum(most) + sum(charges) - sum(costs)
        need(total <= bound, f"its prices prove no more than {decimal(total, ROUND_CEILING)}")
    need(not todo, "the tree of the slots has open nodes")


# The claim


def attained(problem, features, weights, k):
    """Return a lower bound for the value of a vector of at most k features, in the units of the data."""
    features, value, d, V = list(features), Fraction(0), problem.d, problem.directions
    chosen, (w, _) = {*features, *problem.include}, integers(weights)
    need(len(chosen) <= k, "the vector has more than k features, with the demanded ones, or than its slot")
    need(not chosen & problem.exclude, "the vector has a forbidden feature")
    if any(w):
        along = [inner(map(Fraction, (V[i + j] for j in features)), w) for i in range(0, len(V), d)]
        need(inner(along, along) * 10**16 <= inner(w, w), "the vector is not orthogonal to the directions")
        value = problem.attained(features, w) * problem.unit
        above, below = (value * problem.norm).as_integer_ratio()  # and 2 sqrt(v'Av norm), rounded up
        lost = 2 * Fraction(isqrt(above * below << 2 * BITS) + bool(above), below << BITS)
        value = value + problem.norm - lost if value > problem.norm else Fraction(0)
    return value - sum(problem.costs[j] for j in chosen)


def kind_of(file):
    """Return the class of the claim's problem."""
    return (Entries if file.boxes else Samples) if file.attacked else Features


def proved(file, data, say=lambda words: None):
    """Return what the certificate proves of the data, in decimals, and say how."""
    header, levels, records = file.header, file.records["level"], file.records
    problem = kind_of(file)(prepared(data, file), file, say)
    if file.kind == "list":
        for record in records["list"]:
            fits = attained(problem, record.features, record.weights, file.k) >= Fraction(record.value) * problem.unit
            need(fits, f"support {record.number} of the list is worth less than it says")
        check_levels(problem, levels[-1:])
        levels = levels[:-1]
    bound, claimed, value = Fraction(header["bound"]), Fraction(header["value"]), Fraction(0)
    if file.kind == "joint":
        check_packing(problem, bound)
    else:
        check_levels(problem, levels)
        beyond = Fraction(levels[-1].exact) * problem.unit - file.norm - bound  # sqrt T <= sqrt(bound) + sqrt(norm)
        need(beyond <= 0 or beyond**2 <= 4 * file.norm * bound, "the last level proves less than the bound")
    sizes, nothing = [slot.k for slot in records["slot"]] or [file.k], -sum(problem.costs[j] for j in file.include)
    for vector, k in zip(records["vector"], sizes, strict=True):
        value += max(attained(problem, vector.features, vector.weights, k), nothing)
    used = [j for vector in records["vector"] for j in vector.features]
    need(len(used) == len(set(used)), "two vectors use the same feature")
    need(value <= bound, "the bound is below what the vectors are worth")
    room = Fraction(problem.largest_variance, ONE) * problem.unit / 10**12 / problem.least + Fraction(file.n, 2**1074)
    proved = decimal(value, ROUND_FLOOR), decimal(bound, ROUND_CEILING)
    need(value >= claimed - abs(claimed) / 10**9 - room * len(sizes), f"the vector attains no more than {proved[0]}")
    return proved


def decimal(x, rounding):
    """Return a rational number in decimals, rounded to a side."""
    return str(Context(prec=15, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)))


def about(file):
    """Return what is claimed, in words."""
    value, bound, records = file.header["value"], file.header["bound"], file.records
    said = f"Claim: {value} <= optimum <= {bound}, at most {file.k} of {file.d} features; adversary {file.adversary}"
    said += f"; demanded {file.include}" * bool(file.include) + f"; {len(file.exclude)} forbidden" * bool(file.exclude)
    said += "; over v'Bv, B the file's metric" * bool(file.metric)
    said += f"; |V v| <= 1e-8, V the file's {file.many} directions" * bool(file.directions)
    if file.slots:
        said += f"; several choices that share no feature, of {[slot.k for slot in records['slot']]} features"
    if file.kind == "list":
        beyond = decimal(Fraction(records["level"][-1].exact) * file.unit, ROUND_CEILING)
        slack = max([0.0, *(one.beyond / one.value - 1 for one in records["list"])])
        said += (
            f"; what is worth more than {beyond} owes that to one of {len(records['list'])} supports, to {slack:.1e}"
        )
    return said


def main():
    """Check the certificate that the command line names."""
    parser = argparse.ArgumentParser(description="Check a certificate of noap.")
    parser.add_argument("certificate")
    parser.add_argument("data", help=".csv, with a line of names or without, or .npy: samples or a covariance")
    parser.add_argument("--explain", action="store_true", help="print the proof in words")
    options, where = parser.parse_args(), []

    def say(words):
        where[words.startswith(" ") :] = [words]  # the last level and the last node
        if options.explain:
            print(words)

    try:
        file = Certificate(Path(options.certificate).read_bytes())
        data = read_data(options.data, file)
        print(about(file))
        print("ACCEPT: {} <= optimum <= {}".format(*proved(file, data, say)))
        print(f"  Not part of the claim: {about_preparation(data, file)}.")
    except Reject as reason:
        print(*where, f"REJECT: {reason}", sep="\n")
        return 1
    except OSError as reason:
        print(f"{parser.prog}: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
