"""Compiled arithmetic of the checker of feature-wise proofs; docs/certificate-format-4.md proves it."""
