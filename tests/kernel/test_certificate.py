"""The file: every kind of witness goes through it unchanged, and its arrays are those of the page that describes it."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import every_kind

import noap
from noap.errors import InvalidProblem
from noap.kernel import container, schema
from noap.kernel.certificate import Certificate
from noap.kernel.verify import rounded_down
from noap.kernel.witness import LENGTHS, Feature, Sign

PAGE = Path(__file__).parents[2] / "docs" / "certificate-format.md"


@pytest.fixture(scope="module")
def built():
    return every_kind()


def same(a, b, path="certificate"):
    """Assert that two dataclasses, tuples or arrays are equal, with their types."""
    assert type(a) is type(b), path
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype or (a.dtype.kind in "iu" and b.dtype.kind in "iu"), path
        assert np.array_equal(a, b), path
    elif isinstance(a, tuple):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{path}[{i}]")
    elif hasattr(a, "__dataclass_fields__"):
        for name in a.__dataclass_fields__:
            same(getattr(a, name), getattr(b, name), f"{path}.{name}")
    else:
        assert a == b, path


def test_every_kind_of_witness_is_accepted_and_survives_the_file(built):
    problem, certificate = built
    assert noap.verify(problem, certificate).ok, noap.verify(problem, certificate).message
    data = certificate.to_bytes()
    again = Certificate.from_bytes(data)
    same(certificate, again)
    assert again.to_bytes() == data
    verification = noap.verify(problem, again)
    assert verification.ok
    assert verification.bound == certificate.bound == again.bound
    assert verification.nodes == certificate.nodes == 15


def test_every_array_is_used(built):
    _, certificate = built
    _, arrays = container.unpack(certificate.to_bytes())
    # test_directions.py, test_metric_rule.py, test_samples.py and tests/joint/test_rule_w.py have the others.
    lists = {name for name in schema.ARRAYS if name.startswith("list_")}
    own = ("directions", "_deflation", "_multipliers", "metric", "metric_least")
    directions = {name for name in schema.ARRAYS if name.endswith(own)}
    samples = {name for name in schema.ARRAYS if name.startswith("attack_") or name == "envelope_scalings"}
    joint = {
        name for name in schema.ARRAYS if name.startswith(("slot", "claim_levels", "claim_costs", "owner", "fan_"))
    }
    assert set(schema.ARRAYS) - set(arrays) == {"include", "mean", "scale"} | lists | directions | samples | joint


def test_shared_witnesses_are_stored_once():
    _problem, certificate = every_kind()
    first = certificate.proof.levels[0]
    twice = type(first)(first.size, first.bound, first.target, first.features, first.nodes * 2)
    assert len(schema.written([twice])["dominance_majorant"]) == 1
    assert len(schema.written([twice])["line_size"]) == 1


def test_leaves_without_witnesses():
    problem, certificate = every_kind()
    nodes = certificate.proof.levels[2].nodes
    read = schema.levels_from(schema.written(certificate.proof.levels), problem.n_features)[0][2].nodes
    assert [type(node) for node in read] == [type(node) for node in nodes]
    assert read[-1] is LENGTHS
    assert [node.feature for node in read if isinstance(node, Feature | Sign)] == [
        node.feature for node in nodes if isinstance(node, Feature | Sign)
    ]


def arrays_of_the_page():
    """Names and types in the tables of arrays."""
    found, inside = {}, False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == "array":
            inside = True
        elif inside and not set(cells[0]) <= set("-"):
            names = re.findall(r"`(\w+)`", cells[0])
            types = re.findall(r"\b[uif][1248]\b", cells[1])
            assert names
            assert len(types) in (1, len(names)), line
            found |= dict(zip(names, types * len(names) if len(types) == 1 else types, strict=False))
    return found


def test_the_arrays_are_those_of_the_page():
    assert arrays_of_the_page() == {name: array.dtype for name, array in schema.ARRAYS.items()}


def test_the_header_has_the_keys_of_the_page(built):
    _, certificate = built
    header, _ = container.unpack(certificate.to_bytes())
    rows = PAGE.read_text().split("The other keys of the header", 1)[1].split("\n\n")[1]
    named = {name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert set(header) == named | {"arrays"}


def test_rules_have_the_numbers_of_the_page(built):
    _, certificate = built
    _, arrays = container.unpack(certificate.to_bytes())
    codes = {int(n): name for n, name in re.findall(r"^\| (\d) \| ([A-Z]+) \|", PAGE.read_text(), re.MULTILINE)}
    names = [codes[int(rule)] for rule in arrays["rule"]]
    levels = certificate.proof.levels
    trees = [level.nodes for level in levels] + [claim.nodes for level in levels for claim in level.claims]
    kinds = [type(node).__name__.upper() for nodes in trees for node in nodes]
    assert names == kinds
    assert len(codes) == 8


def test_numbers_of_a_header_beyond_doubles_are_refused(built):
    _, certificate = built
    header, arrays = container.unpack(certificate.to_bytes())
    for key in ("value", "bound", "shift", "exponent", "k", "n_samples"):
        for bad in (10**400, -(10**400), True, "1", None, [1], 1e400):
            if key == "shift" and bad is None:
                continue
            with pytest.raises(InvalidProblem):
                Certificate.from_bytes(container.pack(header | {key: bad}, arrays))


def test_equal_values_and_bounds_are_allowed(built):
    _, certificate = built
    header, arrays = container.unpack(certificate.to_bytes())
    assert Certificate.from_bytes(container.pack(header | {"value": header["bound"]}, arrays)).value == header["bound"]
    with pytest.raises(InvalidProblem):
        Certificate.from_bytes(container.pack(header | {"value": math.nextafter(header["bound"], 99)}, arrays))


def test_values_are_rounded_down():
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = Fraction(float(rng.standard_normal())) / 3 * Fraction(10) ** int(rng.integers(-300, 300))
        low = rounded_down(x)
        assert Fraction(low) <= x
        assert Fraction(math.nextafter(low, math.inf)) >= x
    assert rounded_down(Fraction(1, 2)) == 0.5


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-30, 1.0, 1e30, 1e100, 1e140])
@pytest.mark.parametrize("noisy", [False, True])
def test_data_of_every_size(scale, noisy):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 5)) * scale
    adversary = noap.FeatureWise(0.5 * scale) if noisy else noap.NoAdversary()
    for problem in (
        noap.Problem(X, 3, adversary),
        noap.Problem(X, 3, adversary, costs=np.full(5, 0.01 * scale * scale)),
    ):
        certificate = Certificate.from_bytes(noap.solve(problem).certificate.to_bytes())
        assert noap.verify(problem, certificate).ok


@pytest.mark.parametrize("tiny", [5e-320, 5e-324, 1e-300])
def test_numbers_at_the_end_of_the_range(tiny):
    """Budgets, costs, entries and columns that underflow beside others are no obstacle."""
    X = np.random.default_rng(2).standard_normal((6, 4))
    small = X.copy()
    small[:, 0] = tiny
    S = X.T @ X / 6
    S[0, 1] = S[1, 0] = tiny
    S += 3 * np.eye(4)
    for problem in (
        noap.Problem(X, 2, noap.FeatureWise(tiny)),
        noap.Problem(X, 2, noap.FeatureWise([tiny, 0.5, 0.0, np.inf])),
        noap.Problem(X, 2, noap.FeatureWise(0.5), costs=[tiny, 0.0, 0.1, tiny]),
        noap.Problem(X, 2, noap.NoAdversary(), costs=np.full(4, tiny)),
        noap.Problem(small, 2, noap.FeatureWise(0.5)),
        noap.Problem(small, 4, noap.NoAdversary()),
        noap.Problem.from_covariance(S, n_samples=6, k=2, adversary=noap.FeatureWise(tiny)),
    ):
        certificate = Certificate.from_bytes(noap.solve(problem).certificate.to_bytes())
        verification = noap.verify(problem, certificate)
        assert verification.ok, verification.message
