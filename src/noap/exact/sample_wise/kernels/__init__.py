"""Compiled steps of the sample-wise search; docs/exact-sample-wise.md proves each."""
