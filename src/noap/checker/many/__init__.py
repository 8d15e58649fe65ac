"""Proofs for many features: the graphs of features that fit together, made anew, and the trees on them."""
