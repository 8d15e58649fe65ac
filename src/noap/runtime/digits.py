"""Numbers with few digits: bounds are rounded up and values down, so that both stay true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

__all__ = ["down", "up"]


def up(number: float, digits: int = 5) -> str:
    """Return the number with a few digits, rounded up.

    >>> up(1.743051), up(0.0), up(float("inf"))
    ('1.7431', '0', 'none')
    """
    return _rounded(number, digits, ROUND_CEILING)


def down(number: float, digits: int = 5) -> str:
    """Return the number with a few digits, rounded down.

    >>> down(1.743099), down(0.25)
    ('1.7430', '0.25000')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, rounding: str) -> str:
    if not math.isfinite(number):
        return "none"
    exact = Decimal(number)
    if exact == 0:
        return "0"
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding)
    return f"{rounded:f}" if -4 <= exact.adjusted() < 7 else f"{rounded:e}"
