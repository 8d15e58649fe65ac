"""Check a noap certificate: one file, Python's standard library, written from docs/certificate-format.md alone.

    python noap_check.py CERTIFICATE DATA [--header | --no-header] [--explain]

DATA, a .csv or .npy file, holds the samples or the covariance that the certificate speaks of. The answer is ACCEPT with
what is proved, exit code 0; REJECT, 1; or that an input cannot be read, 2. --explain prints the proof in words.

What is claimed. A *choice* is a set S of at most k features (all demanded, no forbidden ones) and a unit vector v that
is zero outside S. It is worth (sqrt(v'Av) - sum_j r_j |v_j|)_+^2 - sum_{j in S} pi_j, where A = X'X/n. The claim:
the best choice is worth at least `value` and at most `bound`. A certificate may have *directions*: rows V, and choices
are then those with |V v| <= 10^-8. For these v'Gv <= v'(G - V'diag(sigma)V) v + 10^-16 max sigma, if all sigma >= 0.
With a *metric* B a choice is worth (sqrt(v'Av) - sum_j r_j |v_j|)_+^2 / v'Bv.
Against attacks on samples (without directions) a choice is worth sum_i (|x_i'v| - rho_i)_+^2 / n - sum_{j in S} pi_j.

How numbers are held. An integer a stands for a / 2^128 (its last place is an *ulp*). Three ideas make rounding safe:

1. Budgets r, costs pi and thresholds T are rounded down once, and are exact from then on. That is another problem,
   whose choices are worth no less, with a bound to prove that is no larger.
2. Multipliers of a proof may be any numbers. They are rounded once, in any direction, and are exact from then on.
3. A symmetric matrix whose n x n entries are wrong by at most e each is wrong by at most n e in the order of
   semidefinite matrices (its eigenvalues are at most its largest row sum). So A is rounded to an ulp, n ulps are added
   to its diagonal, no value falls, and it is exact from then on. Of a matrix computed from it, wrong by e, n e is taken
   off the diagonal, and what is shown of the rest holds.
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
from itertools import accumulate, chain, combinations, pairwise
from math import frexp, inf, isfinite, isqrt
from operator import add, mul
from pathlib import Path
from statistics import fmean, pstdev

BITS = 128
ONE = 1 << BITS
RULES = {
    "FEATURE": "with or without feature {}:",
    "SIGN": "by the sign of v_{}:",
    "LENGTHS": "closed: the lengths of its columns add up to too little",
    "DOMINANCE": "closed by a majorant and diagonal dominance, record {}",
    "MATRIX": "closed by a majorant and a matrix, record {}",
    "ENVELOPE": "closed: the variance lies below lines, record {}",
    "LISTED": "closed: all are part of support {} of the list",
    "BEYOND": "all contain support {} of the list; below, T is what these are worth at most, if that is more:",
}
FEATURE, SIGN, LENGTHS, DOMINANCE, MATRIX, ENVELOPE, LISTED, BEYOND = range(8)
THRESHOLD, BOX, FREE = range(3)
TOLERANCE = (ONE + (ONE >> 40)) // 10**16  # of |V v|^2; entries of V are rounded, which makes it longer by an ulp each


class Reject(Exception):
    """The certificate does not prove its claim, or this checker does not understand it."""


class Unreadable(Exception):
    """An input cannot be read."""


def need(condition, reason):
    """Reject unless the condition holds."""
    if not condition:
        raise Reject(reason)


def fixed(x, exponent=0):
    """Return floor(x 2^(128 - exponent)) of a double or a rational number x."""
    over, under = x.as_integer_ratio()
    shift = BITS - exponent
    return (over << max(shift, 0)) // (under << max(-shift, 0))


def up(a, b=ONE):
    """Return the ceiling of a / b, b > 0."""
    return -(-a // b)


def root(a):
    """Return the square root of a number of this checker, rounded down; 0 of negative ones."""
    return isqrt(max(a, 0) << BITS)


def integers(doubles):
    """Return integers m and s with x = m / 2^s for all doubles x of a list."""
    ratios = [x.as_integer_ratio() for x in doubles]
    most = max((under for _, under in ratios), default=1)
    return [over * (most // under) for over, under in ratios], most.bit_length() - 1


def chord(r, cost, low, high):
    """Return alpha and b with (s - r)^2 - cost <= alpha s^2 - b for s between low, at least r, and high."""
    if not high:
        return ONE, cost
    slope = max(ONE - (2 * r << BITS) // (high + low), 0)
    return slope, cost + ((2 * r * low * high // (high + low) - r * r) >> BITS)


def largest_sum(numbers, count):
    """Return the sum of the `count` largest numbers."""
    return sum(sorted(numbers, reverse=True)[:count])


def complement(lower, first, error):
    """Return the Schur complement of the first rows of a symmetric matrix M, rounded down; M is definite on these.

    Matrices are lists of the rows of their lower triangle; each entry of M is at most `error` ulps from the truth. In
    integers each step of a Cholesky factorisation is a division with remainder: 2^128 M_ij = sum_{k <= j} L_ik L_jk +
    E_ij, with 0 <= E_ij < L_jj for j < i and 0 <= E_ii <= 2 L_ii. So 2^128 M = L L' + E exactly, and no eigenvalue of E
    is below -(n - 1) max_j L_jj, where L_jj^2 <= 2^128 M_jj. That much, and n `error`, is taken off the diagonal of M
    before the start. What remains of the other rows is a lower bound of the Schur complement, since this grows with M.
    """
    n, factor, pivots, result = len(lower), [], [], []
    top = max((row[-1] for row in lower[:first]), default=0)
    slack = n * error + up(n * (root(top) + 1)) + 1
    for a, row in enumerate(lower):
        new = []
        for entry, other, pivot in zip(row, factor, pivots, strict=False):  # there are pivots of the first rows only
            new.append(((entry << BITS) - sum(map(mul, new, other))) // pivot)
        factor.append(new)
        if a < first:
            square = ((row[a] - slack) << BITS) - sum(map(mul, new, new))
            need(square > 0, "a matrix is not positive semidefinite, or not by enough")
            pivots.append(isqrt(square))
        else:
            pairs = zip(row[first:], factor[first:], strict=True)
            result.append([(entry << BITS) - sum(map(mul, new, other)) >> BITS for entry, other in pairs])
            result[-1][-1] -= slack + n - first
    return result


# The file. Of each array: its type; as long as which other one (* : several lists, whose lengths that one has; - : any;
# other words: see Certificate); and what its numbers are: within bounds, features or samples (ascending), members
# (features in any order), or records of another array.

LAYOUT = """
u4 -                  feature           include exclude
u4 *vectors           feature           support
f8 support            any               weights
f8 budgets            budget            rho
f8 d_or_none          amount            costs
f8 directions         any               directions
f8 metrics            any               metric
f8 leasts             positive          metric_least
f8 means              any               mean
f8 mean               divisor           scale
u4 -                  any               list_size
f8 list_size          positive          list_value
f8 list_size          any               list_beyond
u4 *list_size         feature           list_features
f8 *list_size         any               list_weights
u4 -                  any               level_size majorant_size scaling_size line_size
f8 level_size         any               level_bound level_target
u4 level_size         any               level_features level_nodes
u4 *level_features    feature           features
u4 -                  level_size        conflict_level
u4 conflict_level     any               conflict_order conflict_claims
u4 *conflict_order    member            order
u4 -                  positive          claim_size
u1 claim_size         norm              claim_rooted
u4 claim_size         any               claim_kept claim_nodes
u4 *claim_size        member            claim_features
u1 *nodes             rule              rule
u4 *nodes             any               item
f8 majorant_size      amount            majorant_gain
f8 chords             chord             majorant_chord
f8 *many_majorants    amount            majorant_deflation
f8 *many_normals      any               majorant_multipliers
u4 *majorant_size     feature           majorant_features
f8 *majorant_size     any               majorant_weights
u4 -                  majorant_size     dominance_majorant matrix_majorant
u4 attacks            any               attack_included attack_free attack_places attack_rows
f8 attacks            share             attack_spread
u4 *attack_parts      feature           attack_columns
u4 *attack_rows       sample            attack_samples
f4 *attack_entries    any               attack_moves
u4 dominance_majorant scaling_or_none   dominance_scaling
f8 dominance_majorant amount            dominance_threshold
u4 *scaling_size      feature           scaling_features
f4 *scaling_size      positive          scaling_values
u4 matrix_majorant    line_size         matrix_line
u4 -                  positive          envelope_size
u4 *envelope_size     line_size         envelope_lines
u4 *envelope_scaled   scaling_or_none   envelope_scalings
f8 line_size          any               line_c line_plain line_weighted
f8 *many_lines        amount            line_deflation
u1 line_size          norm              line_counts
u1 line_size          form              line_form
u4 *line_size         feature_or_sample line_features
f4 *line_size         amount            line_loads line_lifts
i2 *steps             step              line_steps
f4 *free              any               line_free
i1 *signs             sign              line_signs
f4 *dues              amount            line_dues
f4 *pulls             any               line_pulls
u4 -                  positive          slots claim_levels
u4 slots              any               slot_size
f8 *claims            amount            claim_costs
u4 -                  owned             owner
u4 *leaves            claim_levels      owner_claims
u4 -                  line_size         fan_line
u4 fan_line           any               fan_rank
f8 *fans              any               fan_factors
"""
ARRAYS = {name: row.split()[:3] for row in LAYOUT.split("\n") for name in row.split()[3:]}
TYPES = {"u1": "B", "u4": "I", "i1": "b", "i2": "h", "f4": "f", "f8": "d"}
BIG, SMALL = sys.float_info.max, 5e-324
BOUNDS = {"any": (-BIG, BIG), "amount": (0, BIG), "positive": (SMALL, BIG), "budget": (0, inf), "divisor": (SMALL, inf)}
BOUNDS |= {
    "chord": (-BIG, 0),
    "share": (0, 1),
    "sign": (-1, 1),
    "norm": (0, 1),
    "form": (0, 6),
    "rule": (0, 7),
    "step": (-32767, 32767),
}
RECORDS = {DOMINANCE: "dominance_majorant", MATRIX: "matrix_majorant", ENVELOPE: "envelope_size"}
RECORDS |= {LISTED: "list_size", BEYOND: "list_size"}
COLUMNS = ("name", "dtype", "count", "bytes")
WORDS = {"kind": "single list joint", "adversary": "none feature-wise sample-wise", "source": "samples covariance"}
NUMBERS = {"value": (-BIG, BIG), "bound": (-BIG, BIG), "shift": (0, BIG), "exponent": (-600, 600)}
NUMBERS |= {"k": (1, 2**32 - 1), "n_features": (1, 2**32 - 1), "n_samples": (1, 2**63 - 1)}


def only(pairs, keys):
    """Return a JSON object that has these keys, each once."""
    fits = type(pairs) is tuple and sorted(key for key, _ in pairs) == sorted(keys)
    need(fits, "a JSON object has other keys than version 5")
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
        start += packed
    need(start == len(raw) - 32, "something follows the last array")
    return arrays


class Certificate:
    """The content of a file: every array has its length, every number its range, every list of features its order.

    `get` has the arrays by name; of one that holds several lists it has the list of them.
    """

    def __init__(self, raw):
        self.header, start = read_header(raw)
        self.get = get = read_arrays(raw, start, self.header["arrays"])
        self.n, self.d, self.k, adversary = (self.header[x] for x in ("n_samples", "n_features", "k", "adversary"))
        self.is_list, self.of_samples = self.header["kind"] == "list", self.header["source"] == "samples"
        n, d, on_samples = self.n, self.d, adversary == "sample-wise"
        self.attacked = on_samples and any(get["rho"])  # without budgets such an adversary does nothing
        need(self.of_samples or not on_samples, "attacks on samples need them")
        no_directions = "no rule is about attacks on samples where v is orthogonal to directions"
        need(not (on_samples and get["directions"]), no_directions)
        need(self.is_list or not get["list_size"], "it lists supports, and claims nothing of them")
        self.is_joint, owners = self.header["kind"] == "joint", get["owner"]
        several = ("slots", "claim_levels", "owner", "fan_line")
        need(self.is_joint or not any(map(get.get, several)), "it has several slots, and claims nothing of them")
        lines = list(zip(get["line_size"], get["line_form"], strict=False))
        parts = list(zip(get["attack_included"], get["attack_free"], strict=False))
        with_metric, is_matrix = len(get["metric"]) > 0, d > 1 and len(get["metric"]) == d * d
        fits = not (get["directions"] or get["costs"] or self.is_list or on_samples)
        need(fits or not with_metric, "no rule is about a metric with costs, directions, samples or a list")
        many, moved = up(len(get["directions"]), d), zip(get["attack_rows"], parts, strict=False)
        fans = zip(get["fan_line"], get["fan_rank"], strict=False)
        lengths = get | {
            "vectors": get["slot_size"] if self.is_joint else [len(get["support"])],
            "claims": [d] * len(get["claim_levels"]),
            "leaves": [len(get["slots"])] * owners.count(d),
            "fans": [rank * get["line_size"][i] if i < len(lines) else 0 for i, rank in fans],
            "nodes": get["level_nodes"] + get["claim_nodes"],
            "steps": [b * (b - 1) // 2 * (form & 3 == BOX) for b, form in lines],
            "free": [b * (b - 1) // 2 * (form & 3 == FREE) for b, form in lines],
            "signs": [b * (form & 3 == FREE) for b, form in lines],
            "dues": [b * (form > 3) for b, form in lines],
            "pulls": [b * b * (form > 3) for b, form in lines],
            "many_lines": [many] * len(lines),
            "many_majorants": [many] * len(get["majorant_size"]),
            "many_normals": [many + with_metric] * len(get["majorant_size"]),
            "attack_parts": [b for part in parts for b in part],
            "attack_entries": [rows * sum(part) for rows, part in moved],
            "envelope_scaled": get["envelope_size"] if self.attacked else [],
        }
        counts = {name: (len(values),) for name, values in get.items()}
        counts |= {"d_or_none": (0, d), "means": (0, d * self.of_samples), "directions": (many * d,)}
        counts |= {"metrics": (0, d, d * d), "leasts": (int(is_matrix),)}
        counts["budgets"] = {"none": (0,), "feature-wise": (1, d), "sample-wise": (1, n)}[adversary]
        counts["chords"] = (0, len(get["majorant_size"]))
        counts["attacks"] = (len(get["majorant_size"]) * self.attacked,)
        bounds = {name: (0, len(values) - 1) for name, values in get.items()} | BOUNDS
        bounds |= {
            "owned": (0, d),
            "feature": (0, d - 1),
            "member": (0, d - 1),
            "sample": (0, n - 1),
            "scaling_or_none": (0, len(get["scaling_size"])),
        }
        bounds["feature_or_sample"] = bounds["sample" if self.attacked else "feature"]
        for name, (_, length, numbers) in ARRAYS.items():
            values, (least, most), places = get[name], bounds[numbers], [0, len(get[name])]
            if length[0] == "*":
                places = list(accumulate(lengths[length[1:]], initial=0))
                counts[length] = (places[-1],)
            need(length == "-" or len(values) in counts[length], f"{name} is too long or too short")
            need(all(least <= x <= most for x in values), f"{name} has a number out of range")
            lists = [values[i:j] for i, j in pairwise(places)]
            if numbers in ("feature", "sample", "feature_or_sample"):
                need(all(a < b for one in lists for a, b in pairwise(one)), f"{name} is not ascending")
            get[name] = lists if length[0] == "*" else values
        need(3 not in get["line_form"] and all(map(all, get["list_weights"])), "a form of 3, or a weight of 0")
        need(not any(map(mul, get["majorant_size"], get["attack_rows"])), "a response has moves")
        chords = zip(get["majorant_chord"], get["majorant_size"], get["majorant_gain"], strict=False)
        need(not any(x and (size or gain or on_samples) for x, size, gain in chords), "chords have a vector or a gain")
        self.include, self.exclude = list(get["include"]), set(get["exclude"])
        need(not self.exclude.intersection(self.include), "a feature is demanded and forbidden")
        need(len(self.include) <= self.k, "more than k features are demanded")
        rho, many = list(get["rho"]) if self.attacked or not on_samples else [], n if self.attacked else d
        self.rho = rho * (many if len(rho) == 1 else 1) or [0.0] * many
        self.costs = [*map(Fraction, get["costs"])] or [Fraction(0)] * d
        self.unit = Fraction(4) ** self.header["exponent"]
        by_conflicts = list(get["conflict_level"])
        need(all(a < b for a, b in pairwise(by_conflicts)), "conflict_level is not ascending")
        need(sum(get["conflict_claims"]) == len(get["claim_size"]), "conflict_claims are too many or too few")
        self.levels = [Level(self, number) for number in range(len(get["level_size"]))]
        counts = [0, *accumulate(get["claim_levels"])]
        need(not self.is_joint or counts[-1] == len(self.levels), "levels belong to no claim, or are missing")
        self.claims = [self.levels[i:j] for i, j in pairwise(counts)]
        firsts = accumulate(get["conflict_claims"], initial=0)
        for at, (number, (first, last)) in enumerate(zip(by_conflicts, pairwise(firsts), strict=True)):
            level = self.levels[number]
            need(not level.features and not level.nodes, "a level by conflicts has features or nodes of its own")
            level.order, level.claims = get["order"][at], [Claim(self, level, i) for i in range(first, last)]


class Level:
    """No choice of at most `size` features is worth more than `bound`.

    By conflicts: features that fit together all lie in one of its claims; it has an order in which these take them out.
    """

    order, claims, is_claim = (), None, False

    def __init__(self, certificate, number):
        get = certificate.get
        self.size, self.features, self.exact = (get[x][number] for x in ("level_size", "features", "level_bound"))
        self.bound, self.target = fixed(self.exact), fixed(get["level_target"][number])
        need(get["level_target"][number] <= self.exact, f"the target of level {number} is above its bound")
        self.nodes = list(zip(get["rule"][number], get["item"][number], strict=True))
        self.is_list, self.inside = certificate.is_list and number == len(get["level_size"]) - 1, certificate.include


class Claim:
    """No choice of a level, with features among its members that all fit together, is worth more than the bound.

    In its tree features are numbered by their places. A rooted claim is about the choices with the first one.
    """

    is_list, is_claim = False, True

    def __init__(self, certificate, level, number):
        get = certificate.get
        self.size, self.bound, self.target = level.size, level.bound, level.target
        self.rooted, self.kept = get["claim_rooted"][number], get["claim_kept"][number]
        self.members, at = get["claim_features"][number], len(get["level_size"]) + number
        self.nodes = list(zip(get["rule"][at], get["item"][at], strict=True))
        need(self.kept <= len(self.members), "a claim keeps more features than it has")
        self.features, self.inside = list(range(self.kept)), [0] if self.rooted and self.kept else []


# The data


def read_npy(raw):
    """Return the numbers of a .npy file row by row, and its shape."""
    width = {1: 2, 2: 4, 3: 4}[raw[6]]
    start = 8 + width + int.from_bytes(raw[8 : 8 + width], "little")
    about = ast.literal_eval(raw[8 + width : start].decode())
    codes = TYPES | {"u2": "H", "i4": "i", "i8": "q", "u8": "Q"}
    values, (n, d) = array(codes[about["descr"].lstrip("<|")]), about["shape"]
    values.frombytes(raw[start : start + n * d * values.itemsize])
    if len(values) != n * d or d < 1:
        raise ValueError("it is cut off")
    values = array("d", values)
    return array("d", (x for i in range(n) for x in values[i::n])) if about["fortran_order"] else values, n, d


def read_csv(text, expected, header):
    """Return the numbers of a .csv file row by row, and its shape; a first line of names is passed over."""
    rows = [line.split(",") for line in text.splitlines() if line.strip()]
    if header is None:
        header = len(rows) == expected + 1 or not re.fullmatch(r"[-+.,\s\deE]*", ",".join(rows[0] if rows else ""))
    rows = [array("d", map(float, row)) for row in rows[header:]]
    if len({*map(len, rows)}) > 1:
        raise ValueError("its lines have different numbers of fields")
    return array("d", chain.from_iterable(rows)), len(rows), len(rows[0]) if rows else 0


def read_data(path, certificate, header):
    """Return the doubles of the file of data, row by row; it has the shape that the certificate says."""
    raw, d, source = Path(path).read_bytes(), certificate.d, certificate.header["source"]
    n = certificate.n if certificate.of_samples else d
    try:
        values, *shape = read_npy(raw) if raw[:6] == b"\x93NUMPY" else read_csv(raw.decode("utf-8-sig"), n, header)
    except (ValueError, TypeError, KeyError, IndexError, SyntaxError, MemoryError, RecursionError) as error:
        raise Unreadable(f"{path} is no table of numbers, little-endian .npy or .csv: {error}") from None
    if not all(map(isfinite, values)):
        raise Unreadable("the data have numbers that are not finite")
    need(shape == [n, d], f"it speaks of {source} of {n} x {d}, the data are {shape[0]} x {shape[1]}")
    return values


def prepared(values, certificate):
    """Return what the claim is about, (x - mean) / scale in IEEE doubles and -0.0 as 0.0; its fingerprint must fit."""
    header, d, mean, scale = certificate.header, certificate.d, certificate.get["mean"], certificate.get["scale"]
    if mean:
        values = ((x - mean[i % d]) / scale[i % d] for i, x in enumerate(values))
    values, block = array("d", [x + 0.0 for x in values]), max(1, 2**17 // d)
    need(all(map(isfinite, values)), "a prepared sample is not finite")
    whole = hashlib.sha256(b"\1" + header["source"].encode() + struct.pack("<3Q", certificate.n, d, block))
    for start in range(0, len(values), block * d):
        whole.update(hashlib.sha256(b"\0" + values[start : start + block * d].tobytes()).digest())
    need(whole.hexdigest() == header["fingerprint"], "the data are not those that it speaks of")
    return values


def about_preparation(values, certificate):
    """Say, to rounding, whether mean and scale are those of the data. This is no part of the claim."""
    mean, scale, centred, scaled = certificate.get["mean"], certificate.get["scale"], True, True
    for j, (m, s) in enumerate(zip(mean, scale, strict=True)):
        column = values[j :: certificate.d]
        middle, spread, near = fmean(column), pstdev(column), 1e-12 * max(map(abs, column))
        centred = centred and abs(m - middle) <= near
        scaled = scaled and (abs(s - spread) <= 1e-10 * spread or (spread <= near and s == inf))
    by = "one" if all(x == 1 for x in scale) else "standard deviations" if scaled else "OTHER NUMBERS than those"
    less = "means" if centred else "OTHER NUMBERS than means"
    return f"the data less their {less}, divided by {by}" if mean else "the data are taken as they are"


def too_short(square, rho, cost):
    """Return, for rational numbers, whether sqrt(square) <= rho + sqrt(cost)."""
    if rho == inf:
        return True
    beyond = square - Fraction(rho) ** 2 - cost
    return beyond <= 0 or beyond * beyond <= 4 * Fraction(rho) ** 2 * cost


class Problem:
    """What the problems of all adversaries have in common; majorants and lines are made once for several leaves."""

    def __init__(self, certificate):
        vars(self).update(vars(certificate))  # what the file says
        get, d = self.get, self.d
        self.allowed = [j for j in range(d) if j not in self.exclude]
        self.pi = [fixed(cost / self.unit) for cost in self.costs]
        need(self.header["shift"] == 0 or not self.of_samples, "the shift of samples is not 0")
        self.directions = [[*map(fixed, get["directions"][i : i + d])] for i in range(0, len(get["directions"]), d)]
        self.metric, self.powers, self.least = None, [0] * d, 1
        if get["metric"]:
            self.take_metric(get["metric"], get["metric_least"])
        self.constrained = bool(self.directions or get["metric_least"])
        self.once, self.graph = lru_cache(200)(lambda make, number: make(self, number)), None

    def take_metric(self, B, least):
        """Take the metric in units 2^e_j of the features, in which its diagonal lies from 1/2 to 2.

        `below` is diag(b) with v'Bv >= sum b_j v_j^2: B itself, or `least`. Entries are rounded down, by an ulp.
        """
        d, full = self.d, bool(least)
        own = B[:: d + 1] if full else B
        need(all(x > 0 for x in own), "the diagonal of the metric is not positive")
        need(not full or all(B[i * d : i * d + d] == B[i : d * d : d] for i in range(d)), "the metric is not symmetric")
        e = self.powers = [-(frexp(x)[1] // 2) for x in own]
        given = [B[i * d : i * d + d] if full else [B[i] * (i == j) for j in range(d)] for i in range(d)]
        self.metric = [
            [Fraction(x) * Fraction(2) ** (a + b) for x, b in zip(row, e, strict=True)]
            for row, a in zip(given, e, strict=True)
        ]
        self.form = [[*map(fixed, row)] for row in self.metric]
        self.below = [fixed(least[0]) if full else self.form[j][j] for j in range(d)]
        self.least, self.widest = Fraction(min(self.below), ONE), max(abs(x) for row in self.form for x in row) + 1
        need(self.least > 0, "the least eigenvalue of the metric is too small")
        if full:
            lower = [[x - self.below[i] * (i == j) for j, x in enumerate(self.form[i][: i + 1])] for i in range(d)]
            complement(lower, d, 2)

    def priced(self, k, costs):
        """Return the same problem for at most k features with other costs, rational numbers in the data's units."""
        other = copy(self)
        other.k, other.costs, other.pi = k, costs, [fixed(cost / self.unit) for cost in costs]
        other.most = other.contributions()
        other.once = lru_cache(200)(lambda make, number: make(other, number))
        return other

    def less_penalty(self, rows, sigma, order):
        """Return the rows of a lower triangle less those of V'diag(sigma)V, to an ulp."""
        parts = [(s, v) for s, v in zip(sigma, self.directions, strict=True) if s]
        for a, i in enumerate(order if parts else ()):
            less = (sum(s * v[i] * v[j] for s, v in parts) >> 2 * BITS for j in order[: a + 1])
            rows[a] = [x - y for x, y in zip(rows[a], less, strict=True)]
        return rows


class ColumnProblem(Problem):
    """The matrix A, budgets r, and what follows from them, in units of 4^exponent; without attacks r = 0.

    A feature contributes at most (|a_j| - r_j)_+^2 - pi_j, which `most` has, rounded up, but above 0 only if it really
    is. After that a budget beyond |a_j| = sqrt(A_jj) is lowered to that: either leaves the feature no contribution.
    A column of infinite budget is taken as zeros, unless the feature is demanded, or there are directions or a metric:
    no vector that uses it has a value.
    """

    on_samples = False

    def __init__(self, values, certificate):
        super().__init__(certificate)
        d, n, unit, rho = self.d, self.n, self.unit, self.rho
        self.rho = rho = [
            x if x == inf else Fraction(x) * Fraction(2) ** e for x, e in zip(rho, self.powers, strict=True)
        ]
        unconstrained = not (self.directions or self.metric)
        useless = [j for j, x in enumerate(rho) if x == inf and j not in self.include and unconstrained]
        values = list(values) if useless else values
        for j in useless:
            values[j::d] = [0.0] * len(values[j::d])
            if not self.of_samples:
                values[j * d : j * d + d] = [0.0] * d
        self.values = values
        self.columns = [integers(values[j::d]) for j in range(d)] if self.of_samples else None
        nothing, self.known, shift = self.nothing_left(), {}, self.header["shift"]
        if nothing:
            self.values, self.columns, shift = [0.0] * d * d, None, 0
        self.definite = shift is not None
        self.plain = self.definite and not self.include and not self.constrained  # then levels may build on others
        squares = [self.exact(j, j) for j in range(d)]
        self.largest_variance = fixed(max(squares) / unit)
        if not self.of_samples:
            need(all(values[i * d : i * d + i] == values[i : i * d : d] for i in range(d)), "it is not symmetric")
        # No entry is too small by more than an ulp, two on the diagonal.
        self.raised = fixed(shift or 0) + d + 1
        self.diagonal = [fixed(square / unit) + self.raised for square in squares]
        self.largest = max(map(abs, self.diagonal))
        if self.definite and not nothing and not self.of_samples:
            complement([self.entries(i, range(i + 1)) for i in range(d)], d, 0)
        need(self.definite or not any(rho), "budgets of a covariance need a shift")
        self.budgets = [inf if x == inf else isqrt(fixed(Fraction(x) ** 2 / n / unit, -BITS)) for x in rho]
        self.squares = [(n * (square + unit * Fraction(shift or 0)), x) for square, x in zip(squares, rho, strict=True)]
        self.beyond = [max(root(a) + 1 - r, 0) for a, r in zip(self.diagonal, self.budgets, strict=True)]
        self.most = self.contributions()
        # With directions or a matrix for a metric a budget counts in full, unless it is infinite.
        cut = [min(r, root(a)) for r, a in zip(self.budgets, self.diagonal, strict=True)]
        self.r = [c if r == inf or not self.constrained else r for r, c in zip(self.budgets, cut, strict=True)]
        self.top = max(self.r)
        self.w = [(r << BITS) // self.top for r in self.r] if self.top else [ONE] * d

    def contributions(self):
        """Return at least what each feature contributes, above 0 only if it really does."""
        found = []
        for j, (square, rho) in enumerate(self.squares):
            most = up(self.beyond[j] ** 2, self.below[j] if self.metric else ONE)
            most = (0 if too_short(square, rho, 0) else most) - self.pi[j]
            found.append(min(most, 0) if too_short(square, rho, self.n * self.costs[j]) else most)
        return found

    def exact(self, i, j):
        """Return A_ij without the shift, exactly, in the units of the data and those of the metric."""
        unit = Fraction(2) ** (self.powers[i] + self.powers[j])
        if self.columns is None:
            return Fraction(self.values[i * self.d + j]) * unit
        (x, s), (y, t) = self.columns[i], self.columns[j]
        return Fraction(sum(map(mul, x, y)), self.n << s + t) * unit

    def entries(self, i, columns):
        """Return some entries of row i of A."""
        pairs = [(i, j) if i > j else (j, i) for j in columns]
        for one in pairs:
            if one not in self.known:
                self.known[one] = fixed(self.exact(*one) / self.unit) if one[0] > one[1] else self.diagonal[i]
        return [self.known[one] for one in pairs]

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
        phi = {j: Fraction(rho[j]) + Fraction(isqrt(int(costs[j] * 4**1200)), 2**1200) for j in usable}
        pairs = combinations(usable, 2) if self.columns is None and self.k > 1 else ()
        return all(n * abs(self.exact(i, j)) <= phi[i] * phi[j] for i, j in pairs)

    def lengths(self, node):
        """Return at least what the features of any choice contribute together."""
        free = [max(self.most[j], 0) for j in node.free]
        return sum(self.most[j] for j in node.inside) + largest_sum(free, node.most)

    def attained(self, features, w):
        """Return at most (sqrt(w'Aw) - sum r |w|)_+^2 / w'w; entries of A may be an ulp too small, but for `raised`."""
        square = sum(x * sum(map(mul, w, self.entries(j, features))) for j, x in zip(features, w, strict=True))
        length, sizes = sum(map(mul, w, w)), [*map(abs, w)]
        norm = root(square - length * self.raised - sum(sizes) ** 2)
        taken = sum((self.budgets[j] + 1) * size for j, size in zip(features, sizes, strict=True) if size)
        if self.metric:
            own = [sum(map(mul, w, (self.metric[i][j] for j in features))) for i in features]
            length = sum(map(mul, w, own))
        return Fraction(norm - taken if norm > taken else 0) ** 2 / (ONE * ONE * length)

    def near(self, features):
        """Return what a line is near to, A on some features, and the weights in t."""
        return [self.entries(j, features[: a + 1]) for a, j in enumerate(features)], [self.w[j] for j in features]


class Majorant:
    """M_ij = f_i f_j (A_ij - g_i g_j) + (1 + kappa) h_i h_j, the attack in response to x; plain: M = A.

    Let u be the unit vector of sum x_j a_j and g_j = a_j'u. The attack takes a_j to c_j = h_j u + f_j (a_j - g_j u), at
    most r_j away. So (|a_j'y| - r_j)_+ <= |c_j'y| for all y: the Gram matrix of the c_j is a majorant.
    With kappa > 0 all components along u weigh sqrt(1 + kappa) more, and so do the c_j of the features that are
    stretched. For a unit vector y with y0 = u'y >= 0 let z be the unit vector along y with y0 / sqrt(1 + kappa) in the
    place of y0. Then |c_j'z| >= sqrt(1 + kappa) (|a_j'y| - r_j)_+ with the new c_j: always for those stretched, and for
    the others if (|a_j| - r_j)(sqrt(1 + kappa (1 - y0^2)) - 1) <= r_j (1 - y0), so if kappa (|a_j| - r_j) <= r_j.

    Where contributions add up, M contains the costs of free features: a contribution f of at most m has f - pi_j <=
    (1 - pi_j / m) f. An included feature contributes more than pi_j, and where |g_j| < 15/16 r_j it has the column
    sqrt(alpha) a_j of its chord, and b in the place of pi_j.
    """

    def __init__(self, problem, number):
        names = ("gain", "features", "weights", "deflation", "multipliers")
        gain, self.features, weights, *numbers = (problem.get[f"majorant_{name}"][number] for name in names)
        self.sigma, self.multipliers = ([*map(fixed, some)] for some in numbers)
        self.problem, self.gain, self.error = problem, fixed(gain), 4
        self.factor = self.priced = ONE + self.gain
        self.column = lru_cache(None)(self.column)
        self.contains = any(problem.costs) and problem.definite and not problem.constrained
        self.shares = [ONE] * problem.d
        if self.contains:
            self.priced, self.error = 0, 16 + 16 * up(problem.largest)
            worth = [max(most, 0) for most in problem.most]
            pairs = zip(worth, problem.pi, strict=True)
            self.shares = [min(root(up(x << BITS, x + cost)) + 1, ONE) if cost else ONE for x, cost in pairs]
        self.loss = up(max(self.sigma, default=0) * TOLERANCE)
        # The gain is proved for a fixed u, not for each v.
        need(self.gain == 0 or not problem.constrained, "a majorant has a gain, and the claim directions or a metric")
        if not self.features:
            need(gain == 0 and not any(self.multipliers), "a plain majorant has no gain and no multipliers")
            return
        need(problem.definite, "an attack in response to x needs definiteness")
        scale = frexp(max(map(abs, weights)))[1]
        self.x, self.normals = [fixed(w, scale) for w in weights], problem.directions
        if problem.metric:  # B x; any numbers would do
            bent = (sum(map(mul, self.x, (row[j] for j in self.features))) for row in problem.form)
            self.normals = [[x << scale >> BITS if scale > 0 else x >> BITS - scale for x in bent]]
        self.square = sum(map(mul, self.x, map(self.along, self.features)))
        need(self.square > 0, "x'Ax of a majorant is not positive")
        # An entry of M: f <= stretch and |g|, |h| / stretch <= reach, each but f wrong by at most 2 ulps.
        self.stretch, reach = root(self.factor) + 1, 5 * root(problem.largest) + 5
        weight = up(up(self.stretch * self.stretch) * self.factor)
        self.error += 16 * up(up(weight * (reach + 2 * ONE))) + up(problem.largest)

    def along(self, j):
        """Return (A x)_j times 2^256."""
        return sum(map(mul, self.x, self.problem.entries(j, self.features)))

    def grows(self, length, r):
        """Return whether a column of such a length must be stretched even where |g_j| is at least the budget."""
        return self.gain * (length - r + 2) > (r - 2) << BITS

    def turned(self, j):
        """Return alpha and b of an included feature that takes its chord, None of any other."""
        problem = self.problem
        if not self.features or not self.contains or j in problem.include:
            return None
        along, r = self.along(j), problem.r[j]
        if isqrt((along * along << BITS) // self.square) << 4 >= 15 * r:
            return None
        low = r + root(problem.pi[j])
        return chord(r, problem.pi[j], low, max(root(problem.diagonal[j] + 2) + 1, low))

    def paid(self, inside):
        """Return what included features count in the threshold."""
        chords = map(self.turned, inside)
        return sum(one[1] if one else self.problem.pi[j] for j, one in zip(inside, chords, strict=True))

    def column(self, j, included=False):
        """Return f_j, f_j g_j, h_j and (1 + kappa) h_j, stretched where they must be."""
        problem, along = self.problem, self.along(j)
        one = self.turned(j) if included else None
        if one:
            g = isqrt((along * along << BITS) // self.square) * (1 if along > 0 else -1)
            f = up((root(one[0]) + 1) * self.stretch)
            return f, f * g >> BITS, f * g >> BITS, self.factor * (f * g >> BITS) >> BITS
        r = min(problem.r[j], 4 * root(problem.largest))  # with directions a budget may be longer than the column
        g = isqrt((along * along << BITS) // self.square) * (1 if along > 0 else -1)  # to an ulp
        aim = sum(x * v[j] for x, v in zip(self.multipliers, self.normals, strict=True)) >> BITS
        size, f, h = abs(g - aim), ONE, aim
        length = root(problem.diagonal[j]) + 1
        # Any smaller budget may be taken: |g| where it is all but r, or a tie decides whether the column grows.
        if self.gain > ONE >> 18 and size > r - (r >> 40) and not self.grows(length, size):
            r = min(r, size)
        strong = size + 1 > r
        if strong:  # a budget of min(r, |g - aim|), so that h is at most an ulp away from its true value
            h += max(size - r, 0) * (1 if g > aim else -1)
        else:
            outside = (problem.diagonal[j] << BITS) - g * g
            part = isqrt((r * r - (size + 1) ** 2 << 2 * BITS) // outside) if outside > 0 else ONE
            f = ONE - min(part, ONE)
        if not strong or self.grows(length, r):
            f, h = up(f * self.stretch), h * self.stretch >> BITS
        if not included:
            f, h = up(f * self.shares[j]), h * self.shares[j] >> BITS
        return f, f * g >> BITS, h, self.factor * h >> BITS

    def block(self, node):
        """Return the lower triangle of M on the features of a node."""
        order = node.inside + node.free
        rows = [self.problem.entries(i, order[: a + 1]) for a, i in enumerate(order)]
        if self.features:
            columns = [self.column(j, a < len(node.inside)) for a, j in enumerate(order)]
            for a, (f, fg, _, long) in enumerate(columns):
                pairs = zip(rows[a], columns[: a + 1], strict=True)
                rows[a] = [x * (f * e >> BITS) - fg * eg + long * h >> BITS for x, (e, eg, h, _) in pairs]
        elif self.contains:
            c = [ONE] * len(node.inside) + [self.shares[j] for j in node.free]
            for a, row in enumerate(rows):
                rows[a] = [x * (c[a] * e >> BITS) >> BITS for x, e in zip(row, c, strict=False)]
        return self.problem.less_penalty(rows, self.sigma, order)


class Chords:
    """M_ij = c_i c_j A_ij, in a small claim: there (|a_j'u| - r_j)^2 - pi_j <= c_j^2 (a_j'u)^2 + beta, beta < 0.

    A choice has at least `size` features, so lambda_max(M_SS) > T - size beta if it is worth more than T.
    """

    factor, priced = ONE, 0  # M contains the costs

    def paid(self, inside):
        """Return what included features count in the threshold."""
        return 0

    def __init__(self, problem, number):
        need(problem.graph, "chords outside a small claim")
        beta = fixed(problem.get["majorant_chord"][number])
        self.problem, self.scales = problem, problem.graph.chords(-beta)
        self.loss = problem.graph.size * beta
        self.error = 4 * up(up(max(self.scales) ** 2)) + up(problem.largest) + 8

    def block(self, node):
        """Return the lower triangle of M on the features of a node."""
        order, c = node.inside + node.free, self.scales
        pairs = [(i, order[: a + 1]) for a, i in enumerate(order)]
        return [
            [x * (c[i] * c[j] >> BITS) >> BITS for j, x in zip(js, self.problem.entries(i, js), strict=True)]
            for i, js in pairs
        ]


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

    def __init__(self, problem, number, near=None, factor=()):
        """Prove line `number` about a matrix, given as the one of the problem is (see `near`).

        With rows of a factor L only v'Bv <= c + |L'v|^2 is proved.
        """
        line = {name: values[number] for name, values in problem.get.items() if name.startswith("line_")}
        gram, weights = near or problem.near(line["line_features"])
        features, self.form, self.in_t = line["line_features"], line["line_form"] & 3, line["line_counts"]
        self.c, self.plain, self.weighted = (fixed(line[f"line_{name}"]) for name in ("c", "plain", "weighted"))
        loads, lifts, alpha, sigma = ([*map(fixed, line[f"line_{x}"])] for x in ("loads", "lifts", "dues", "deflation"))
        lifts = [q + (x > 0) for q, x in zip(lifts, line["line_lifts"], strict=True)]  # none that is there becomes 0
        need(all(q or not load for load, q in zip(loads, lifts, strict=True)), "a line has a load without a lift")
        tau = (up(load * load, 4 * q) if load else 0 for load, q in zip(loads, lifts, strict=True))
        signs, self.tau = line["line_signs"] or [0] * len(features), dict(zip(features, tau, strict=True))
        self.alpha = dict(zip(features, alpha or [0] * len(features), strict=True))
        self.signs = [(j, sign) for j, sign in zip(features, signs, strict=True) if sign]
        gram = problem.less_penalty(gram, sigma, features)
        if alpha:
            gram = self.less_dues(gram, alpha, line["line_pulls"])
        steps = iter(line["line_free"] or line["line_steps"])
        self.lower = self.difference(gram, loads, lifts, weights, signs, steps)
        for i, x in enumerate(factor):
            self.lower[i] = [a + (sum(map(mul, x, y)) >> BITS) for a, y in zip(self.lower[i], factor, strict=False)]
        error = 4  # of the penalty, of dues, of LL', and of N if it is one of MATRIX
        if problem.metric and not near:  # c B in the place of c I
            need(not alpha, "a line has dues in a metric")
            for a, i in enumerate(features):
                own = [self.c * problem.form[i][j] >> BITS for j in features[: a + 1]]
                self.lower[a] = [*map(add, self.lower[a], own)]
                self.lower[a][a] -= self.c
            error += up(abs(self.c)) + 1
        complement(self.lower, len(self.lower), error)
        self.c += up(max(sigma, default=0) * TOLERANCE)

    @staticmethod
    def less_dues(gram, alpha, pulls):
        """Return G' of G."""
        b, less = len(alpha), []
        y = [[fixed(x) for x in pulls[i * b : (i + 1) * b]] for i in range(b)]
        need(not any(y[i][i] for i in range(b)), "a line has a pull of a feature on itself")
        for i, row in enumerate(gram):
            less.append([g - (alpha[i] * y[i][j] + alpha[j] * y[j][i] >> BITS) for j, g in enumerate(row)])
            less[i][i] -= alpha[i] * (ONE * ONE - sum(map(mul, y[i], y[i]))) >> 2 * BITS
        return less

    def difference(self, gram, loads, lifts, weights, signs, steps):
        """Return c I - B, with boxes rounded down; `plain` becomes what it must be for B to be within its box."""
        counts = weights if self.in_t else [ONE] * len(weights)
        result, excess = [[] for _ in gram], 0
        for j, (load, count, weight) in enumerate(zip(loads, counts, weights, strict=True)):
            weighted = self.weighted * weight >> BITS
            taken = self.plain + (weighted * weight >> BITS) + (load * count >> BITS)
            result[j].append(self.c - gram[j][j] - lifts[j] + taken)
            for i in range(j + 1, len(gram)):
                g, sign = gram[i][j], signs[i] * signs[j]
                box = self.plain + (weighted * weights[i] >> BITS) + (load * counts[i] + loads[i] * count >> BITS + 1)
                if self.form == THRESHOLD:
                    step = -min(max(g, -box), box) if box > 0 else 0
                elif self.form == BOX:
                    step = max(box, 0) * next(steps)
                    step = step // 32767 if step >= 0 else -(-step // 32767)
                else:
                    step = fixed(next(steps))
                excess = max(excess, (-sign * step if sign else abs(step)) - box, -box)
                result[i].append(-g - step)
        self.plain += excess
        return result


# Attacks on samples. A row x of X is in units of 2^exponent, in fixed point: cut off below 2^-128, so off by an ulp at
# most. For a node (I, F, p) let N(e)^2 be |e_I|^2 and the p largest squares of e_F: N(e) is the largest e'v over unit
# vectors v of the node. A row with N(x) <= rho contributes nothing; for the rows of the root this is decided exactly.


def norm_square(squares, inside, places):
    """Return N^2 of the squares of a vector, where the first so many features are those of I."""
    return sum(squares[:inside]) + largest_sum(squares[inside:], places)


class SampleProblem(Problem):
    """Rows of X that can contribute, their budgets, and what follows from them."""

    on_samples, definite, plain = True, True, False  # contributions of features do not add up

    def __init__(self, values, certificate):
        super().__init__(certificate)
        d, order = self.d, self.include + [j for j in self.allowed if j not in set(self.include)]
        inside, live = len(self.include), []
        for i, rho in enumerate(certificate.rho):
            x, s = integers([values[i * d + j] for j in order])
            square = norm_square([a * a for a in x], inside, self.k - inside)
            if isfinite(rho) and Fraction(square, 4**s) > Fraction(rho) ** 2:
                live.append(i)
        e = self.header["exponent"]
        self.rows = {i: [fixed(a, e) for a in values[i * d : i * d + d]] for i in live}
        self.rho = {i: fixed(certificate.rho[i], e) for i in live}
        self.reach = max((abs(a) for row in self.rows.values() for a in row), default=0) + 1
        columns = (integers([values[i * d + j] for i in live]) for j in range(d))
        self.squares = [Fraction(sum(map(mul, x, x)), self.n * 4**s) for x, s in columns]
        self.diagonal = [fixed(square / self.unit) + 1 for square in self.squares]
        self.largest_variance = max(self.diagonal)
        self.most = self.contributions()
        self.top = max(self.rho.values(), default=0)
        self.w = {i: (rho << BITS) // self.top if self.top else ONE for i, rho in self.rho.items()}

    def contributions(self):
        """Return at least what leaving each feature out takes off a value, above 0 only if it really does."""
        return [-fixed((cost - square) / self.unit) for square, cost in zip(self.squares, self.costs, strict=True)]

    def counting(self, order, inside, places):
        """Return the rows that can contribute in a node, with at least N of each; the features of I come first."""
        found = {}
        for i, row in self.rows.items():
            found[i] = isqrt(norm_square([(abs(row[j]) + 1) ** 2 for j in order], inside, places)) + 1
        return {i: norm for i, norm in found.items() if norm > self.rho[i]}

    def lengths(self, node):
        """Return at least the value of any choice, by samples or by features.

        It is at most sum (N(x_i) - rho_i)_+^2 / n less the costs of I. With a_j = |x_j|^2 / n, a their sum over the
        choice and A the largest such sum, it is also at most (sqrt(a) - r)_+^2 <= (1 - r / sqrt(A))_+^2 a less costs.
        """
        norms = self.counting(node.inside + node.free, len(node.inside), node.most)
        total = sum((norm - self.rho[i]) ** 2 for i, norm in norms.items())
        a = self.diagonal
        reach = sum(a[j] for j in node.inside) + largest_sum([a[j] for j in node.free], node.most)
        whole = root(reach * self.n) + 1
        left = max(ONE - (min(self.rho.values(), default=whole) << BITS) // whole, 0)
        each = {j: up(left * left * a[j], ONE * ONE) - self.pi[j] for j in [*node.inside, *node.free]}
        most = sum(each[j] for j in node.inside)
        most += largest_sum([max(each[j], 0) for j in node.free], node.most)
        return min(up(total, ONE * self.n) - node.paid, most)

    def attained(self, features, w):
        """Return at most sum (|x_i'w| - rho_i)_+^2 / n for a vector w divided by its length."""
        length, total = isqrt(sum(map(mul, w, w)) << 2 * BITS) + 1, 0
        for i, row in self.rows.items():
            score = abs(sum(row[j] * x for j, x in zip(features, w, strict=True))) - sum(map(abs, w))
            total += max((score << BITS) // length - self.rho[i] - 2, 0) ** 2
        return Fraction(total) / (ONE * ONE * self.n)

    def near(self, samples):
        """Return what a line is near to, zero, and the weights in t."""
        need(all(i in self.rows for i in samples), "a line speaks of a sample that contributes nothing")
        return [[0] * (a + 1) for a in range(len(samples))], [self.w[i] for i in samples]


class SampleMajorant:
    """M = sum_i om_i y_i y_i' / n + kappa (T + pi_I) v0 v0' for rows y_i = x_i + e_i, N(e_i) <= rho_i, and t as ever.

    For unit v of the node, f_i = (|x_i'v| - rho_i)_+^2 <= (y_i'v)^2. A row of R has e_i = -+rho_i v0: with c = v0'v
    then (y_i'v)^2 >= f_i + (1 - c^2) (rho_i / z_i) f_i, z_i = N(x_i) - rho_i. With om_i = 1 + (kappa - rho_i / z_i)_+
    on R and 1 + kappa elsewhere, sum om_i (y_i'v)^2 + kappa c^2 n L >= (1 + kappa) n L where sum f_i >= n L.
    """

    priced, loss = ONE, 0  # costs count once

    def paid(self, inside):
        """Return what included features count in the threshold."""
        return sum(self.problem.pi[j] for j in inside)

    def __init__(self, problem, number):
        self.problem, get = problem, problem.get
        self.gain, self.spread = fixed(get["majorant_gain"][number]), fixed(get["attack_spread"][number])
        self.factor, self.places = ONE + self.gain, get["attack_places"][number]
        self.inside, free = get["attack_columns"][2 * number : 2 * number + 2]
        columns, first = self.inside + free, len(self.inside)
        self.at = {j: a for a, j in enumerate(columns)}
        need(len(self.at) == len(columns) > 0 and self.places <= problem.k, "its node has a feature twice, or none")
        features, weights = get["majorant_features"][number], get["majorant_weights"][number]
        need(features or not self.gain, "a gain without a vector")
        entries, c = [*map(fixed, get["attack_moves"][number])], len(columns)
        moves = {i: entries[a * c : a * c + c] for a, i in enumerate(get["attack_samples"][number])}
        known = all(j in self.at for j in features) and (any(weights) or not features)
        need(known, "its vector is 0, or not one of its node")
        scale, self.v = frexp(max(map(abs, weights), default=1.0))[1], [0] * c
        x = [fixed(w, scale) for w in weights]
        length = isqrt(sum(map(mul, x, x))) + c + 2  # entries of v are at most an ulp too large: |v| <= 1
        for j, weight in zip(features, x, strict=True):
            self.v[self.at[j]] = (weight << BITS) // length
        need(sum(a != 0 for a in self.v[first:]) <= self.places, "its vector is not one of its node")
        left, right = [], []
        for i, norm in problem.counting(columns, first, self.places).items():
            rho, x = problem.rho[i], [problem.rows[i][j] for j in columns]
            need(features or i in moves, f"sample {i} has no move")
            move, strong = self.response(x, rho) if features else (moves[i], False)
            fits = strong or norm_square([e * e for e in move], first, self.places) <= rho * rho
            need(fits, f"sample {i} is moved by more than its budget")
            weight = ONE + max(self.gain - (rho << BITS) // (norm - rho), 0) if strong else self.factor
            right.append([a + e for a, e in zip(x, move, strict=True)])
            left.append([weight * a >> BITS for a in right[-1]])
        left, right = ([*zip(*rows, strict=True)] or [()] * c for rows in (left, right))
        self.gram = [[(sum(map(mul, x, y)) >> BITS) // problem.n for y in right[: a + 1]] for a, x in enumerate(left)]
        # y is off by an ulp, its product with the weight by another and the weight, the sum of n of them by both.
        self.error = 8 + 8 * up(up((2 * problem.reach + problem.top + ONE) * (self.factor + ONE)))

    def response(self, x, rho):
        """Return a move within the budget, as docs/certificate-format.md has it, and whether it is one of R."""
        v, first, p = self.v, len(self.inside), self.places
        low = max(rho - 64 * (len(x) + 4), 0)
        score = sum(map(mul, x, v)) >> BITS
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

    def block(self, node):
        """Return the lower triangle of M on the features of a node, which must be part of the attack's own."""
        order = node.inside + node.free
        need(all(j in self.at for j in order), "a feature that its attack does not know")
        need(set(self.inside) <= set(node.inside), "its attack is about another node")
        need(len(node.inside) - len(self.inside) + node.most <= self.places, "its attack has fewer places")
        level, rows = self.gain * (node.target + node.paid) >> BITS, []
        for a, i in enumerate(self.at[j] for j in order):
            along, places = level * self.v[i] >> BITS, [self.at[j] for j in order[: a + 1]]
            rows.append([self.gram[max(i, b)][min(i, b)] + (along * self.v[b] >> BITS) for b in places])
        return rows


# The rules of leaves. Each takes the node and the number of its record.


def eliminate(node, number):
    """Return C, the Schur complement of P = tI - M + diag_F(pi) on F, with a majorant M of this number.

    A choice S of the node worth more than T has lambda_max((M - diag_F(pi))_SS) > t = (1 + kappa) (T + pi_I). There is
    none if P_SS is positive semidefinite: if P_II is positive definite and C_QQ is positive semidefinite for all
    Q = S without I. (Against attacks on features, costs count 1 + kappa times.)
    """
    problem, order, chords = node.problem, node.inside + node.free, node.problem.get["majorant_chord"]
    kind = Chords if chords and chords[number] else Majorant
    majorant = problem.once(SampleMajorant if problem.on_samples else kind, number)
    level, first = node.target + majorant.paid(node.inside), len(node.inside)
    need(level > 0 or problem.directions, "T and the costs of I are not positive")
    t = (majorant.factor * level >> BITS) - majorant.loss
    lower = [[-x for x in row] for row in majorant.block(node)]
    for a, j in enumerate(order):
        lower[a][a] += (majorant.priced * problem.pi[j] >> BITS) * (a >= first) + (0 if problem.metric else t)
        if problem.metric:
            lower[a] = [*map(add, lower[a], (t * problem.form[j][i] >> BITS for i in order[: a + 1]))]
    return complement(lower, first, majorant.error + 5 + (up(abs(t)) if problem.metric else 0))


def check_lengths(node, _):
    """LENGTHS. A feature contributes at most most_j; those of F that contribute less than nothing can be left out."""
    need(node.problem.definite, "lengths need definiteness")
    need(node.problem.lengths(node) <= node.bound, "its lengths add up to more than T")


def check_dominance(node, record):
    """DOMINANCE. C_QQ is positive semidefinite for Q of p features, shown by a scaling."""
    get = node.problem.get
    if get["dominance_threshold"][record] > 0:
        node.target = fixed(get["dominance_threshold"][record])
        need(node.target <= node.bound, "its threshold is above T")
    lower = eliminate(node, get["dominance_majorant"][record])
    dominant(node, lower, get["dominance_scaling"][record])


def dominant(node, lower, scaling):
    """Show, with d_j > 0, that C_ii d_i >= sum_{j in Q, j != i} |C_ij| d_j for i in Q, by a scaling or by ones.

    For Q of p features or fewer it is enough to compare with the p - 1 largest terms of each row (Gershgorin).
    """
    need(all(row[-1] >= (node.most > 1) for row in lower), "C has a diagonal that is not positive")
    if node.most < 2:
        return
    get, z = node.problem.get, {}
    if scaling:
        z = dict(zip(get["scaling_features"][scaling - 1], get["scaling_values"][scaling - 1], strict=True))
    d = [fixed(z.get(j, 1.0), -BITS) // root(row[-1]) + 1 for j, row in zip(node.free, lower, strict=True)]
    for i, row in enumerate(lower):
        whole = [abs(c) for c in row[:-1]] + [0] + [abs(other[i]) for other in lower[i + 1 :]]
        others = largest_sum(map(mul, whole, d), node.most - 1)
        need(others <= row[-1] * d[i], f"the row of feature {node.free[i]} is not dominant")


def check_matrix(node, record):
    """MATRIX. N = D C D, D about C_ii^(-1/2), has v'Nv >= 0 for all v of m features: C_QQ is positive semidefinite.

    A line about G = -N says v'Gv <= c + sigma s, and 1 <= s <= m for unit v of m features; c + m max(sigma, 0) <= 0.
    """
    problem, get = node.problem, node.problem.get
    lower, number = eliminate(node, get["matrix_majorant"][record]), get["matrix_line"][record]
    if not node.free:
        return
    need(list(get["line_features"][number]) == node.free, "its line is not about the features of F")
    in_t = get["line_counts"][number] or get["line_weighted"][number]
    need(get["line_form"][number] in (THRESHOLD, BOX) and not in_t, "its line is FREE, or counts in t, or has dues")
    need(not any(get["line_deflation"][number]), "its line has multipliers of directions")
    need(all(row[-1] > 0 for row in lower), "C has a diagonal that is not positive")
    scale = [isqrt((1 << 3 * BITS) // row[-1]) for row in lower]
    for i, row in enumerate(lower):
        lower[i] = [-(c * scale[i] * other >> 2 * BITS) for c, other in zip(row, scale[: i + 1], strict=True)]
    line = Line(problem, number, (lower, [ONE] * len(lower)))
    sigma = line.plain + largest_sum(line.tau.values(), node.most)
    need(line.c + node.most * max(sigma, 0) <= 0, f"c + {node.most} sigma of its line is positive")


def check_envelope(node, record):
    """ENVELOPE. The variance lies below lines, and these below what a choice worth more than T must have.

    Of samples: the root of n times the value is the largest |X_S'u| - sum rho_i |u_i| over unit u. A line about the
    zero matrix has R in the place of B. Where [[cI - R, X_S], [X_S', I]] is positive semidefinite, u'X_S X_S'u + u'Ru
    <= c, so |X_S'u|^2 is below the line, and the adversary takes rho sqrt(t).
    """
    problem, get, order = node.problem, node.problem.get, node.inside + node.free
    numbers = get["envelope_lines"][record]
    lines = [problem.once(Line, number) for number in numbers]
    if not problem.on_samples:
        need(node.bound + node.paid >= 0, "T and the costs of I are below 0")
        for line in lines:
            need(all(j in line.tau for j in order), "a line does not speak of all features of the node")
            need(all(node.signs.get(j) == sign for j, sign in line.signs), "a line has signs that the node has not")
        strung_together(problem, lines, node.bound, node.inside, node.free, node.most, problem.pi)
        return
    need(not any(problem.pi[j] for j in node.free), "features that cost something are undecided")
    rows = problem.counting(order, len(node.inside), node.most)
    need(node.bound + node.paid >= (len(rows) > 0), "T is too small")
    for number, line, scaling in zip(numbers, lines, get["envelope_scalings"][record], strict=True):
        samples = get["line_features"][number]
        need(set(rows) <= set(samples), "a line does not speak of all samples")
        need(not line.signs, "a line has signs of samples")
        lower = line.lower + [[problem.rows[i][j] for i in samples] + [0] * a + [ONE] for a, j in enumerate(order)]
        dominant(node, complement(lower, len(samples) + len(node.inside), 4), scaling)
    if rows:
        strung_together(problem, lines, (node.bound + node.paid) * problem.n, list(rows))


def strung_together(problem, lines, bound, inside, free=(), most=0, costs=()):
    """Show that at every t one of the lines closes a node.

    That is, below h(x) = (sqrt(T + x) + r sqrt(t))^2 with the costs x of the choice. Lines are linear in s and in t, h
    is concave in t and in x: the ends of s, the ends of pieces of t and chords of h are enough. The set of t where a
    line closes the node is an interval (convex - concave <= 0), so intervals are strung together.
    """
    squares = [[problem.w[j] ** 2 for j in features] for features in (inside, free)]
    t = start = min(squares[0] + squares[1]) >> BITS
    longest, least = len(inside) + most << BITS, ONE
    if problem.metric:  # (sum n |v|)^2 <= sum n^2 / b, and v'Bv is at most its largest entry times s
        spread = [[ONE * ONE // problem.below[j] + 1 for j in features] for features in (inside, free)]
        longest, least = sum(spread[0]) + largest_sum(spread[1], most), ONE * ONE // problem.widest
        t = start = start * least >> BITS
        squares = [[up(x * y) for x, y in zip(*both, strict=True)] for both in zip(squares, spread, strict=True)]
    end = up(sum(squares[0]) + largest_sum(squares[1], most))
    paid, rest = sum(costs[j] for j in inside if costs), largest_sum([costs[j] for j in free], most)

    def closes(line, t):
        """Show for one t, both ends of s and every Q: Y + sum_Q g <= h(pi_I + sum_Q pi). All is times 2^256."""
        pieces = 16 if rest and problem.top else 1
        cuts = [paid + rest * i // pieces for i in range(pieces + 1)]
        square = problem.top**2 * t
        h = [(bound + x << BITS) + (square >> BITS) + 2 * isqrt(square * (bound + x)) for x in cuts]
        for s in (longest, least) if line.plain < 0 else (longest,):
            count = t if line.in_t else s
            g = {j: line.tau[j] * count + (line.alpha[j] << BITS) for j in chain(inside, free)}
            y = (line.c << BITS) + line.plain * s + line.weighted * t + sum(g[j] for j in inside)
            for (x, high), (after, higher) in pairwise(zip(cuts, h, strict=True)):
                slope = (higher - high) // (after - x) if after > x else 0
                gains = largest_sum([max(g[j] - slope * costs[j], 0) for j in free], most)
                if y + gains > high - slope * (x - paid):
                    return False
        return True

    while True:
        reaching = [line for line in lines if closes(line, t)]
        need(reaching, f"no line closes it at t = {t / ONE:.9g}")
        if any(closes(line, end) for line in reaching):
            return
        before = t
        for line in reaching:
            low, high = before, end
            while high - low > (end - start >> 64) + 1:
                middle = low + high >> 1
                low, high = (middle, high) if closes(line, middle) else (low, middle)
            t = max(t, low)
        need(t > before, f"no line closes it beyond t = {t / ONE:.9g}")


# Levels by conflicts: which features can lie in one choice above T at all, and small claims that cover their graph.


class Demands:
    """What a choice of at most q features worth more than T demands of them, where fewer are worth at most `below`.

    For one unit u, any e of its q places contribute more than due_e = T - below[q - e] together; what contributes
    nothing is left out. So there are at least `size` features, each with |a_j'u| > m_j = r_j + sqrt(due_1 + pi_j), and
    any two contribute more than due_2. On [m_j, L_j], L_j >= |a_j|, a contribution (s - r_j)^2 - pi_j is convex in s^2
    and lies below its chord alpha_j s^2 - b_j.
    """

    def __init__(self, problem, T, below, q):
        plain = problem.plain and not problem.metric
        need(plain, "conflicts need columns, no demanded feature, no directions and no metric")
        due = [T - below[q - e] for e in range(q + 1)]
        self.size = q - max((e for e in range(1, q + 1) if due[e] < 0), default=0)
        need(q > 1 and self.size > 1 and T > 0, "a single feature may be enough for a choice")
        one, two, self.of = max(due[1], 0), due[2], {}
        best = max((problem.most[j] for j in problem.allowed), default=0)
        for j in problem.allowed:
            if problem.most[j] > one and problem.most[j] + best > two:
                r, cost = problem.r[j], problem.pi[j]
                m = r + root(one + cost)
                length = max(root(problem.diagonal[j] + 2) + 1, m)
                slope, back = chord(r, cost, m, length)
                short = two + back - up(slope * length * length, ONE * ONE)
                self.of[j] = m, isqrt(length * length - m * m) + 1, slope, back, short, r, cost, length

    def fit(self, i, j, product):
        """Return whether i and j may lie in one choice; the product of their columns is known to an ulp."""
        m, rest, slope, back, short, *_ = self.of[i]
        n, other, steep, far, scant, *_ = self.of[j]
        size, x, y = abs(product) + 1, short + far, scant + back
        if size << BITS < m * n - rest * other:
            return False
        return not (x > 0 and y > 0 and size * size * slope * steep < x * y << 2 * BITS)


def check_cover(problem, level, demands):
    """Prove that the first feature of each clique, in the level's order, has all others in its claim.

    A feature without a claim has too few later neighbours. No pair leads from a component to a later feature.
    """
    place, claims, later = [j - problem.d for j in range(problem.d)], {}, [0] * problem.d
    need(len(set(level.order)) == len(level.order), "a feature is twice in the order")
    for number, j in enumerate(level.order):
        place[j] = number
    for claim in level.claims:
        claim.all = set(claim.members)
        need(len(claim.all) == len(claim.members), "a claim has a feature twice")
        for j in claim.members[:1] if claim.rooted else claim.members:
            need(j not in claims, "two claims take the same feature out")
            claims[j] = claim
    for pair in combinations(demands.of, 2):
        first, last = sorted(pair, key=place.__getitem__)
        claim = claims.get(first)
        if (claim and last in claim.all) or not demands.fit(*pair, problem.entries(*pair[:1], pair[1:])[0]):
            continue
        need(not claim, f"features {first} and {last} may lie in one choice, and no claim covers them")
        later[first] += 1
        need(later[first] < demands.size - 1, f"feature {first} has enough neighbours, and no claim")


class Part(ColumnProblem):
    """The problem with the features of a claim alone, numbered by their places, and which of them fit together."""

    def __init__(self, problem, members):
        vars(self).update(vars(problem))
        self.whole, self.members, self.d = problem, members, len(members)
        self.diagonal, self.pi, self.costs, self.r, self.most = (
            [given[j] for j in members]
            for given in (problem.diagonal, problem.pi, problem.costs, problem.r, problem.most)
        )
        self.top = max(self.r)
        self.w = [(r << BITS) // self.top for r in self.r] if self.top else [ONE] * self.d
        self.once, self.graph = lru_cache(200)(lambda make, number: make(self, number)), None

    def entries(self, i, columns):
        """Return some entries of row i."""
        need(max(i, *columns, 0) < self.d, "a feature that the claim does not have")
        return self.whole.entries(self.members[i], [self.members[j] for j in columns])


class Graph:
    """The demands on the features of a claim, by their places, and which pairs fit; if rooted, to the root."""

    def __init__(self, demands, part, rooted):
        self.size = demands.size
        self.of = {place: demands.of[j] for place, j in enumerate(part.members) if j in demands.of}
        self.near = [set() for _ in part.members]
        for i, j in combinations(self.of, 2):
            if demands.fit(part.members[i], part.members[j], part.entries(i, [j])[0]):
                self.near[i].add(j)
                self.near[j].add(i)
        if rooted:  # what does not fit to the root is in no choice
            known = self.near[0] | {0}
            self.near = [near & known if i in known else set() for i, near in enumerate(self.near)]

    def chords(self, beta):
        """Return c_j with (s - r_j)^2 - pi_j <= c_j^2 s^2 - beta on [m_j, L_j]; it is enough at both ends."""
        scales = [0] * len(self.near)  # what does not fit is in no choice
        for j, (m, *_, r, cost, length) in self.of.items():
            need(m > 0, "a chord needs a floor above 0")
            slopes = [up((up((end - r) ** 2) - cost + beta) << 2 * BITS, end * end) for end in (m, length)]
            scales[j] = root(max(*slopes, 0)) + 1
        return scales


def check_claim(problem, claim, demands):
    """Prove a small claim: features that it drops have too few neighbours before them, and its tree is closed."""
    part = Part(problem, claim.members)
    graph = part.graph = Graph(demands, part, claim.rooted)
    for i in range(claim.kept, len(claim.members)):
        need(sum(j < i for j in graph.near[i]) < graph.size - 1, "a claim drops a feature with enough neighbours")
    free = [j for j in claim.features if j not in claim.inside and graph.near[j].issuperset(claim.inside)]
    few = len(claim.inside) + min(claim.size - len(claim.inside), len(free)) < graph.size
    need(claim.nodes or few, "a claim has no nodes")
    for _ in walk(part, claim, part):
        pass


CHECKS = {LENGTHS: check_lengths, DOMINANCE: check_dominance, MATRIX: check_matrix, ENVELOPE: check_envelope}


class Node:
    """The choices with I in S, S in I and F, at most p features of F, and signs of v."""

    def __init__(self, problem, level, inside, outside, signs, bound, target):
        self.problem, self.inside, self.signs, self.bound, self.target = problem, list(inside), signs, bound, target
        p, decided = level.size - len(inside), {*inside, *outside}
        self.free = [j for j in level.features if j not in decided] if p > 0 else []
        graph = problem and problem.graph
        if graph:  # all features of a choice fit together, and there are at least so many of them
            self.free = [j for j in self.free if graph.near[j].issuperset(inside)]
        self.most = min(p, len(self.free))
        self.empty = bool(graph) and len(inside) + self.most < graph.size
        self.paid = sum(problem.pi[j] for j in inside) if problem else 0

    def check(self, rule, item):
        """Prove what a leaf says; a node without features has no unit vector."""
        all_of_it = self.most == len(self.free) and not any(self.problem.pi[j] for j in self.free)
        if all_of_it and self.problem.on_samples:
            self.inside, self.free, self.most = self.inside + self.free, [], 0
        if self.inside + self.free:
            CHECKS[rule](self, item)


def walk(certificate, level, problem=None):
    """Yield the nodes of a level's tree in preorder: depth, how it was reached, rule and item; prove leaves."""
    get, names = certificate.get, list(RULES)
    todo = [(0, "", level.inside, (), {}, False, level.bound, level.target)] if level.nodes else []
    for number, (rule, item) in enumerate(level.nodes):
        try:
            need(todo, "the tree is closed before it")
            depth, how, inside, outside, signs, empty, *bounds = todo.pop()
            node = Node(problem, level, inside, outside, signs, *bounds)
            if rule == FEATURE:
                # In a claim a feature that does not fit to those included is in no choice.
                known = level.is_claim and item < len(level.members) and item not in inside
                need(item in node.free or known, "its feature is not open")
                none = empty or item not in node.free
                todo.append((depth + 1, f"without {item}, ", inside, (*outside, item), signs, empty, *bounds))
                todo.append((depth + 1, f"with {item}, ", (*inside, item), outside, signs, none, *bounds))
            elif rule == SIGN:
                need(item in node.inside + node.free and item not in signs, "its feature is not open")
                if signs:  # else v and -v have the same value
                    todo.append((depth + 1, f"v_{item} <= 0, ", inside, outside, signs | {item: -1}, empty, *bounds))
                todo.append((depth + 1, f"v_{item} >= 0, ", inside, outside, signs | {item: 1}, empty, *bounds))
            else:
                need(item < (1 if rule == LENGTHS else len(get[RECORDS[rule]])), "there is no such record")
                if rule in (LISTED, BEYOND):
                    need(level.is_list, "only a list has such a rule")
                    support, reach = set(get["list_features"][item]), {*inside, *node.free}
                if rule == LISTED:  # all choices of the node are part of a support
                    need(support >= reach, "the node has features that the support has not")
                    decided = not reach or (not node.free and support == reach) or not any(certificate.costs)
                    need(decided, "with costs a part may be worth more")
                elif rule == BEYOND:
                    need(support.issubset(inside), "not all choices of the node contain the support")
                    beyond = max(fixed(get["list_beyond"][item]), level.bound)
                    todo.append((depth + 1, "", inside, outside, signs, empty, beyond, beyond))
                elif problem and not (empty or node.empty):
                    node.check(rule, item)
        except Reject as reason:
            raise Reject(f"node {number}, {names[rule]} {item}: {reason}") from None
        yield depth, how, rule, item
    need(not todo, "its tree has open nodes")


def check_levels(problem, levels):
    """Prove levels of rising size, each from those before it."""
    sizes = [0, *(level.size for level in levels)]
    need(levels and all(a < b for a, b in pairwise(sizes)), "level_size is empty or not ascending")
    need(min(problem.k, len(problem.allowed)) <= sizes[-1] <= problem.k, "the last level is not of k features")
    alone = "with demanded features or directions, or without definiteness: one level only"
    need(len(levels) == 1 or problem.plain, alone)
    most = sorted((max(problem.most[j], 0) for j in problem.allowed), reverse=True)
    sums = list(accumulate(most, initial=0))
    # below[q] bounds the choices of q features. Without its least feature one worth V is worth (q - 1) / q of V.
    below = [0]
    for number, level in enumerate(levels):
        for q in range(len(below), level.size + 1 if problem.plain else 0):
            below.append(min(sums[min(q, len(most))], up(q * below[-1], q - 1) if q > 1 else sums[-1]))
        try:
            check_level(problem, level, below)
        except Reject as reason:
            raise Reject(f"level {number}, of {level.size} features: {reason}") from None
        below[-1] = min(below[-1], max(level.bound, 0))
    need(problem.include or levels[-1].bound >= 0, "the last level's bound is below 0, the value of no features")


def check_level(problem, level, below):
    """Prove a level: the features that it leaves out contribute too little, and its tree is closed; or its claims."""
    if level.claims is not None:
        demands = Demands(problem, level.target, below, level.size)
        check_cover(problem, level, demands)
        for number, claim in enumerate(level.claims):
            try:
                check_claim(problem, claim, demands)
            except Reject as reason:
                raise Reject(f"claim {number}: {reason}") from None
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
    known = problem.plain and below[-1] <= level.bound
    need(level.nodes or known, "it has no nodes, and what is known before is not enough")
    for _ in walk(problem, level, problem):
        pass


# Several choices. Let no feature be in two of them, let slot t have at most k_t, and let q_j >= pi_j be any charges.
# All together are worth at most sum_j (q_j - pi_j) + sum_t max(0, z_t), if no choice that slot t may have is worth more
# than z_t with costs of at most q: prices are paid once. A tree gives features to one slot after the other.


def fan(problem, number, slots):
    """Return what a line says of all choices together, and of those that use a feature.

    Unit vectors that share no feature are orthogonal: sum v'Bv <= r c + |L|^2. A feature is in one of them, all have at
    most K: sum_t v'Av is at most that and (plain + weighted) K, and the K largest tau k + alpha - pi. Who uses j pays
    for it, and for one less of the others.
    """
    get, places = problem.get, sum(slots)
    need(not problem.on_samples and not problem.top, "no line is about all choices where there are budgets")
    line_number, rank, flat = (get[x][number] for x in ("fan_line", "fan_rank", "fan_factors"))
    features = get["line_features"][line_number]
    others = {*problem.allowed} - {*features}
    fits = not others or (problem.definite and all(problem.most[j] <= 0 for j in others))
    need(features and fits, f"line {line_number} leaves out a feature that counts")
    L = [[*map(fixed, flat[i : i + rank])] for i in range(0, len(flat), rank)] if rank else [[] for _ in features]
    line = Line(problem, line_number, None, L)
    need(line.c >= 0 and not line.signs, f"line {line_number} has signs, or a constant below 0")
    adds = {j: line.tau[j] * max(slots) + line.alpha[j] - problem.pi[j] for j in features}
    falling = sorted((max(x, 0) for x in adds.values()), reverse=True)
    most = len(slots) * line.c + up(sum(sum(map(mul, x, x)) for x in L)) + sum(falling[:places])
    most += max(line.plain + line.weighted, 0) * places
    last = falling[places - 1] if places <= len(falling) else 0
    return most, {j: most + min(x - last, 0) for j, x in adds.items()}


def check_packing(problem, certificate, bound):
    """Prove that no choices for all slots, none of which share a feature, are worth more than the bound together."""
    get, costs, unit = certificate.get, certificate.costs, problem.unit
    slots, leaves, d = list(get["slots"]), iter(get["owner_claims"]), certificate.d
    need(slots and max(slots) == certificate.k, "the largest slot has not k features")
    fits = not (problem.include or problem.directions or problem.metric)
    need(fits, "no theorem is about several choices of such a problem")
    root = [None if j in problem.allowed else -1 for j in range(d)]
    for number in range(len(get["fan_line"])):
        most, using = fan(problem, number, slots)
        if Fraction(most, ONE) * unit <= bound:
            return
        for j, x in using.items():
            root[j] = -1 if Fraction(x, ONE) * unit <= bound else root[j]  # who uses it does not exceed the bound

    @lru_cache(None)
    def worth(number):
        levels, own = certificate.claims[number], [*map(Fraction, get["claim_costs"][number])]
        need(levels[-1].size <= certificate.k, f"claim {number} is about too many features")
        check_levels(problem.priced(levels[-1].size, own), levels)
        return own, max(Fraction(levels[-1].exact), 0) * unit

    todo = [root]
    for number, branch in enumerate(get["owner"]):
        need(todo, f"node {number} of the slots: the tree is closed before it")
        owner = todo.pop()
        if branch < d:
            need(owner[branch] in (None, -1), f"node {number} of the slots: the feature has an owner")
            children, seen = [], set()
            for slot, k in enumerate(slots):  # of slots that are alike and own nothing the first stands for all
                if slot in owner or k not in seen:
                    children.append([*owner[:branch], slot, *owner[branch + 1 :]])
                    seen |= set() if slot in owner else {k}
            todo += children[::-1]
            continue
        charges, total = list(costs), Fraction(0)
        for slot, claim in enumerate(next(leaves)):
            need(
                slots[slot] <= certificate.claims[claim][-1].size,
                f"claim {claim} is about fewer features than slot {slot}",
            )
            own, most = worth(claim)
            total += most
            for j in range(d):
                if owner[j] is None or owner[j] == slot:
                    charges[j] = max(charges[j], own[j])
        total += sum(charges) - sum(costs)
        need(
            total <= bound, f"node {number} of the slots: its prices prove no more than {decimal(total, ROUND_CEILING)}"
        )
    need(not todo, "the tree of the slots has open nodes")


def several(problem, certificate):
    """Return at most what the vectors of a certificate about several choices are worth together, at least 0."""
    get, total, at = certificate.get, Fraction(0), 0
    used = [j for one in get["support"] for j in one]
    need(len(used) == len(set(used)), "two vectors use the same feature")
    for k, features in zip(get["slots"], get["support"], strict=True):
        need(len(features) <= k, "a vector has more features than its slot")
        if features:
            total += attained(problem, features, get["weights"][at : at + len(features)])
        at += len(features)
    return max(total, Fraction(0))


def attained(problem, features, weights):
    """Return a lower bound for the value of a vector, in the units of the data."""
    features, value = list(features), Fraction(0)
    chosen, (w, _) = {*features, *problem.include}, integers(weights)
    need(len(chosen) <= problem.k, "the vector has more than k features, with the demanded ones")
    need(not chosen & problem.exclude, "the vector has a forbidden feature")
    if any(w):
        most = max(problem.powers[j] for j in features)
        w = [x << most - problem.powers[j] for j, x in zip(features, w, strict=True)]
        V, d = [*map(Fraction, problem.get["directions"])], problem.d
        along = [sum(V[i + j] * x for j, x in zip(features, w, strict=True)) for i in range(0, len(V), d)]
        fits = sum(x * x for x in along) * 10**16 <= sum(map(mul, w, w))
        need(fits, "the vector is not orthogonal to the directions")
        value = problem.attained(features, w) * problem.unit
    return value - sum(problem.costs[j] for j in chosen)


def proved(certificate, data):
    """Return what the certificate proves of the data, in decimals."""
    get, header, levels = certificate.get, certificate.header, certificate.levels
    problem = (SampleProblem if certificate.attacked else ColumnProblem)(prepared(data, certificate), certificate)
    if certificate.is_list:
        need(not problem.include and not problem.directions, "a list takes no demanded features and no directions")
        for i, claimed in enumerate(get["list_value"]):
            least = attained(problem, get["list_features"][i], get["list_weights"][i])
            need(least >= Fraction(claimed) * problem.unit, f"support {i} of the list is worth less than it says")
        check_levels(problem, levels[-1:])
        levels = levels[:-1]
    bound, claimed = Fraction(header["bound"]), Fraction(header["value"])
    if certificate.is_joint:
        check_packing(problem, certificate, bound)
        value = several(problem, certificate)
        need(value <= bound, "the bound is below what the vectors are worth")
    else:
        check_levels(problem, levels)
        need(Fraction(levels[-1].exact) * problem.unit <= bound, "the last level proves less than the bound")
        value = max(attained(problem, get["support"][0], get["weights"]), attained(problem, [], []))
    each = Fraction(problem.largest_variance, ONE) * problem.unit / 10**12 / problem.least
    room = abs(claimed) / 10**9 + each * max(len(get["slots"]), 1)
    need(value >= claimed - room, f"the vector attains no more than {decimal(value, ROUND_FLOOR)}")
    return decimal(value, ROUND_FLOOR), decimal(bound, ROUND_CEILING)


def decimal(x, rounding):
    """Return a rational number in decimals, rounded to a side."""
    return str(Context(prec=15, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)))


def about_list(certificate):
    """Say what a list claims beside the bound."""
    get = certificate.get
    beyond = decimal(Fraction(get["level_bound"][-1]) * certificate.unit, ROUND_CEILING)
    slack = max([0.0, *(b / w - 1 for b, w in zip(get["list_beyond"], get["list_value"], strict=True))])
    supports = len(get["list_size"])
    return f"what a choice is worth beyond {beyond} it owes to one of {supports} supports, to {slack:.1e}"


def explain(certificate):
    """Yield the lines of the proof in words."""
    header, says = certificate.header, list(RULES.values())
    yield f"Claim: {header['value']} <= optimum <= {header['bound']}, at most {header['k']} of {certificate.d} features"
    if certificate.get["metric"]:
        yield "  over v'Bv, where B is the file's metric"
    if certificate.get["directions"]:
        many = len(certificate.get["directions"]) // certificate.d
        yield f"  all vectors with |V v| <= 1e-8, where V are the file's {many} directions"
    yield f"  adversary: {header['adversary']}; demanded: {certificate.include}; forbidden: {len(certificate.exclude)}"
    if certificate.is_joint:
        get, claims = certificate.get, len(certificate.claims)
        yield f"  several choices at once that share no feature, of at most {list(get['slots'])} features, together;"
        yield f"  by {len(get['fan_line'])} lines about all of them, and {len(get['owner'])} nodes that give features"
        yield f"  to slots, whose leaves are closed by prices: {claims} claims, whose levels follow in their order."
    for number, level in enumerate(certificate.levels):
        yield f"Level {number}: at most {level.size} features are worth no more than T = {level.exact:.9g} units;"
        if level.is_list:
            yield "  what is worth more owes that to one of the supports of a list;"
        if level.claims is not None:
            yield f"  features that fit together all lie in one of {len(level.claims)} small claims."
        for claim in level.claims or ():
            yield f"  A claim {'with its first feature, ' * claim.rooted}among {claim.members}, by their places:"
            for index, (depth, how, rule, item) in enumerate(walk(certificate, claim)):
                yield f"{'  ' * min(depth + 2, 40)}{index}: {how}{says[rule].format(item)}"
        how = "the tree below" if level.nodes else "what is known of fewer features"
        yield f"  {how} proves it for {len(level.features)} features; each of the others contributes too little."
        for index, (depth, how, rule, item) in enumerate(walk(certificate, level)):
            yield f"{'  ' * min(depth + 2, 40)}{index}: {how}{says[rule].format(item)}"


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
        certificate = Certificate(Path(options.certificate).read_bytes())
        for line in explain(certificate) if options.explain else ():
            print(line)
        if options.data:
            data = read_data(options.data, certificate, options.header)
            print("ACCEPT: {} <= optimum <= {}".format(*proved(certificate, data)))
            if certificate.is_list:
                print(f"  A list: {about_list(certificate)}.")
            print(f"  Not part of the claim: {about_preparation(data, certificate)}.")
    except Reject as reason:
        print(f"REJECT: {reason}")
        return 1
    except (Unreadable, OSError) as reason:
        print(f"{parser.prog}: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
