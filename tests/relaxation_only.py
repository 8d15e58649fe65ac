"""The exact search by the tree of the relaxation alone: no other tree is grown."""

from noap.exact.feature_wise.attempt import Attempt, relaxation_of

MOST_NODES = 400


def by_relaxation_alone(attempt):
    """Advance the relaxation until it proves the asked gap, can prove no more, or has many nodes."""
    instance = attempt.instance
    if not instance.clear_cut:
        return
    relaxation = relaxation_of(instance)
    while not (relaxation.done or attempt.done or attempt.meter.stopped() or relaxation.nodes > MOST_NODES):
        if relaxation.bound < attempt.bound:
            attempt.prover, attempt.bound = relaxation, relaxation.bound
        relaxation.advance(attempt.incumbent.target(attempt.asked_gap))
        attempt.meter.nodes += 1
        yield
    if relaxation.bound < attempt.bound:
        attempt.prover, attempt.bound = relaxation, relaxation.bound


def force_relaxation(monkeypatch):
    """Let every attempt of the test go by the relaxation alone, straight at k features."""
    monkeypatch.setattr(Attempt, "turns", by_relaxation_alone)
    monkeypatch.setattr("noap.exact.feature_wise.search._FEWEST", 10**9)
