"""One accelerator: ascent over 10^6 features, certified answers, and the same problem on CPU and accelerator.

Run: python -m benchmarks.gpu FILE [PART ...] on a machine with an accelerator that PyTorch knows as "cuda"; parts are
ascent, arithmetic, million, both (all of them by default). FILE gets a line of JSON per measurement. Then, anywhere,
python -m benchmarks.gpu FILE render writes results/gpu.csv and results/gpu.md.

Simulated data, n = 2048: 200 modules of 30 to 200 columns that share a factor, with loadings between 1 and 3, among
columns of noise; standard normal, standardised by noap. Times are wall-clock seconds with the device waited for.
"""

import json
import statistics
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

import noap
from benchmarks import RESULTS
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.library import Library
from noap.measuring.environment import environment

_N, _K, _GAP, _LIMIT = 2048, 10, 1e-4, 240.0
# Dense peaks by the vendor's datasheet of one H200, in operations per second.
_PEAK = {"float16": 989e12, "tf32": 494e12}
_NOISES = (0.0, 0.3)


def simulated(d: int, kind: str = "float32"):
    """Return the samples as a tensor on the device."""
    import torch

    made = torch.Generator("cuda").manual_seed(0)
    X = torch.randn((_N, d), generator=made, device="cuda", dtype=torch.float32)
    rng = np.random.default_rng(0)
    places, first = rng.permutation(d), 0
    for size in rng.integers(30, 201, 200):
        own = torch.asarray(places[first : first + size], device="cuda")
        factor = torch.asarray(rng.standard_normal((_N, 1)), device="cuda", dtype=torch.float32)
        loads = torch.asarray(rng.uniform(1.0, 3.0, (1, size)), device="cuda", dtype=torch.float32)
        X[:, own] += factor * loads
        first += size
    return X if kind == "float32" else X.half()


def seconds_of(what, repeats: int = 9) -> float:
    """Return the median time of a call on the device, after one that is not counted."""
    import torch

    what()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        what()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


@contextmanager
def timed(module, name: str, told: list):
    """Note how long each call of a function of a module takes."""
    import torch

    function = getattr(module, name)

    def watched(*given, **more):
        torch.cuda.synchronize()
        started = time.perf_counter()
        try:
            return function(*given, **more)
        finally:
            torch.cuda.synchronize()
            told.append(time.perf_counter() - started)

    setattr(module, name, watched)
    try:
        yield
    finally:
        setattr(module, name, function)


def ascent(say) -> None:
    """One step of ascent for 1, 32 and 128 starts."""
    from noap.heuristics.climb_on_device import climb_on_device
    from noap.linalg.blocked import ScaledColumns

    d = 10**6
    for kind in ("float32", "float16"):
        X = simulated(d, kind)
        for centred in (False, True):
            columns = noap.standardise(X) if centred else DeviceColumns(X)
            library, norms = columns.library, noap.Problem(columns, 1, noap.NoAdversary()).column_norms
            scaled = ScaledColumns(columns, norms)
            read = seconds_of(lambda X=X: X.sum(dtype=X.dtype))
            for starts in (1, 32, 128):
                rng = np.random.default_rng(1)
                features = rng.choice(d, (starts, _K), replace=False)
                weights = np.full((starts, _K), _K**-0.5)
                at, loads = library.put(features), library.put(weights.astype(np.float32))
                directions = columns.combined(at, loads)
                pulled = columns.pulled(directions)
                # Four steps at a time are given to the device before anybody looks.
                whole = seconds_of(partial(climb_on_device, scaled, 0.0, features, weights, steps=4)) / 4
                product = seconds_of(partial(columns.pulled, directions))
                top = seconds_of(partial(library.top_sizes, pulled, _K))
                say(what="ascent", d=d, storage=kind, centred=centred, starts=starts, read_ms=1e3 * read,
                    product_ms=1e3 * product, top_k_ms=1e3 * top, step_ms=1e3 * whole,
                    product_per_read=product / read, step_per_read=whole / read, top_k_share=top / whole)  # fmt: skip
                del directions, pulled
        X = columns = scaled = None  # the next one needs the memory


def arithmetic(say) -> None:
    """Make the pass over 10^6 columns in each arithmetic, and see how near hostile sums come to its error bound."""
    from noap.linalg.device.rounded import Rounded
    from noap.linalg.device.sieve import group_size, large_products

    d = 10**6
    columns = noap.standardise(simulated(d))
    norms = np.full(d, _N**0.5 * (1 + 1e-6))
    groups = -(-d // group_size(d))
    for name, peak in (*_PEAK.items(), ("float32", 67e12)):
        with _in_arithmetic(name):
            worst, n = {}, 0
            for n in (2048, 16384):
                Y = DeviceColumns(_hostile(n))
                made = Rounded(Y, np.arange(Y.shape[1]), float(np.linalg.norm(Y.toarray(), axis=0).max()) * (1 + 1e-9))
                G = np.asarray(made.library.host(made.products(slice(0, 256), slice(0, 256))), dtype=np.float64)
                Z = np.ldexp(Y.toarray(), made.exponent)
                sizes = np.linalg.norm(Z, axis=0)
                allowed = made.error.relative * np.outer(sizes, sizes) + made.error.absolute
                worst[n] = float((np.abs(G[: len(sizes), : len(sizes)] - Z.T @ Z) / allowed).max())
            took = []
            if name != "float32":  # a minute, and nobody waits for it
                for _ in range(2):
                    started = time.perf_counter()
                    found = large_products(columns, np.arange(d), norms, np.full((groups,) * 2, 0.5 * _N), 10**7, int)
                    took.append(time.perf_counter() - started)
            pass_s = min(took, default=None)
            say(what="arithmetic", d=d, arithmetic=name, threshold=0.5, pairs=len(found.rows) if took else None,
                pass_s=pass_s, share_of_peak=_N * d * (d - 1.0) / pass_s / peak if took else None,
                error_over_bound_2048=worst[2048], error_over_bound_16384=worst[16384])  # fmt: skip


def _hostile(n: int):
    """Return columns whose sums lose most: all of one sign, of all sizes, next to the middle of two halves."""
    import torch

    rng = np.random.default_rng(0)
    halfway = 1.0 + (rng.integers(0, 16, (n, 64)) * 2 + 1) * 2.0**-11 * (1 - 1e-6)
    positive = rng.random((n, 64)) ** 4
    rising = np.sort(rng.exponential(1.0, (n, 32)), axis=0)
    large_first = np.vstack([np.full((1, 32), 64.0), 2.0**-9 * (1 + rng.random((n - 1, 32)))])
    signed = halfway * rng.choice([-1.0, 1.0], halfway.shape)
    return torch.asarray(np.hstack([halfway, positive, rising, large_first, signed]), device="cuda")


@contextmanager
def _in_arithmetic(name: str):
    before = Library.arithmetic
    Library.arithmetic = name
    try:
        yield
    finally:
        Library.arithmetic = before


def certified(say, d: int, noise: float, what: str, also_cpu: bool = False) -> None:
    """Solve to the gap on the device, check there, and, if asked, both on the CPU with the same file."""
    import torch

    from noap.exact.many import pairs
    from noap.proofs import fingerprint

    X = simulated(d)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    passes: list[float] = []
    started = time.perf_counter()
    Z = noap.standardise(X)
    problem = noap.Problem(Z, k=_K, adversary=noap.FeatureWise(noise * _N**0.5))
    made = time.perf_counter() - started
    with timed(pairs, "large_products", passes):
        ascended = noap.solve(problem, "ascent")
        climbed = time.perf_counter() - started
        result = noap.solve(problem, gap=_GAP, time_limit=_LIMIT)
        solved = time.perf_counter() - started
        certificate = result.certificate
    total = time.perf_counter() - started
    memory = torch.cuda.max_memory_allocated() / 1e9
    arithmetic = Library.of(X).arithmetic
    # One multiplication and one addition for each sample of each pair.
    operations = _N * d * (d - 1.0) * len(passes)
    checked = time.perf_counter()
    report = noap.verify(problem, certificate)
    checked = time.perf_counter() - checked
    again = time.perf_counter()
    noap.verify(noap.Problem(Z, k=_K, adversary=problem.adversary), certificate)
    again = time.perf_counter() - again
    hashed = time.perf_counter()
    fingerprint._hashed(problem)
    hashed = time.perf_counter() - hashed
    say(what=what, where="device", d=d, noise=noise, value=result.value, bound=result.bound, gap=result.gap,
        ascent_value=ascended.value, nodes=result.nodes, total_s=total, problem_s=made, ascent_s=climbed - made,
        exact_s=solved - climbed, waiting_for_hash_s=total - solved, hash_s=hashed, passes=len(passes),
        pass_s=sum(passes), arithmetic=arithmetic, share_of_peak=operations / sum(passes) / _PEAK[arithmetic],
        verify_s=checked, verify_with_hash_s=again, accepted=report.ok, peak_gb=memory)  # fmt: skip
    if also_cpu:
        # The same numbers, of float32 as on the device.
        own = noap.Problem(Z.toarray().astype(np.float32), k=_K, adversary=problem.adversary)
        started = time.perf_counter()
        here = noap.solve(own, gap=_GAP, n_jobs=-1, time_limit=_LIMIT)
        solved = time.perf_counter() - started
        certificate_here = here.certificate
        total_here = time.perf_counter() - started
        checked = time.perf_counter()
        crossed = noap.verify(own, certificate, n_jobs=-1)
        checked = time.perf_counter() - checked
        say(what=what, where="CPU", d=d, noise=noise, value=here.value, bound=here.bound, gap=here.gap,
            nodes=here.nodes, total_s=total_here, exact_s=solved, verify_s=checked, accepted=crossed.ok,
            other_accepted=noap.verify(problem, certificate_here).ok, same_support=bool(
                np.array_equal(here.support, result.support)), ratio=total_here / total)  # fmt: skip


def main() -> None:
    path, parts = Path(sys.argv[1]), sys.argv[2:] or ["ascent", "arithmetic", "million", "both"]
    if parts == ["render"]:
        render(path)
        return
    import torch

    device = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"

    def say(**line) -> None:
        line |= {"device": device, "cpu": f"{environment()['cpu']}, {environment()['cores']} cores"}
        print(line, flush=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    # Compiled before anything is timed.
    tiny = noap.Problem(simulated(25_000)[:, :4000], k=3, adversary=noap.FeatureWise(0.5))
    noap.verify(tiny, noap.solve(tiny, time_limit=120).certificate)
    if "ascent" in parts:
        ascent(say)
    if "arithmetic" in parts:
        arithmetic(say)
    for what, d in (("million", 10**6), ("both", 10**5)):
        for noise in _NOISES if what in parts else ():
            certified(say, d, noise, what, also_cpu=what == "both" and noise == _NOISES[-1])


def render(path: Path) -> None:
    """Write the tables."""
    from noap.measuring.tables import frame_of, markdown, write_table

    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(name for line in lines for name in line))
    write_table(frame_of([{name: line.get(name) for name in names} for line in lines]), RESULTS / "gpu.csv")
    text = [
        "# One accelerator\n",
        f"Device: {lines[0]['device']}. Host: {lines[0]['cpu']}. n = {_N}, k = {_K}, gap {_GAP:g}. "
        "`python -m benchmarks.gpu` says what the data are. total_s: from the tensor to the certificate; hash_s: the "
        "fingerprint alone, which a thread makes meanwhile; verify_s: of the problem that was solved, whose "
        "fingerprint is known, and with it anew; share_of_peak: n d (d - 1) operations over pass_s, of what the "
        "vendor's datasheet says for dense products; error_over_bound: how near the products of hostile columns come "
        "to the bound. The lines of d = 100,000 are of another machine of the same kind.\n",
    ]
    for title, what in (
        ("Ascent", "ascent"),
        ("Arithmetic", "arithmetic"),
        ("Certified, d = 1,000,000", "million"),
        ("d = 100,000", "both"),
    ):
        own = [line for line in lines if line["what"] == what]
        if own:
            said = [name for name in names if any(name in one for one in own)]
            shown = [name for name in said if name not in ("what", "device", "cpu")]
            text += [f"## {title}\n", markdown(shown, [[line.get(name) for name in shown] for line in own])]
    (RESULTS / "gpu.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
