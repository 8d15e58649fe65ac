"""The site as a reader gets it: no formula in ASCII, no two titles alike, nothing that a screen cuts off.

`make test-docs` reads the site that `make docs` has made; otherwise it is built here, where Sphinx is installed.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
# Made by Sphinx, without an article of ours.
# What Markdown or TeX leaves behind, and formulas as they are typed in code.
LEFTOVERS = {
    "a dollar": r"\$",
    "a command of TeX": r"\\[A-Za-z]{2,}",
    "a root": r"\bsqrt ?\(",
    "an inequality": r"[<>]=",
    "a positive part": r"\)_\+",
    "an index": r"\b(?:[a-zA-Z]|lo|hi|ceil|below|due|opt|top|sum|max|min|mu|rho|lambda|beta|alpha)_[a-zA-Z0-9({]",
    "a power": r"[\w)|]\^[-\w{(]",
    "a norm": r"\|[A-Za-z]\w*\|",
    "a transpose": r"\b[A-Za-z]['\N{RIGHT SINGLE QUOTATION MARK}](?:[A-Z]\w?|u|v)\b",
    "a Greek letter": r"\brho-bar\b|\brho\s*[<>\N{LESS-THAN OR EQUAL TO}\N{GREATER-THAN OR EQUAL TO}]",
}


class Prose(HTMLParser):
    """The words of an article without code and formulas, its pictures, its headings and its links to style sheets."""

    def __init__(self, text):
        super().__init__()
        self.words, self.images, self.fetched, self.headings, self.open = [], [], [], [], []
        self.cards, self.blocks = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        if tag == "img":
            self.images.append(known["src"])
        if tag in {"script", "img", "iframe"} or (tag == "link" and known.get("rel") == "stylesheet"):
            self.fetched.append(known.get("src") or known.get("href") or "")
        if tag == "a" and "card" in (known.get("class") or "").split():
            self.cards.append(known["href"])
        if tag == "h1":
            self.headings.append("")
        if tag == "pre":
            self.blocks.append("")
        if tag not in {"img", "link", "meta", "br", "hr", "input", "wbr", "path", "source"}:
            self.open.append((tag, known))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        if "h1" in tags and ("class", "headerlink") not in self.open[-1][1].items():
            self.headings[-1] += data
        if "pre" in tags:
            self.blocks[-1] += data
        if "article" in tags and not {"pre", "code", "math", "script", "style", "svg"} & set(tags):
            self.words.append(data)


def leftovers(words):
    """What a text has that should have been typeset."""
    for kind, pattern in LEFTOVERS.items():
        for found in re.finditer(pattern, words):
            yield f"{kind}: ...{words[max(found.start() - 30, 0) : found.end() + 30]}..."


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if made := os.environ.get("NOAP_SITE"):
        return Path(made).resolve()
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed, reason="the site is built with the docs extra")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--fresh-env", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """Every page that has a source, parsed, by name."""
    names = [path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")]
    names = sorted(name.as_posix() for name in names if name.parts[0] != "_executed")
    return {name: Prose((site / f"{name}.html").read_text(encoding="utf-8")) for name in names}


@pytest.mark.parametrize(
    "words",
    [
        "$x$",
        r"\mathrm{opt}",
        "sqrt(n)",
        "a <= b",
        "(s - r)_+",
        "a_j",
        "opt_(k-1)",
        "x^2",
        "|v|",
        "X'X",
        "v\N{RIGHT SINGLE QUOTATION MARK}Sv",
        "rho-bar",
    ],
)
def test_leftovers_are_noticed(words):
    assert list(leftovers(f"as in {words} here"))


@pytest.mark.parametrize("words", ["the paper's X", "1e-4", "from 3 to 5", "d'accord", "a test_that runs", "k < 5 | n"])
def test_words_are_no_leftovers(words):
    assert not list(leftovers(words))


def test_formulas_are_typeset(pages):
    found = {name: list(leftovers(" ".join(page.words))) for name, page in pages.items()}
    # The reference is full of names with underscores, and docstrings are read in terminals, too.
    found["api"] = [kind for kind in found["api"] if kind.startswith(("a dollar", "a command"))]
    # Claims are printed on terminals, too.
    for name in ("reproduction/README", "reproduction/claims"):
        found[name] = [kind for kind in found[name] if not kind.startswith(("a root", "a power"))]
    assert not {name: kinds for name, kinds in found.items() if kinds}


def test_no_two_pages_have_one_title(pages):
    assert all(len(page.headings) == 1 for page in pages.values())
    titles = Counter(page.headings[0].strip().casefold() for page in pages.values())
    assert [title for title, times in titles.items() if times > 1] == []


def test_the_first_page_has_a_picture_the_install_line_and_ten_lines(pages, site):
    index = pages["index"]
    assert [(site / image).is_file() for image in index.images] == [True]
    install, code, printed = index.blocks
    assert install.startswith("pip install .")
    assert len(code.strip().splitlines()) <= 10
    assert "optimal" in printed


def test_the_gallery_has_a_picture_of_every_example(pages, site):
    gallery = pages["gallery/index"]
    examples = {name for name in pages if name.startswith("gallery/") and name != "gallery/index"}
    assert {f"gallery/{card.removesuffix('.html')}" for card in gallery.cards} == examples
    assert len(gallery.images) == len(examples)
    assert all((site / "gallery" / image).is_file() for image in gallery.images)


def test_nothing_is_fetched_from_elsewhere(pages, site):
    for name, page in pages.items():
        for address in page.fetched:
            assert not re.match(r"(https?:)?//", address), f"{name} fetches {address}"
            assert not address or ((site / name).parent / address.split("?")[0]).is_file(), f"{name} has no {address}"
    assert "http" not in (site / "_static" / "site.css").read_text(encoding="utf-8")


@pytest.fixture
def mathml(monkeypatch):
    pytest.importorskip("sphinx", reason="the site is built with the docs extra")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    import mathml

    return mathml


def test_a_formula_that_cannot_be_typeset_stops_the_build(mathml):
    from sphinx.errors import ExtensionError

    with pytest.raises(ExtensionError, match="nonsense"):
        mathml.formula(r"\nonsense{x}")


def test_formulas_break_after_relations_and_lose_nothing(mathml):
    text = r"|y^\top u| \ge s - \rho\,|\tau| = (s - \rho) + \rho\,(1 - |\tau|) \ge -1"
    whole = mathml.formula(text)
    words = "".join(whole.itertext())
    parts = mathml.pieces(whole)
    assert "".join("".join(part.itertext()) for part in parts) == words
    assert len(parts) >= 6
    assert parts[0][-1].text == "≥"
    assert len(mathml.pieces(mathml.formula("a = b"))) == 1


@pytest.mark.parametrize(
    ("text", "sign"), [("-x", True), ("a - x", False), ("c = -x", True), ("f(-x)", True), ("+", True)]
)
def test_signs_are_told_from_sums(mathml, text, sign):
    (found,) = [part for part in mathml.formula(text).iter("mo") if part.text in mathml.SUMS]
    assert (found.get("form") == "prefix") is sign


def test_a_half_is_a_half(mathml):
    (found,) = mathml.formula(r"\frac12 x").iter("mfrac")
    assert [part.text for part in found] == ["1", "2"]


CUT_OFF = """
const found = [];
if (document.documentElement.scrollWidth > innerWidth) found.push("the page");
for (const e of document.querySelectorAll("article *")) {
  if (e.closest(".sr-only, svg")) continue;
  const many = e.querySelector("tr")?.cells.length > 4 || e.closest(".highlight-text, .math-wrapper");
  // On a phone a table of many columns, a diagram and a long formula scroll in a box of their own.
  if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible"
      && !(innerWidth < 600 && many)) found.push(`${e.tagName} ${e.className}: ${e.textContent.trim().slice(0, 60)}`);
  const scrolls = innerWidth < 600 && e.closest(".table-wrapper, .math-wrapper");
  if (e.localName === "math" && !scrolls && e.getBoundingClientRect().right > innerWidth - 8)
    found.push(`a formula: ${e.textContent}`);
}
return found;
"""


@pytest.fixture(scope="module")
def driver():
    if not (BROWSER and DRIVER):
        pytest.skip("no browser: install chromium and chromium-driver to run these tests")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.common.exceptions import WebDriverException

    options = webdriver.ChromeOptions()
    # No sandbox: in containers the suite often runs as root, where Chromium has none.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.binary_location = BROWSER
    try:
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    except WebDriverException as error:
        pytest.skip(f"the browser does not start here: {str(error.msg).splitlines()[0]}")
    yield browser
    browser.quit()


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off(driver, pages, site, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    found = {}
    for name in pages:
        driver.get((site / f"{name}.html").as_uri())
        driver.execute_script("return document.fonts.ready.then(() => true)")
        found[name] = driver.execute_script(CUT_OFF)
    assert not {name: places for name, places in found.items() if places}


def test_formulas_have_a_font_of_mathematics(driver, site):
    driver.get((site / "kernel.html").as_uri())
    driver.execute_script("return document.fonts.ready.then(() => true)")
    assert driver.execute_script('return document.fonts.check("16px Mathematics")')
    assert driver.execute_script("return document.querySelectorAll('math').length") > 300
