"""What a proof is, and the file that holds it."""
