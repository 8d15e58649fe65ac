"""Branch and bound: certified global optima of the whole problem."""
