"""Tampered matrices with a core: refused in one sentence, or what is proved is true all the same."""

import dataclasses

import numpy as np
import pytest
from tampering import Honest, claiming, edited, sentence
from test_tampering_files import read

import noap
from noap.exact.relaxation import core as core_module
from noap.exact.relaxation import relaxation as relaxation_module
from noap.proofs.relaxation import CORE, GIVEN
from relaxation_only import force_relaxation

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


class Core(Honest):
    """A problem that matrices with a core alone have proved."""

    def __init__(self, X, k, rho):
        with pytest.MonkeyPatch.context() as patch:
            force_relaxation(patch)
            patch.setattr(relaxation_module, "MOST_FEATURES", 3)
            patch.setattr(core_module, "_FIRST", 4)
            patch.setattr(core_module, "MOST_CORE", 5)
            patch.setattr(core_module, "_VECTORS", 2)
            super().__init__(X, k, rho, gap=1e-6)


@pytest.fixture(scope="module")
def cored():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 10))
    X[:, :4] += 1.2 * rng.standard_normal((30, 1))
    made = Core(X, 3, 0.25 * np.sqrt(30))
    proof = made.certificate.proof
    assert (proof.kinds == CORE).any()
    assert (proof.slopes[len(proof.kinds) :] > 0).any()
    return made


def outer(c, load=1.0, lift=1.0, cut=1.0):
    """Other numbers for the features outside the cores, by these factors."""
    proof = c.proof
    factors = np.append(np.where(proof.kinds == CORE, cut, 1.0), np.tile([load, lift], (proof.kinds == CORE).sum()))
    return edited(c, slopes=proof.slopes * factors)


def without_outside(c):
    """The core alone, as if there were no other features."""
    proof = c.proof
    kinds = np.where(proof.kinds == CORE, GIVEN, proof.kinds).astype(np.uint8)
    return edited(c, kinds=kinds, slopes=proof.slopes[: len(kinds)])


FATAL = {
    "no features outside": without_outside,
    "nothing paid outside": lambda c: outer(c, lift=0.0),
    "loads outside raised": lambda c: outer(c, load=1.5),
    "lifts outside raised": lambda c: outer(c, lift=1.5),
    "lifts outside lowered": lambda c: outer(c, lift=0.7),
    "cut by more": lambda c: outer(c, cut=1.5),
    "not cut at all": lambda c: outer(c, cut=0.0),
    "matrices lowered": lambda c: edited(c, entries=c.proof.entries * np.float32(0.98)),
    "loads raised": lambda c: edited(c, loads=c.proof.loads * 1.5),
    "lifts lowered": lambda c: edited(c, lifts=c.proof.lifts * 0.8),
}
HARMLESS = {
    "loads outside by an ulp": lambda c: outer(c, load=1 + 2.3e-16),
    "lifts outside out of this world": lambda c: outer(c, lift=1e300),
    "loads outside out of this world": lambda c: outer(c, load=1e300),
    "cut by all": lambda c: outer(c, cut=1e300),
    "another core": lambda c: edited(c, places=_moved(c.proof)),
}


def _moved(proof):
    places = proof.places.copy().astype(np.int64)
    for a, b in zip(proof.starts[:-1].astype(int), proof.starts[1:].astype(int), strict=True):
        places[a:b] = np.arange(len(proof.features) - (b - a), len(proof.features))
    return places.astype(np.uint32)


@pytest.mark.parametrize("name", [*FATAL, *HARMLESS])
def test_a_core_that_was_changed_proves_nothing_false(cored, name):
    tampered = (FATAL | HARMLESS)[name](cored.certificate)
    report = cored.judge(tampered)
    assert not (report.ok and name in FATAL), name
    for share in (1 - 1e-6, 0.999, 0.9, 0.5, 0.0):
        assert not cored.judge(claiming(tampered, bound=share * cored.optimum, value=0.0)).ok
    cored.judge(claiming(tampered, bound=1e3 * cored.certificate.bound))
    read(tampered.to_bytes())


def test_what_is_honest_is_accepted_from_a_file(cored):
    again = noap.Certificate.from_bytes(cored.certificate.to_bytes())
    report = noap.verify(cored.problem, again)
    assert report.ok, report.message
    assert again.bound <= report.bound <= again.bound * (1 + 2e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p: {"slopes": p.slopes[:-1]},
        lambda p: {"slopes": np.append(p.slopes, 0.0)},
        lambda p: {"slopes": np.append(p.slopes[:-1], -1.0)},
        lambda p: {"kinds": np.where(p.kinds == CORE, 3, p.kinds).astype(np.uint8)},
        lambda p: {"kinds": np.where(p.kinds == CORE, GIVEN, p.kinds).astype(np.uint8)},
    ],
)
def test_malformed_numbers_are_named(cored, wrong):
    c = cored.certificate
    broken = dataclasses.replace(c, proof=dataclasses.replace(c.proof, **wrong(c.proof)))
    report = noap.verify(cored.problem, broken)
    assert not report.ok
    sentence(report.message, "Rejected: ")
