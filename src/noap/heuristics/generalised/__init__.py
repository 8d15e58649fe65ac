"""Good directions of a problem with a metric."""
