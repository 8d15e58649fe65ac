"""Where the time of a call goes: seconds per part, a part being a few functions and all they call."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import FrameType

__all__ = ["parts_of"]


def parts_of(
    job: Callable[[], object], parts: Mapping[tuple[str, str], str], sticky: str | None = None
) -> dict[str, float]:
    """Return the share of every part in the time of `job`; what belongs to none is "overhead".

    Parameters
    ----------
    job : callable
    parts : mapping
        From the end of a file's path and a function's name ("*" for every function of the file) to the part that the
        function opens. It lasts until the function returns or opens another part.
    sticky : str, optional
        A part inside which no other part opens.
    """
    spent: dict[str, float] = defaultdict(float)
    known: dict[object, str | None] = {}
    stack = ["overhead"]
    last = time.process_time()

    def opened(frame: FrameType) -> str | None:
        code = frame.f_code
        if code not in known:
            place = code.co_filename.replace("\\", "/")
            found = [
                part for (tail, name), part in parts.items() if place.endswith(tail) and name in ("*", code.co_name)
            ]
            known[code] = found[0] if found else None
        return known[code]

    def hook(frame: FrameType, event: str, argument: object) -> None:
        nonlocal last
        if event not in ("call", "return"):
            return
        now = time.process_time()
        spent[stack[-1]] += now - last
        if event == "call":
            part = opened(frame)
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
