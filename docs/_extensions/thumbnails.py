"""The gallery as pictures: every entry of its list becomes a card with a picture that its example drew."""

import re
from html import escape
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

GALLERY = "gallery"
LIST = re.compile(r"(?:^- \[.*\n)+", re.MULTILINE)
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([\w-]+)\.md\): (.*)$", re.MULTILINE)


def cards(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the list of the gallery by cards."""
    if docname == f"{GALLERY}/index":
        source[0] = LIST.sub(
            lambda found: (
                '```{raw} html\n<div class="cards">\n'
                + "".join(map(card, ENTRY.findall(found.group(0))))
                + "</div>\n```\n"
            ),
            source[0],
        )


def card(entry: tuple[str, str, str]) -> str:
    """Return one entry; the picture lies beside the page, where the site keeps what the examples wrote."""
    title, page, words = (escape(part) for part in entry)
    return (
        f'<a class="card" href="{page}.html"><img src="{page}/{page}.png" alt="" loading="lazy">'
        f"<strong>{title}</strong><span>{words}</span></a>\n"
    )


def complete(app: Sphinx, error: Exception | None) -> None:
    """Stop the build where an example of the gallery drew no picture of its own name."""
    if error is not None or app.builder.format != "html":
        return
    for file in (Path(app.srcdir) / GALLERY).glob("*.md"):
        if file.stem != "index" and not (Path(app.outdir) / GALLERY / file.stem / f"{file.stem}.png").exists():
            raise ExtensionError(f"The example of {GALLERY}/{file.name} draws no {file.stem}.png for the gallery.")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", cards)
    app.connect("build-finished", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
