"""Analyses that solve many problems: paths, near-optimal supports, the bootstrap, shuffled data, noise, near-copies."""
