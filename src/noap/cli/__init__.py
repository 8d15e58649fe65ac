"""The command line."""

import atexit
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # Python ends in silence
    try:
        from noap.cli.app import main as run  # half of a second, during which Ctrl-C is answered already

        run()
    except KeyboardInterrupt:
        sys.stderr.write("noap: interrupted before there was an answer.\n")
        sys.exit(130)
