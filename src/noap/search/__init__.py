"""Finds answers and the witnesses of their proofs, in plain floating point; nothing here is trusted."""
