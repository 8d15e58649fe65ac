"""Every figure of the README's "What to expect", and of other computed blocks, is what benchmarks/results say."""

import re
from pathlib import Path

from benchmarks import computed

ROOT = Path(__file__).parent.parent


def test_a_block_says_what_was_measured():
    for name, (page, compute) in computed.BLOCKS.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"<!-- computed: {name} -->\n\n{compute().strip()}\n\n<!-- end of {name} -->" in text, name


def test_every_block_is_known_and_where_it_belongs():
    """No page holds a block that nothing computes, and none is computed that no page holds."""
    held = {
        name: page.relative_to(ROOT).as_posix()
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for name in re.findall(r"<!-- computed: (\w+) -->", page.read_text(encoding="utf-8"))
    }
    assert held == {name: page for name, (page, _) in computed.BLOCKS.items()}
    for name in computed.BLOCKS:
        assert all((ROOT / source).exists() for source in computed.sources(name))


def test_a_figure_that_was_typed_is_noticed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    typed = re.sub(r"median [\d.]+ ms", "median 0.1 ms", text)
    assert typed != text
    assert computed.rewritten("README.md", typed) == text
