"""The programs of the paper, written as solver-neutral models."""
