"""Jobs in processes of their own, and the peak memory of a process."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["in_fresh_process", "peak_memory"]


def peak_memory() -> float | None:
    """Return the most memory that this process has held so far, in MB; None where the system does not say.

    Examples
    --------
    >>> peak_memory() is None or peak_memory() > 1
    True
    """
    # Imported here: the text of this function is also part of programs that import nothing of noap.
    import re
    from pathlib import Path

    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if found is None else int(found[1]) / 1024


_PRELUDE = f"import json, sys\n{inspect.getsource(peak_memory)}\n"


def in_fresh_process(
    program: str, *arguments: str, sources: Path | None = None, variables: Mapping[str, str] | None = None
) -> Any:
    """Run a program in an interpreter of its own, and return the JSON document that it prints last.

    Parameters
    ----------
    program : str
        Python; finds `json`, `sys` and :func:`peak_memory` there, and its arguments from ``sys.argv[1]`` on. Nothing of
        noap is loaded that it does not import.
    arguments : str
    sources : Path, optional
        A folder to import from before all others, such as that of another version of noap.
    variables : mapping, optional
        Environment variables beside those of this process.

    Raises
    ------
    subprocess.CalledProcessError
        If the program fails.

    Examples
    --------
    >>> in_fresh_process("print(json.dumps({'sum': int(sys.argv[1]) + 1, 'noap': 'noap' in sys.modules}))", "2")
    {'sum': 3, 'noap': False}
    """
    paths = {} if sources is None else {"PYTHONPATH": str(sources)}
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE + program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **paths, **(variables or {})},
    )
    return json.loads(done.stdout.splitlines()[-1])
