"""Numbers as the page writes them. A bound is rounded up and a value down, so that both stay true."""

import math

from noap.runtime.digits import down, up

__all__ = ["down", "percent_up", "plain", "ticks", "up"]


def percent_up(share: float) -> str:
    r"""Return a share as a percentage of at most two digits, rounded up.

    >>> percent_up(9.99e-5), percent_up(0.0), percent_up(float("inf"))
    ('0.01\xa0%', '0\xa0%', 'unknown')
    """
    if not math.isfinite(share):
        return "unknown"
    digits = up(100 * share, 2)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits and 'e' not in digits else digits}\N{NO-BREAK SPACE}%"


def plain(number: float, digits: int = 3) -> str:
    """Return the number with so many digits, to nearest and without trailing zeros.

    >>> plain(0.25), plain(12345.6)
    ('0.25', '12346')
    """
    return f"{number:.{digits}g}" if abs(number) < 10**digits else f"{number:.0f}"


def ticks(last: float) -> list[float]:
    """Return about five round numbers from 0 to `last`.

    >>> ticks(1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = last / 5
    base = 10.0 ** math.floor(math.log10(rough))
    step = min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(m * base - rough)) * base
    # A little slack: 1.0 built from norms may come out as 1 - 1e-16.
    return [round(i * step, 12) for i in range(math.floor(last / step * (1 + 1e-9)) + 1)]
