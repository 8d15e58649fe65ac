"""Compiled arithmetic of the checker of sample-wise proofs; docs/certificate-format-sample-wise.md proves it."""
