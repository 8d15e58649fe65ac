"""Bounds for problems with a metric, by the searches for those without one (docs/generalised.md)."""
