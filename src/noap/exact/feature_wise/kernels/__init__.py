"""Compiled steps of the feature-wise search; docs/exact.md proves each."""
