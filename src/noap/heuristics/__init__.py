"""The primal side: feasible vectors, found fast."""
