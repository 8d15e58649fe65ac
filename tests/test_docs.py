"""The documents: snippets run and print what they say, lines are short, and the files they name are there."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import noap
from commands import noap as command_line

ROOT = Path(__file__).parent.parent
SNIPPETS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
]
# Written by hand: the others are made by `python -m benchmarks` and `noap reproduce`.
PAGES = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if not path.relative_to(ROOT).as_posix().startswith(("docs/benchmarks", "docs/reproduction", "docs/_executed"))
]
WIDEST = 120


def prose(text):
    """Yield the lines of a document, with their numbers, that are neither of a table nor of code."""
    fenced, blank, code = False, True, False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        # Code is set off by four spaces after a blank line, and goes on while lines are indented.
        code = line.startswith("    ") and (blank or code)
        blank = not line.strip()
        if not (fenced or code or line.startswith("|")):
            yield number, line


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_lines_are_short(path):
    long = [number for number, line in prose(path.read_text(encoding="utf-8")) if len(line) > WIDEST]
    assert not long, f"{path.name} has lines of more than {WIDEST} characters: {long}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_are_named_are_there(path):
    known = [
        file.as_posix()
        for folder in ("src", "tests", "tools", "benchmarks", "docs")
        for file in (ROOT / folder).rglob("*.py")
    ]
    for name in re.findall(r"`([\w/]+\.py)`", path.read_text(encoding="utf-8")):
        assert any(file.endswith(f"/{name}") for file in known), f"{path.name} names {name}"


def test_long_lines_of_prose_are_noticed():
    long = "x" * (WIDEST + 1)
    text = f"{long}\n| {long} |\n\n    {long}\n\n- a\n    {long}\n```\n{long}\n```\n{long}\n"
    assert [number for number, line in prose(text) if len(line) > WIDEST] == [1, 7, 11]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_standardise_by_name(path):
    """A formula of the reader's own gives other last digits, and a proof is about data to the last digit."""
    formula = re.search(r"- [\w.]+\.mean\(.*?\)\) */|StandardScaler\(\)\.", path.read_text(encoding="utf-8"))
    assert formula is None, formula


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(snippet, "snippet", "exec"), {"__name__": "__main__"})
    # A comment after print(...) says what it prints, up to "..." or a remark after ": ".
    promised = [
        line.split("  # ", 1)[1] for line in snippet.splitlines() if line.startswith("print(") and "  # " in line
    ]
    shown = printed.getvalue().splitlines()
    for words in promised:
        expected = re.split(r"\.\.\.|: ", words)[0].strip()
        if re.match(r"[\[\d(A-Z]", expected):
            assert any(line.startswith(expected) for line in shown), (words, shown)


def test_the_check_in_python_accepts_what_the_command_line_proves(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    assert len(block.splitlines()) == 5
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).standard_normal((40, 5))  # sixteen digits, the last of which must be read too
    pd.DataFrame(noise, columns=list("abcde")).to_csv("wine.csv", index=False)
    done = command_line("solve", "wine.csv", "-k", 2, "--noise", 0.3, "--certificate", "proof.noap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "block", "exec"), {"pd": pd, "noap": noap})
    assert printed.getvalue() == "True\n"


def test_advice_on_choosing_comes_with_a_time_limit():
    """Nobody is told to call what may not return: only the estimator has a limit of its own."""
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    calls = re.findall(r"noap\.(?:solve|path|k_path)\(.*", text.replace("`noap.solve`", ""))
    assert calls
    assert not [call for call in calls if "time_limit=" not in call and "ascent" not in call]
