"""Analyses that solve many problems: paths, near-optimal supports, the bootstrap, noise, near-copies."""
