"""The search for many features alone, on problems of any size."""

from noap.exact import prove
from noap.exact.many import graph, wide
from noap.heuristics import ascent


def force_many(monkeypatch, whole=None):
    """Let every search of the test be the one for many features; whole = 0 looks at no component as a whole."""
    monkeypatch.setattr(prove, "MANY_FEATURES", 0)
    monkeypatch.setattr(wide, "MOST_GRAM_FEATURES", 0)
    monkeypatch.setattr(ascent, "MANY_FEATURES", 0)
    if whole is not None:
        monkeypatch.setattr(graph, "_WHOLE", whole)
        monkeypatch.setattr(graph, "_MOST_WHOLE", whole)
