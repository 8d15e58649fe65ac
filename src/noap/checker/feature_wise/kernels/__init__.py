"""Compiled arithmetic of the checker of feature-wise proofs; docs/certificate-format.md proves it."""
