"""Certificates written by hand: a packer of the file, and a judge that looks at every support."""

import hashlib
import itertools
import json
import struct
import zlib

import numpy as np

from second_checker import noap_check, second_verdict

RULES = {name: rule for rule, name in enumerate(noap_check.RULES)}
DTYPES = noap_check.ARRAYS


def digest(data, n, source):
    """Return the fingerprint of the page."""
    data = np.ascontiguousarray(data, dtype="<f8") + 0.0
    d = data.shape[1]
    rows = max(1, 2**17 // d)
    whole = hashlib.sha256(b"\1" + source.encode() + struct.pack("<3Q", n, d, rows))
    for i in range(0, len(data), rows):
        whole.update(hashlib.sha256(b"\0" + data[i : i + rows].tobytes()).digest())
    return whole.hexdigest()


def pack(header, arrays, dtypes=DTYPES, version=5, magic=b"NOAP\0CRT"):
    """Return the bytes of a file."""
    records, body = [], b""
    for name, numbers in arrays.items():
        content = np.asarray(numbers, dtype="<" + dtypes.get(name, "u4"))
        if content.size:
            packed = zlib.compress(content.tobytes())
            records.append({"name": name, "dtype": dtypes.get(name, "u4"), "count": content.size, "bytes": len(packed)})
            body += packed
    head = json.dumps({"arrays": records, **header}).encode()
    raw = magic + struct.pack("<HI", version, len(head)) + head + body
    return raw + hashlib.sha256(raw).digest()


class Case:
    """A tiny problem in units of 4^exponent, and a certificate of it that is built record by record."""

    def __init__(self, data, k, rho=None, costs=None, include=(), exclude=(), source="samples", n=None, shift=0.0):
        self.data, self.k, self.source, self.shift = np.asarray(data, dtype=float), k, source, shift
        self.n, self.d = n or len(self.data), self.data.shape[1]
        self.rho = None if rho is None else np.broadcast_to(np.asarray(rho, dtype=float), self.d)
        self.costs = np.zeros(self.d) if costs is None else np.asarray(costs, dtype=float)
        self.include, self.exclude = list(include), list(exclude)
        self.allowed = [j for j in range(self.d) if j not in self.exclude]
        self.matrix = self.data.T @ self.data / self.n if source == "samples" else self.data.copy()
        self.exponent = int(np.round(np.log2(max(np.abs(np.diag(self.matrix)).max(), 1e-300)) / 2))
        self.unit = 4.0**self.exponent
        self.A = self.matrix / self.unit + (shift or 0.0) * np.eye(self.d)
        self.pi = self.costs / self.unit
        self.r = (np.zeros(self.d) if rho is None else self.rho) / np.sqrt(self.n) / 2.0**self.exponent
        if shift is not None:
            self.r = np.minimum(self.r, np.sqrt(np.diag(self.A)))
        top = self.r.max()
        self.w = self.r / top if top else np.ones(self.d)
        self.top = top
        self.most = np.maximum(np.sqrt(np.maximum(np.diag(self.A), 0)) - self.r, 0) ** 2 - self.pi
        self.arrays: dict[str, list] = {}
        self.header: dict[str, object] = {}

    def add(self, **lists):
        """Append to arrays."""
        for name, numbers in lists.items():
            self.arrays.setdefault(name, []).extend(np.asarray(numbers).reshape(-1).tolist())
        return self

    def count(self, name):
        return len(self.arrays.get(name, []))

    def level(self, bound, nodes=(), size=None, features=None, target=None):
        """Append a level; nodes are pairs of a rule's name and an item."""
        if size is None:
            size = min(self.k, len(self.allowed))
        features = self.allowed if features is None else features
        target = bound if target is None else target
        self.add(level_size=[size], level_bound=[bound], level_target=[target], level_features=[len(features)])
        self.add(features=features, level_nodes=[len(nodes)])
        return self.add(rule=[RULES[rule] for rule, _ in nodes], item=[item for _, item in nodes])

    def conflicts(self, bound, size, order, claims):
        """Append a level by conflicts; its small claims follow once all levels are there."""
        self.add(conflict_level=[self.count("level_size")], conflict_order=[len(order)], conflict_claims=[claims])
        return self.add(order=order).level(bound, size=size, features=[])

    def claim(self, features, nodes, rooted=True, kept=None):
        """Append a small claim."""
        self.add(claim_rooted=[int(rooted)], claim_size=[len(features)], claim_features=features)
        self.add(claim_kept=[len(features) if kept is None else kept], claim_nodes=[len(nodes)])
        return self.add(rule=[RULES[rule] for rule, _ in nodes], item=[item for _, item in nodes])

    def majorant(self, gain=0.0, x=None, chord=None):
        """Append a majorant: plain, or the attack in response to x (by feature); or chords, last."""
        x = x or {}
        if chord is not None:
            self.add(majorant_chord=[0.0] * (self.count("majorant_size") - self.count("majorant_chord")) + [chord])
        self.add(majorant_size=[len(x)], majorant_gain=[gain], majorant_features=sorted(x))
        self.add(majorant_weights=[x[j] for j in sorted(x)])
        return self.count("majorant_size") - 1

    def dominance(self, majorant, scaling=None):
        if scaling:
            self.add(scaling_size=[len(scaling)], scaling_features=sorted(scaling))
            self.add(scaling_values=[scaling[j] for j in sorted(scaling)])
        self.add(dominance_majorant=[majorant], dominance_scaling=[self.count("scaling_size") if scaling else 0])
        self.add(dominance_threshold=[0.0])
        return self.count("dominance_majorant") - 1

    def line(self, features, G, form, in_t, plain, weighted, loads, lifts, noise, signs=None, dues=None, room=1e-9):
        """Append a line about G whose c is the largest eigenvalue of B and some room; return c.

        `noise` in [-1, 1] is the symmetric matrix of steps, in boxes.
        """
        f4 = np.float32
        b, w = len(features), self.w[features]
        loads, lifts = np.asarray(loads, f4).astype(float), np.asarray(lifts, f4).astype(float)
        count = w if in_t else np.ones(b)
        upper = np.triu_indices(b, 1)
        inner = G.copy()
        if dues is not None:
            alpha, pulls = (np.asarray(x, f4).astype(float) for x in dues)
            inner = G - alpha[:, None] * pulls - (alpha[:, None] * pulls).T
            inner[np.diag_indices(b)] = np.diag(G) - alpha * (1 - (pulls**2).sum(axis=1))
            self.add(line_dues=alpha, line_pulls=pulls)
        box = plain + weighted * np.outer(w, w) + 0.5 * (np.outer(loads, count) + np.outer(count, loads))
        B = inner.copy()
        if form == 0:
            B = inner - np.clip(inner, -box, box)
        elif form in (1, 3):
            steps, core = np.round(noise * 32767), np.arange(b) % 3 > 0 if form == 3 else np.ones(b, bool)
            both = np.outer(core, core)
            B = np.where(both, inner + box * steps / 32767, inner - np.clip(inner, -box, box))
            self.add(line_steps=steps[upper][both[upper]].astype(int), line_core=core.astype(int) if form == 3 else [])
        else:
            signs = np.zeros(b, int) if signs is None else np.asarray(signs)
            free = np.asarray(noise * box * (1 - 1e-6), f4).astype(float)
            both = np.outer(signs, signs)
            free = np.where(both != 0, np.where(both * free > 0, 3 * free, free), free).astype(f4).astype(float)
            B = inner + free
            self.add(line_free=free[upper], line_signs=signs)
        B[np.diag_indices(b)] = np.diag(inner) + lifts - plain - weighted * w**2 - loads * count
        c = float(np.linalg.eigvalsh(B)[-1] + room) if b else 0.0
        self.add(line_size=[b], line_c=[c], line_plain=[plain], line_weighted=[weighted], line_counts=[int(in_t)])
        self.add(line_form=[form + 4 * (dues is not None)], line_features=features, line_loads=loads, line_lifts=lifts)
        return c

    def listed(self, support, weights, value, beyond):
        """Append a support of a list."""
        self.add(list_size=[len(support)], list_value=[value], list_beyond=[beyond])
        self.add(list_features=support, list_weights=weights)
        return self.count("list_size") - 1

    def envelope(self, lines):
        self.add(envelope_size=[len(lines)], envelope_lines=lines)
        return self.count("envelope_size") - 1

    def file(self, **changes):
        """Return the bytes of the certificate; without other words it claims the last level's bound."""
        adversary = "none" if self.rho is None else "feature-wise"
        bound = self.arrays["level_bound"][-1] * self.unit if "level_bound" in self.arrays else 0.0
        header = {
            "kind": "single",
            "adversary": adversary,
            "k": self.k,
            "n_samples": self.n,
            "n_features": self.d,
            "source": self.source,
            "fingerprint": digest(self.data, self.n, self.source),
            "value": min(-float(self.costs[self.include].sum()), bound),
            "bound": bound,
            "exponent": self.exponent,
            "shift": self.shift,
            "device": False,
            **self.header,
            **changes,
        }
        arrays = dict(self.arrays)
        if self.rho is not None:
            arrays["rho"] = self.rho
        if self.costs.any():
            arrays["costs"] = self.costs
        return pack(header, {**arrays, "include": self.include, "exclude": self.exclude})

    def verdict(self, raw=None, data=None):
        """Return None where the checker accepts, else its reason."""
        return second_verdict(self.file() if raw is None else raw, self.data if data is None else data)

    # The judge

    def best_of(self, support):
        """Return a value that some unit vector on the support attains (the best of many ascents), in units."""
        support = list(support)
        A, r = self.A[np.ix_(support, support)] - (self.shift or 0.0) * np.eye(len(support)), self.r[support]
        paid = self.pi[support].sum()
        starts = [np.array(s, float) for s in itertools.product([1, -1], repeat=len(support)) if s[0] == 1]
        starts += list(np.eye(len(support))) + list(np.linalg.eigh(A)[1].T)
        V = np.array(starts)
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        best = -np.inf
        for _ in range(60):
            norm = np.sqrt(np.maximum(np.einsum("si,ij,sj->s", V, A, V), 0))
            best = max(best, float((np.maximum(norm - np.abs(V) @ r, 0) ** 2).max()))
            g = V @ A / np.where(norm > 0, norm, 1)[:, None]
            step = np.sign(g) * np.maximum(np.abs(g) - r, 0)
            length = np.linalg.norm(step, axis=1, keepdims=True)
            V = np.where(length > 0, step / np.where(length > 0, length, 1), V)
        return best - paid

    def best(self):
        """Return the best attained value over all supports, and the support."""
        values = [(-self.pi[self.include].sum(), tuple(self.include))]
        for size in range(1, self.k + 1):
            for support in itertools.combinations(self.allowed, size):
                if set(self.include) <= set(support):
                    values.append((self.best_of(support), support))
        return max(values)
