"""How a long computation behaves: controls, limits, compilation, progress, files."""
