"""Numbers: products with the data, and the elementary steps on batches of vectors."""
