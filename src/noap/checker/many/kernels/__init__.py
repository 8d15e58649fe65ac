"""Compiled arithmetic of the checker for many features."""
