"""Solvers: one adapter per file, each importing its solver only when it runs."""
