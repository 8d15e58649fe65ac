"""The command line."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from noap.cli.app import main as run  # half of a second, during which Ctrl-C is answered already

        run()
    except KeyboardInterrupt:
        sys.stderr.write("noap: interrupted before there was an answer.\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is said is said: Python only ends after this
