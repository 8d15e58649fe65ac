"""Numbers with few digits: bounds are rounded up and values down, so that both stay true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

__all__ = ["down", "percent_up", "up"]


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


def percent_up(share: float) -> str:
    """Return a share in per cent with two digits, rounded up.

    >>> percent_up(1e-4), percent_up(0.17501), percent_up(2.5e-9), percent_up(0.0), percent_up(float("inf"))
    ('0.01 %', '18 %', '2.5e-7 %', '0 %', 'unknown')
    """
    if not math.isfinite(share):
        return "unknown"
    # The shortest decimal of the float: 100 times it has no rounding of its own.
    hundredths = Decimal(repr(float(share))) * 100
    if hundredths == 0:
        return "0 %"
    rounded = hundredths.quantize(Decimal(1).scaleb(hundredths.adjusted() - 1), rounding=ROUND_CEILING).normalize()
    return f"{rounded:f} %" if -5 < rounded.adjusted() < 7 else f"{rounded:e} %".replace("e-0", "e-")


def _rounded(number: float, digits: int, rounding: str) -> str:
    if not math.isfinite(number):
        return "none"
    exact = Decimal(number)
    if exact == 0:
        return "0"
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding)
    return f"{rounded:f}" if -4 <= exact.adjusted() < 7 else f"{rounded:e}"
