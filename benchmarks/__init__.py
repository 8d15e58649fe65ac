"""Measurements. Each writes one results file that says machine, versions and commit."""
