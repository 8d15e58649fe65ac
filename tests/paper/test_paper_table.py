"""docs/paper-notes.md begins with a table of everything that the paper numbers: complete, and true of the code."""

import re
from functools import reduce
from pathlib import Path

import pytest
import typer

import noap
import noap.mip
from noap.cli.app import app
from noap.methods import METHODS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "paper-notes.md").read_text(encoding="utf-8")
NUMBERED = {"Theorem": 5, "Proposition": 7, "Lemma": 1, "Remark": 2, "Assumption": 3, "Algorithm": 2, "Figure": 2}
VERDICTS = ("holds", "corrected", "depends", "definition", "as printed", "quoted")
LABELS = [f"({i})" for i in range(1, 12)]
LABELS += [f"{kind} {i + 1}" for kind, count in NUMBERED.items() for i in range(count)]


def table():
    """The rows of the first table of the page, as lists of cells."""
    lines = [line for line in PAGE.split("\n## Symbols", 1)[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


ROWS = {row[0]: row[1:] for row in table()}


def test_everything_numbered_is_there_once_and_in_order():
    assert [row[0] for row in table()] == LABELS
    assert {len(row) for row in table()} == {6}


@pytest.mark.parametrize("label", LABELS)
def test_the_file_says_the_name(label):
    files = re.findall(r"\[[\w.]+\]\(\.\./(src/noap/[\w/]+\.py)\)", ROWS[label][1])
    name = f"equation {label}" if label.startswith("(") else label
    assert files
    for file in files:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"{re.escape(name)}(?!\d)", text), f"{file} does not say {name}"


@pytest.mark.parametrize("label", LABELS)
def test_the_command_can_be_run(label):
    (words,) = re.findall(r"^`(.+)`$", ROWS[label][2])
    if not words.startswith("noap "):
        assert callable(reduce(getattr, words.split(".")[1:], noap))
        return
    _, name, *rest = words.split()
    command = typer.main.get_command(app).commands[name]
    table = ["data.csv", "-k", "5"] if name == "solve" else []
    parsed = command.make_context(name, [*table, *rest]).params  # raises what a user would be told
    assert parsed.get("method", "exact") in METHODS


@pytest.mark.parametrize("label", LABELS)
def test_the_tests_are_there(label):
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", ROWS[label][3])
    assert named
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("label", LABELS)
def test_the_verdict_is_one_of_few(label):
    assert ROWS[label][4].startswith(VERDICTS)


def test_every_test_that_the_page_names_is_there():
    files = list((ROOT / "tests").rglob("test_*.py"))
    known = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8"))}
    assert set(re.findall(r"\btest_\w+", PAGE)) <= known | {file.stem for file in files}


def test_the_readme_and_the_first_page_lead_to_the_table():
    for page, link in (("README.md", "docs/paper-notes.md"), ("docs/index.md", "paper-notes.md")):
        text = (ROOT / page).read_text(encoding="utf-8")
        section = text.split("## Coming from the paper?", 1)[1].split("\n## ", 1)[0]
        assert f"]({link}#everything-numbered)" in section, page
        assert "noap reproduce theorem5" in section, page
    assert "\n## Everything numbered\n" in PAGE


def test_the_programs_are_documented_in_the_papers_symbols():
    said = noap.mip.__doc__
    for symbol in (r"\mathrm{PLU}", r"\xi_j", r"\eta_j", r"\overline{\mathcal V}_k", r"\phi^i", r"\gamma", "`rank`"):
        assert symbol in said
