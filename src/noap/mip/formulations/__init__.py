"""Write the programs of the paper as solver-neutral models."""
