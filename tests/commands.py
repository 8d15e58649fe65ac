"""The command line, as a test calls it."""

from typer.testing import CliRunner

from noap.cli.app import app


def run(*words):
    """Return what a command prints that succeeds; what it raises passes through."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout
