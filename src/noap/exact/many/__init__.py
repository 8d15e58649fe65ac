"""The exact search for many features: a sparse graph of pairs that fit together, and small problems on it."""
