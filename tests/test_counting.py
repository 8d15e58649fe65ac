"""The line that counts the parts of a long computation."""

import sys

from noap.runtime import counting
from noap.runtime.counting import CountLine


def counted(total, wanted):
    with CountLine("resample", total, wanted) as line:
        for _ in range(total):
            line.step()


def test_it_is_silent_unless_wanted_and_quiet_in_a_log(capsys):
    counted(3, wanted=False)
    counted(3, wanted=True)  # a log hears of it once a minute
    assert capsys.readouterr().err == ""


def test_a_log_hears_of_it_each_minute(capsys, monkeypatch):
    clock = iter(range(0, 6000, 61))
    monkeypatch.setattr(counting.time, "monotonic", lambda: float(next(clock)))
    counted(3, wanted=True)
    assert capsys.readouterr().err.splitlines() == [f"noap: resample {number} of 3" for number in (1, 2, 3)]


def test_a_terminal_has_one_line_that_is_written_over(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    counted(2, wanted=True)
    assert capsys.readouterr().err == "\rnoap: resample 1 of 2\x1b[K\rnoap: resample 2 of 2\x1b[K\r\x1b[K"
