"""The compiled steps of ascent."""
