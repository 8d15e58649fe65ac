"""The checker of proofs by the relaxation in the l1 norm."""
