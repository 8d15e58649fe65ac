"""Branch and bound against the sample-wise adversary."""
