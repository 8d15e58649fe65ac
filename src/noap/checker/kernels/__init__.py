"""Compiled arithmetic that both halves of the checker use."""
