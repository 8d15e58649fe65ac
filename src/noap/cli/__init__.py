"""The command line: `noap demo`, `noap solve`."""

from noap.cli.app import main

__all__ = ["main"]
