"""A certificate in words: what it claims, and its tree, node by node; nothing is checked."""

from collections.abc import Iterator, Sequence

from noap.kernel.certificate import Certificate
from noap.kernel.directions import TOLERANCE
from noap.kernel.witness import (
    Attack,
    Beyond,
    Chord,
    Dominance,
    Envelope,
    Feature,
    Lengths,
    Level,
    Listed,
    Matrix,
    Node,
    Owner,
    Packing,
    SampleAttack,
    SampleEnvelope,
    Sign,
)

__all__ = ["explained"]


def explained(certificate: Certificate) -> Iterator[str]:
    """Yield the lines: the claim, the vector, and each level with its tree."""
    claim, unit = certificate.claim, 4.0**certificate.proof.exponent
    yield f"Claim: {claim.value:.17g} <= optimum <= {claim.bound:.17g}"
    about = f"About: {claim.source} of {claim.n_samples} samples and {claim.n_features} features, fingerprint "
    yield about + claim.fingerprint
    yield f"Adversary: {claim.adversary}, {claim.noise_in_words}; at most k = {claim.k} features"
    if claim.mean is not None:
        yield "Samples: (x - mean)/scale of those in the file, with the means and scales that the certificate holds"
    if claim.costs is not None:
        yield "Features have costs."
    for name, features in (("Demanded", claim.include), ("Forbidden", claim.exclude)):
        if len(features):
            yield f"{name} features: {', '.join(map(str, features))}"
    if claim.directions is not None:
        yield f"About v with |Vv| <= {TOLERANCE:.0e}, V the {len(claim.directions)} directions that the file holds"
    pairs = zip(certificate.support, certificate.weights, strict=True)
    yield "Vector: " + (", ".join(f"{j}: {w:+.6g}" for j, w in pairs) or "none")
    if certificate.proof.packing is not None:
        yield from _packing(certificate.proof.packing, unit)
        return
    for level in certificate.proof.levels[: -1 if certificate.kind == "list" else None]:
        yield from _level(level, unit)
    if certificate.kind == "list":
        for number, one in enumerate(certificate.proof.supports):
            yield f"Support {number} of the list: {', '.join(map(str, one.features))}; worth {one.value * unit:.17g}"
        yield "All other supports:"
        yield from _level(certificate.proof.levels[-1], unit)


def _packing(packing: Packing, unit: float) -> Iterator[str]:
    yield f"About {len(packing.slots)} disjoint choices of at most {', '.join(map(str, packing.slots))} features"
    yield f"Entries of their vectors: {', '.join(map(str, packing.sizes))}"
    for fan in packing.fans:
        yield f"A line on {len(fan.line.features)} features holds for all of them together."
    for node in packing.nodes:
        if isinstance(node, Owner):
            yield f"Feature {node.feature} is given to one slot after the other."
        else:
            yield f"Closed by the prices of the claims {', '.join(map(str, node.claims))}."
    for number, claim in enumerate(packing.priced):
        yield f"Claim {number}, after prices:"
        for level in claim.levels:
            yield from _level(level, unit)


def _level(level: Level, unit: float) -> Iterator[str]:
    yield ""
    if level.by_conflicts:
        yield (
            f"At most {level.size} features: no value above {level.bound * unit:.17g}, by {len(level.claims)} small "
            "claims; features of a better choice all fit together, and each such choice lies within one of them."
        )
        for number, claim in enumerate(level.claims):
            root = f"with feature {claim.features[0]}, " if claim.rooted else ""
            yield f"  Claim {number}: {root}among {', '.join(map(str, claim.features))}; features by their places,"
            yield f"  the first {claim.kept} of them: the others fit to too few."
            yield from _tree(claim.nodes)
        return
    if not len(level.features):
        claimed = f"At most {level.size} features: no value above {level.bound * unit:.17g}"
        yield f"{claimed}; no feature contributes more than it costs."
        return
    if not level.nodes:
        yield f"At most {level.size} features: no value above {level.bound * unit:.17g}, by lengths alone."
        return
    yield (
        f"At most {level.size} features: no value above {level.bound * unit:.17g}, by {len(level.nodes)} nodes on "
        f"{len(level.features)} features; the others contribute too little."
    )
    yield from _tree(level.nodes)


def _tree(nodes: Sequence[Node]) -> Iterator[str]:
    stack = [(0, "all choices", False)]
    for number, node in enumerate(nodes):
        depth, which, signed = stack.pop() if stack else (0, "a node too many", False)
        yield f"{'  ' * (depth + 1)}{number}. {which}: {_rule(node)}"
        if isinstance(node, Beyond):
            stack.append((depth, "the same", signed))
        elif isinstance(node, Feature):
            stack += [(depth + 1, f"{word} {node.feature}", signed) for word in ("without", "with")]
        elif isinstance(node, Sign):  # the first sign of a path may be taken for +
            stack += [(depth + 1, f"v_{node.feature} {sign} 0", True) for sign in (("<=", ">=") if signed else (">=",))]


def _rule(node: Node) -> str:
    if isinstance(node, Feature):
        return f"branch on feature {node.feature}"
    if isinstance(node, Sign):
        return f"branch on the sign of v_{node.feature}"
    if isinstance(node, Lengths):
        return "closed by the lengths of its features"
    if isinstance(node, SampleEnvelope):
        return f"closed by {len(node.lines)} bounds in the l1 norm of the samples' weights"
    if isinstance(node, Envelope):
        lines = "one line" if len(node.lines) == 1 else f"{len(node.lines)} lines"
        return f"closed by {lines} above the variance"
    if isinstance(node, Listed):
        return f"its choices are part of support {node.support} of the list"
    if isinstance(node, Beyond):
        return f"below, the threshold is what support {node.support} of the list is worth, and a little more"
    attack = node.attack
    if isinstance(attack, Chord):
        majorant = f"chords with the intercept {attack.intercept:.3g}"
    elif isinstance(attack, SampleAttack) and len(attack.features) == 0:
        majorant = f"an attack on {len(attack.rows)} samples"
    elif len(attack.features) == 0:
        majorant = "the matrix itself"
    else:
        gain = f" with gain {attack.gain:.3g}" if attack.gain else ""
        majorant = f"the attack in response to a vector on {', '.join(map(str, attack.features))}{gain}"
    if isinstance(attack, Attack) and attack.deflation.any():
        majorant += ", less multiples of the directions"
    if isinstance(node, Matrix):
        return f"closed by {majorant}, and a matrix near its Schur complement"
    assert isinstance(node, Dominance)
    scaling = "" if node.scaling is None else ", scaled"
    return f"closed by {majorant}, and diagonal dominance{scaling}"
