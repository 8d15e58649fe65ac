"""Compiled arithmetic of the search for many features."""
