"""Check proofs about problems with a metric (docs/generalised.md)."""
