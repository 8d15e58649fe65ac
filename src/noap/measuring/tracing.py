"""Where the time of a call goes: seconds per part, a part being a few functions and all they call."""

import inspect
import pkgutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, ModuleType

__all__ = ["parts_of"]


def parts_of(job: Callable[[], object], parts: Mapping[str, str], sticky: str | None = None) -> dict[str, float]:
    """Return the share of every part in the time of `job`; what belongs to none is "overhead".

    Parameters
    ----------
    job : callable
    parts : mapping
        From "package.module" for every function of a file, or "package.module:Class.function" for one of them, to the
        part that the function opens. It lasts until the function returns or opens another part. A name that leads
        nowhere is an error.
    sticky : str, optional
        A part inside which no other part opens.
    """
    spent: dict[str, float] = defaultdict(float)
    files, functions = _places(parts)
    stack = ["overhead"]
    last = time.process_time()

    def hook(frame: FrameType, event: str, argument: object) -> None:
        nonlocal last
        if event not in ("call", "return"):
            return
        now = time.process_time()
        spent[stack[-1]] += now - last
        if event == "call":
            code = frame.f_code
            part = functions.get(code, files.get(code.co_filename))
            stack.append(stack[-1] if part is None or stack[-1] == sticky else part)
        elif len(stack) > 1:
            stack.pop()
        last = time.process_time()

    sys.setprofile(hook)
    try:
        job()
    finally:
        sys.setprofile(None)
    total = sum(spent.values())
    return {part: amount / total for part, amount in spent.items()}


def _places(parts: Mapping[str, str]) -> tuple[dict[str, str], dict[CodeType, str]]:
    """Return the parts by file and by function."""
    files: dict[str, str] = {}
    functions: dict[CodeType, str] = {}
    for name, part in parts.items():
        found = pkgutil.resolve_name(name)
        if isinstance(found, ModuleType):
            files[inspect.getfile(found)] = part
        else:
            functions[inspect.unwrap(found).__code__] = part
    return files, functions
