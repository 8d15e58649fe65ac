"""The tree of a joint search as a certificate."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from noap.joint.pricing import Pricing, Record
from noap.problem import Problem
from noap.proofs.claim import Claim
from noap.proofs.joint import JointCertificate
from noap.result import Result, zero_result

if TYPE_CHECKING:
    from noap.joint.search import JointSearch

__all__ = ["certificate_of", "nothing_worth"]


def certificate_of(
    problem: Problem, ks: tuple[int, ...], components: tuple[Result, ...], search: "JointSearch"
) -> JointCertificate:
    """Write down components and tree; the problem is the one with the largest k."""
    together = None if search.together is None else search.together.certificate()
    branches: list[int] = []
    records: dict[int, int] = {}
    kept: list[Record] = []
    leaves: list[int] = []
    stack = [search.root]
    while stack:
        node = stack.pop()
        branches.append(node.feature if node.children else problem.n_features)
        stack += node.children[::-1]
        if not node.children:
            assert node.record is not None
            if id(node.record) not in records:
                records[id(node.record)] = len(kept)
                kept.append(node.record)
            leaves.append(records[id(node.record)])
    made = _written(problem, ks, components, branches, leaves, kept, search.bound)
    return replace(made, removed=np.flatnonzero(search.removed).astype(np.uint32), together=together)


def nothing_worth(problem: Problem, ks: tuple[int, ...]) -> JointCertificate:
    """Return the certificate of a problem in which no support is worth anything."""
    costs = np.zeros(problem.n_features) if problem.costs is None else problem.costs
    pricing = Pricing(zero_result(problem, "exact", 0.0))
    record = Record(costs, (pricing,) * len(ks), costs=problem.costs)
    return _written(problem, ks, (), [problem.n_features], [0], [record], 0.0)


def _written(
    problem: Problem,
    ks: tuple[int, ...],
    components: tuple[Result, ...],
    branches: list[int],
    leaves: list[int],
    records: list[Record],
    bound: float,
) -> JointCertificate:
    # Every pricing once, though slots and records share them.
    pricings = list({id(pricing): pricing for record in records for pricing in record.pricings}.values())
    number = {id(pricing): i for i, pricing in enumerate(pricings)}
    certificates = tuple(pricing.result.certificate for pricing in pricings)
    assert all(one is not None for one in certificates)
    nothing = np.zeros(problem.n_features)
    # The largest component to the largest slot: it fits if any order does.
    order = sorted(range(len(ks)), key=lambda slot: -ks[slot])
    largest_first = sorted(components, key=lambda one: -len(one.support))
    value = float(np.sum([one.value for one in components]))
    return JointCertificate(
        Claim.about(problem, value, max(bound, value)),
        np.array(ks, dtype=np.uint32),
        np.array(order[: len(components)], dtype=np.uint32),
        np.append(0, np.cumsum([len(one.support) for one in largest_first])).astype(np.uint32),
        np.concatenate([np.empty(0, dtype=np.uint32), *(one.support for one in largest_first)]).astype(np.uint32),
        np.concatenate([np.empty(0), *(one.v[one.support] for one in largest_first)]),
        np.array(branches, dtype=np.uint32),
        np.array(leaves, dtype=np.uint32),
        np.concatenate([record.charges for record in records]),
        np.array([number[id(pricing)] for record in records for pricing in record.pricings], dtype=np.uint32),
        np.concatenate([nothing if p.result.problem.costs is None else p.result.problem.costs for p in pricings]),
        certificates,  # type: ignore[arg-type] # the exact search keeps its proof
    )
