"""The command line, as a test calls it: in this process, which saves a second of imports each time."""

import contextlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import warnings
from types import SimpleNamespace
from unittest import mock

from noap.cli import main


def noap(*words, cwd="."):
    """Run a command; return its exit code, and what it writes to stdout and stderr."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),  # also puts back warnings.showwarning
        mock.patch.object(sys, "argv", ["noap", *map(str, words)]),
    ):
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as end:
            code = end.code
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def run(*words, cwd="."):
    """Return what a command prints that succeeds."""
    done = noap(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def document(*words, cwd="."):
    """Return the JSON of a command that succeeds."""
    return json.loads(run(*words, "--json", cwd=cwd))


def refusal(*words, cwd="."):
    """Return the one line with which a command is refused, with exit code 2 and nothing on stdout."""
    done = noap(*words, cwd=cwd)
    assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
    (line,) = done.stderr.strip().splitlines()
    return line


class PressingTerminal(io.StringIO):
    """A terminal at which Ctrl-C is pressed once, when a text has appeared on it so many times."""

    def __init__(self, text, times=1):
        super().__init__()
        self.text, self.left = text, times

    def isatty(self):
        return True

    def write(self, shown):
        written = super().write(shown)
        if self.text in shown:
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
        return written


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
