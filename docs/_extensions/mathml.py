"""Formulas as MathML, which every current browser draws by itself: no script, no network.

Where a machine has no font for mathematics, as most phones, it is drawn with one that comes with the site.
"""

import re
import shutil
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

FONT = "STIXTwoMath-Regular.ttf"
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# \frac12 is a half for TeX; the converter reads the number twelve.
BARE = re.compile(r"(\\[td]?frac)\s*([0-9])\s*([0-9A-Za-z])")
BARS = set("|‖")
RELATIONS = set("=≠<>≤≥⪯⪰∈∉⊆→↦≈,\N{TILDE OPERATOR}")
SUMS = set("+±\N{MINUS SIGN}")
OPENING = {"", *RELATIONS, *SUMS, *"([{"}  # what a sign may follow
ROWS = {"math", "mrow", "mtd", "msqrt"}
SHORT = 16  # a formula of so many characters stays on one line
LONG = 24  # one of more may also be broken within parentheses


def formula(text: str, *, block: bool = False) -> ElementTree.Element:
    """Convert TeX to a math element."""
    try:
        made = tex2mathml(BARE.sub(r"\1{\2}{\3}", text), as_block=block)
    except MathError as error:
        raise ExtensionError(f"The formula {text!r} cannot be typeset: {error}") from error
    root = ElementTree.fromstring(made.replace("&ApplyFunction;", "\u2061"))
    for part in root.iter():
        part.tag = part.tag.removeprefix(f"{{{NAMESPACE}}}")
        if part.tag == "mtable":
            part.set("displaystyle", "true")
        # A bar of a norm is no relation: without spaces, and as high as a letter.
        if part.tag == "mo" and part.text in BARS:
            part.attrib |= {"form": "prefix", "lspace": "0", "rspace": "0", "stretchy": "false"}
        if part.text == "/":
            part.attrib |= {"lspace": "0.05em", "rspace": "0.05em"}
        if part.text == "\N{DOWN TACK}":
            part.set("class", "transpose")
        part.tail = None
        if len(part):
            part.text = None
    for row in root.iter():
        for sign in signs(row):
            sign.attrib |= {"form": "prefix", "lspace": "0", "rspace": "0"}
    return root


def signs(row: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield what looks like an addition but is the sign of what follows, or a sign that is spoken of."""
    before = ""
    for part in row:
        text = (part.text or "") if part.tag == "mo" else " "
        if text in SUMS and row.tag in ROWS and before in OPENING:
            yield part
        if part.tag != "mspace":
            before = text


def pieces(root: ElementTree.Element) -> list[ElementTree.Element]:
    """Cut a formula in a line of text after relations and signs: browsers do not break formulas themselves."""
    length = len("".join(root.itertext()))
    if length <= SHORT:
        return [root]
    found, depth = [ElementTree.Element("math")], 0
    for part in root:
        text = (part.text or "") if part.tag == "mo" else ""
        found[-1].append(part)
        bracket = "".join(part.itertext())[:1] if part.tag in {"mo", "msub", "msup", "msubsup"} else ""
        depth += (bracket in {"(", "[", "{"}) - (bracket in {")", "]", "}"})
        binary = part.get("form") != "prefix"
        if (text in RELATIONS or (text in SUMS and binary)) and (depth == 0 or length > LONG):
            part.set("form", "infix")
            found.append(ElementTree.Element("math"))
    return [piece for piece in found if len(piece)]


def written(root: ElementTree.Element) -> str:
    """Return the element as it stands in a page."""
    root.set("xmlns", NAMESPACE)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


class Neighbours(SphinxPostTransform):
    """Give a formula the brackets and stops next to it: a line must not begin with a comma."""

    default_priority = 800

    def run(self, **_: object) -> None:
        """Take them from the text before and after every formula."""
        for node in list(self.document.findall(nodes.math)):
            place = node.parent.index(node)
            for key, other, pattern in (("before", place - 1, r"[(\[“\"]+$"), ("after", place + 1, r"^[^\s\w(\[“]+")):
                if not 0 <= other < len(node.parent) or not isinstance(node.parent[other], nodes.Text):
                    continue
                text = node.parent[other].astext()
                if found := re.search(pattern, text):
                    node[key] = found.group(0)
                    node.parent[other] = nodes.Text(text[: found.start()] + text[found.end() :])


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    parts = [written(piece) for piece in pieces(formula(node.astext()))]
    parts[0] = escape(node.get("before", "")) + parts[0]
    parts[-1] += escape(node.get("after", ""))
    self.body.append("<wbr>".join(f'<span class="formula">{part}</span>' for part in parts))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    root = formula(node.astext(), block=True)
    root.set("display", "block")
    self.body.append(f'<div class="math">{written(root)}</div>')
    raise nodes.SkipNode


def font(app: Sphinx, error: Exception | None) -> None:
    """Put the font of mathematics beside the style sheet."""
    found = find_spec("ziamath")
    if error is None and found is not None and found.origin is not None and app.builder.format == "html":
        shutil.copy(Path(found.origin).parent / "fonts" / FONT, Path(app.outdir) / "_static" / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.add_post_transform(Neighbours)
    app.connect("build-finished", font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
