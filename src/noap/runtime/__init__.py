"""The run of a long computation: limits, interrupts, progress, tasks, workers, files."""
