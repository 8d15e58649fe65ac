"""Samples as an array of another library, on its device: what is found and sieved there, and its error."""
