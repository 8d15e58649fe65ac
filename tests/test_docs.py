"""Every Python snippet in the documents runs, and prints what the document says it prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SNIPPETS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
]


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
