"""Measures instances that it is told of, line by line, in the version of noap that it finds.

Only public names of noap are used, so that it runs in older and newer versions. A line is a JSON object with `place`
(the file of an instance) and `method`; the answer is one with the cells of a row, or with `error`. Methods that are not
noap's own are asked of `benchmarks.peers`, which is there in one's own checkout alone.
"""

import json
import os
import re
import sys
import time
import warnings

import numpy as np

import noap
import noap.mip

PEERS = ("abess", "scikit-learn")
VECTORS = ("ascent", "ppm", "spca", "diagonal-thresholding", "covariance-thresholding")
_HELD: dict = {}  # the matrix that was read last
_WARM: set = set()


def peak_memory():
    """Return the most memory that this process has held so far, in MB; None where the system does not say."""
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) / 1024
    except OSError:
        return None


def matrix_of(asked):
    place = asked["M"]
    if (place, asked["scaled"]) not in _HELD:
        _HELD.clear()
        with np.load(place) as arrays:
            names = list(arrays)
            M = np.asarray(arrays[names[0] if "X" not in names else "X"], dtype=float) if "data" not in names else None
        if M is None:  # of scipy.sparse
            from scipy.sparse import load_npz

            M = noap.centred(load_npz(place).astype(float), scale=asked["scaled"])
        elif asked["own"]:
            M -= M.mean(axis=0)
            spread = M.std(axis=0)
            M = M[:, spread > 1e-9 * spread.max()]
            M = M / M.std(axis=0) if asked["scaled"] else M
        _HELD[place, asked["scaled"]] = M
    return _HELD[place, asked["scaled"]]


def problem_of(asked, M):
    terms = {}
    if asked["terms"]:
        with np.load(asked["terms"]) as arrays:
            terms = {name: arrays[name] for name in arrays}
    rho = terms.pop("rho", asked["rho"])
    nobody = asked["adversary"] == "NoAdversary"
    if asked["options"].get("typical"):  # rho is a share of the typical column
        norms = np.asarray(noap.Problem(M, k=1, adversary=noap.NoAdversary()).column_norms)
        rho = rho * float(np.median(norms[norms > 0]))
    adversary = noap.NoAdversary() if nobody else getattr(noap, asked["adversary"])(rho)
    if asked["covariance"]:
        return noap.Problem.from_covariance(M, n_samples=1, k=asked["k"], adversary=adversary, **terms)
    return noap.Problem(M, k=asked["k"], adversary=adversary, **terms)


def options_of(asked):
    told = ("typical", "rhos", "solver_limit", "without")  # not of noap.solve
    options = {name: entry for name, entry in asked["options"].items() if name not in told}
    if "without" in asked["options"]:
        options["cuts"] = noap.mip.Cuts().without(asked["options"]["without"])
    return options


def score(problem, v):
    """Return the value of v as it is, cut to k features of length 1, and re-solved on its support."""
    v = np.asarray(v, dtype=float).ravel()
    if not v.any() or not np.isfinite(v).all():
        return {"returned": 0.0, "value": 0.0, "features": 0}
    used = int(np.count_nonzero(v))
    v = np.where(np.argsort(np.argsort(-np.abs(v), kind="stable"), kind="stable") < problem.k, v, 0.0)
    returned = float(problem.value(v / np.linalg.norm(v)))
    part = problem.restricted(np.flatnonzero(v))
    again = noap.solve(part, gap=1e-6, time_limit=10.0).value
    return {"returned": returned, "value": max(returned, float(again)), "features": used}


def checked(problem, certificate):
    """Verify from the bytes alone: what a reader of the file would see."""
    if certificate is None:
        return {"verified": None, "verify_s": None, "bytes": None}
    data = certificate.to_bytes()
    fresh = type(certificate).from_bytes(data)
    started = time.process_time()
    report = noap.verify(problem, fresh)
    return {"verified": bool(report.ok), "verify_s": time.process_time() - started, "bytes": len(data)}


def ended(result):
    limit = getattr(result, "limit", None)
    return {
        "value": float(result.value), "bound": float(result.bound), "gap": float(result.gap),
        "proved": result.status.value == "optimal", "stopped": getattr(limit, "value", limit),
        "nodes": int(result.nodes),
    }  # fmt: skip


class Clock:
    """CPU and wall seconds of a block, as cells of a row."""

    def __enter__(self):
        self.cpu, self.wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *error):
        self.cells = {"cpu_s": time.process_time() - self.cpu, "wall_s": time.perf_counter() - self.wall}


def solve(asked, method, M):
    options = options_of(asked)
    if method in VECTORS:
        with Clock() as clock:  # with the checks of the matrix, as for the peers
            problem = problem_of(asked, M)
            v = noap.solve(problem, method, **options).v
        return clock.cells | score(problem, v)
    problem = problem_of(asked, M)
    with Clock() as clock:
        result = noap.solve(problem, method, gap=asked["gap"], time_limit=asked["limit"], **options)
        certificate = result.certificate
    cells = clock.cells | ended(result) | {"features": int(np.count_nonzero(result.v))}
    if getattr(result, "restricted_bound", None) is not None:  # of the chosen features alone
        cells |= {"bound": result.restricted_bound, "gap": result.restricted_bound / result.value - 1.0}
    if getattr(result, "program_v", None) is not None:  # of the program itself, not the start it was given
        cells["own_value"] = float(problem.value(result.program_v))
    if getattr(result, "solver_gap", None) is not None or result.formulation_error is not None:
        cells |= {"solver_gap": result.solver_gap, "formulation_term": result.formulation_error}
    return cells | checked(problem, certificate)


def components(asked, method, M):
    problem, r = problem_of(asked, M), asked["r"]
    with Clock() as clock:
        found = noap.solve_components(problem, r, gap=asked["gap"], time_limit=asked["limit"])
    cells = clock.cells | ended(found) | checked(problem, found.certificate)
    total, left = 0.0, np.arange(problem.n_features)
    for _ in range(r):  # each component from the features that those before leave
        rest = problem.restricted(left)
        one = noap.solve(rest, gap=asked["gap"], time_limit=min(0.25 * asked["limit"], 10.0))
        if one.value == 0.0:
            break
        total, left = total + one.value, np.delete(left, one.support)
        if not len(left):
            break
    trace = float(np.trace(M)) if asked["covariance"] else float(np.sum(np.square(M)) / len(M))
    return cells | {"one_by_one": total, "trace": trace}


def path(asked, method, M):
    """Measure a path as a whole, or, by the method "one by one", its budgets as problems of their own."""
    base, rhos = problem_of(asked, M), asked["options"].get("rhos")
    with Clock() as clock:
        if method == "one by one":
            each = [problem_of(asked | {"adversary": "FeatureWise", "rho": rho}, M) for rho in rhos]
            results, lived = [noap.solve(one, gap=asked["gap"]) for one in each], None
        else:
            found = noap.path(base, k=asked["k"], rhos=rhos, gap=asked["gap"])
            results, lived = list(found.results), np.nan_to_num(np.asarray(found.lifetimes, dtype=float))
    cells = {} if rhos else {"lifetimes": {int(j): round(float(lived[j]), 9) for j in np.flatnonzero(lived)}}
    return clock.cells | several(results) | cells


def k_path(asked, method, M):
    problem = problem_of(asked, M)
    with Clock() as clock:
        results = list(noap.k_path(problem, gap=asked["gap"], time_limit=asked["limit"]).results)
    slowest = sorted((one.seconds for one in results), reverse=True)
    return clock.cells | several(results) | {"slowest_three": sum(slowest[:3]) / max(sum(slowest), 1e-9)}


def several(results):
    return {
        "value": float(max(one.value for one in results)), "gap": float(max(one.gap for one in results)),
        "proved": all(one.status.value == "optimal" for one in results), "nodes": int(sum(r.nodes for r in results)),
        "points": len(results),
    }  # fmt: skip


TASKS = {one.__name__: one for one in (solve, components, path, k_path)}


def foreign(asked, method):
    """Return whether the method is a peer, or a solver and its program, which have a comma."""
    return asked["task"] == "solve" and (method in PEERS or ", " in method)


def warm_up(asked, method, many):
    """Load or compile what the task needs, on a tiny problem of its kind, before anything is timed."""
    key = (asked["task"], asked["adversary"], method, bool(asked["terms"]), many)
    if key in _WARM or foreign(asked, method):
        return
    _WARM.add(key)
    rng = np.random.default_rng(0)
    tiny = rng.standard_normal((20, 2500) if many else (12, 5))
    tiny[:, :20] += 3.0 * rng.standard_normal((len(tiny), 1))
    problem = problem_of({**asked, "terms": None, "rho": 0.5, "k": 3, "covariance": False, "options": {}}, tiny)
    certificate = noap.solve(problem, method if asked["task"] == "solve" else "exact", time_limit=10.0).certificate
    if certificate is not None:
        noap.verify(problem, certificate)


def answer(line):
    with open(line["place"], encoding="utf-8") as file:
        asked = json.load(file)
    method, M = line["method"], matrix_of(asked)
    if line.get("warm", True):
        warm_up(asked, method, M.shape[1] > 2000)
    before, began = peak_memory(), time.process_time()
    if foreign(asked, method):
        from benchmarks.peers import answer_of

        problem = problem_of(asked, M)
        cells = answer_of(method, problem, asked, score)
    else:
        cells = TASKS[asked["task"]](asked, method, M)
    after = peak_memory()
    cells |= {"n": None if asked["covariance"] else M.shape[0], "d": M.shape[1]}
    cells |= {"memory_mb": None if after is None else after - before, "loaded_mb": before}
    return cells | {"process_s": time.process_time(), "worker_s": time.process_time() - began}


def main():
    # Solvers write to the standard output as they like; answers have a channel of their own.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(found, default=lambda one: one.item()), file=channel, flush=True)


if __name__ == "__main__":
    main()
