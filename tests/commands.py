"""The command line, as a test calls it."""

import os
import pty
import re
import subprocess
import sys

from typer.testing import CliRunner

from noap.cli.app import app


def run(*words):
    """Return what a command prints that succeeds; what it raises passes through."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def on_terminal(*arguments, cwd):
    """Run `python -m noap` with a terminal for stderr; return its exit code, stdout and what the terminal got."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "noap", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=cwd,
        env=os.environ | {"COLUMNS": "100", "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # what Linux says at the end
                break
            if not part:
                break
            seen += part
        stdout = process.stdout.read().decode()
    os.close(ours)
    return process.returncode, stdout, seen.decode()


def left_on_screen(seen):
    """What a terminal shows in the end: carriage returns go back, and the rest of the line is erased."""
    rows = []
    for row in seen.replace("\r\n", "\n").split("\n"):
        rows.append(re.sub(r"\x1b\[[\d;]*[a-zA-Z]", "", row.split("\r")[-1]))
    return "\n".join(rows).strip()
