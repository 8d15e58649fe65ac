"""The checker of proofs about adversaries that leave (|Xv| - rho |v|_1)_+."""
