"""The checker of sample-wise proofs."""
