"""The command line."""

from noap.cli.app import main

__all__ = ["main"]
