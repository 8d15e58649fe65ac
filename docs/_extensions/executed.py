"""Run the Python blocks of every page, and put what they print and draw under them.

Each block runs on its own, as the test of the documents runs it. An example that fails stops the build.
"""

import contextlib
import io
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

BLOCK = re.compile(r"```python\n(.*?)```\n", re.DOTALL)


def execute(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace every Python block of a page by itself and its output."""
    folder = Path(app.srcdir) / "_executed" / docname
    shutil.rmtree(folder, ignore_errors=True)
    source[0] = BLOCK.sub(lambda block: block.group(0) + output(app, docname, folder, block.group(1)), source[0])


def output(app: Sphinx, docname: str, folder: Path, code: str) -> str:
    """Run one block and return its output as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    before, printed = set(folder.iterdir()), io.StringIO()
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(compile(code, f"{docname}.md", "exec"), {"__name__": "__main__"})
    except Exception as error:
        raise ExtensionError(f"An example of {docname}.md fails: {type(error).__name__}: {error}") from error
    parts = []
    if printed.getvalue().strip():
        parts.append(f"```{{code-block}} text\n:class: output\n\n{printed.getvalue().rstrip()}\n```\n")
    for file in sorted(set(folder.iterdir()) - before):
        if file.suffix == ".png":
            parts.append(f"![{file.stem}](/_executed/{docname}/{file.name})\n")
        elif file.suffix == ".html":
            name = docname.rsplit("/", 1)[-1]
            parts.append(f'```{{raw}} html\n<p><a href="{name}/{file.name}">Open {file.name}</a></p>\n```\n')
    if not any(folder.iterdir()):
        folder.rmdir()
    return "\n" + "\n".join(parts) + "\n" if parts else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", execute)
    # Blocks change the folder they run in, which belongs to the whole process.
    return {"parallel_read_safe": False, "parallel_write_safe": True}
