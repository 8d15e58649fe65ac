"""The report: what is gathered, what the page says, and that nothing in it is taken for markup."""

import csv
import dataclasses
import html.parser
import io
import json
import re
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest
from report_page import HOSTILE, report, wine

import noap
from noap.analysis.barcode import barcode
from noap.report import build_report, charts, components
from noap.report.components import as_csv
from noap.report.slider import data_of
from noap.report.words import down, percent_up, ticks, up
from noap.result import Status


@pytest.fixture(scope="module")
def made():
    return report()


@pytest.fixture(scope="module")
def page(made):
    return made.html()


class Reader(html.parser.HTMLParser):
    """Collects the text, the tags and the links of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.text, self.scripts = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data):
        (self.scripts if self.tags and self.tags[-1] == "script" else self.text).append(data)


def test_frames_are_what_the_adversary_leaves(made):
    Z = noap.standardize(wine().to_numpy())
    assert made.frames[0].noise == 0
    assert made.frames[-1].noise == pytest.approx(1)
    for frame in made.frames[::10]:
        adversary = noap.FeatureWise(frame.noise * np.sqrt(len(Z)))
        assert frame.left == pytest.approx(adversary.value(Z, frame.v), rel=1e-9, abs=1e-12)
        assert frame.left <= frame.bound
        if frame.left > 1e-9:
            attacked = (Z + adversary.attack(Z, frame.v)) @ frame.v
            assert np.mean(attacked**2) == pytest.approx(frame.left)
            assert frame.after == pytest.approx(np.quantile(attacked, [0.05, 0.25, 0.5, 0.75, 0.95]))
            assert frame.plain == pytest.approx(np.mean((Z @ frame.v) ** 2))
            assert frame.ordinary <= frame.bound + 1e-12
    assert not made.frames[-1].v.any()


def test_between_the_points_the_bound_holds(made):
    Z = noap.standardize(wine().to_numpy())
    points = set(made.path.rhos.tolist())
    between = [frame for frame in made.frames if frame.noise * made.unit not in points][5::20]
    assert between
    for frame in between:
        problem = noap.Problem(Z, k=6, adversary=noap.FeatureWise(frame.noise * made.unit))
        best = noap.solve(problem, gap=1e-6)
        assert best.value <= frame.bound * (1 + 1e-9)
        assert frame.left <= best.bound * (1 + 1e-9)


def test_values_that_are_compared_are_rounded_alike(made):
    """A robust value that is a hair above the blind one is never written below it."""
    hair = [dataclasses.replace(frame, left=1.6826315, ordinary=1.6826272) for frame in made.frames[:1]]
    shown = json.loads(data_of(dataclasses.replace(made, frames=tuple(hair)), [0]))["frames"][0]
    assert float(shown["left"]) >= float(shown["ordinary"])


def test_sample_wise_frames():
    made = build_report(wine(False), k=3, adversary="sample", noise=0.5, n_components=1, points=5, method="ascent")
    Z = noap.standardize(wine(False).to_numpy())
    frame = made.frames[20]
    assert frame.left == pytest.approx(noap.SampleWise(frame.noise).value(Z, frame.v))
    assert np.isinf(frame.bound)
    page = made.html()
    assert "shift the score of every sample" in page
    assert "Nothing is proved about part of this curve" in page


def test_the_table_and_its_csv(made):
    rows = list(csv.DictReader(io.StringIO(as_csv(made.components))))
    names = wine().columns
    for number, one in enumerate(made.components, start=1):
        assert one.result.status is Status.OPTIMAL
        own = [row for row in rows if row["component"] == str(number)]
        assert [row["feature"] for row in own] == list(one.features)
        assert {row["feature"] for row in own} == {names[j] for j in one.result.support}
        for row in own:
            assert float(row["loading"]) == one.result.v[names.index(row["feature"])]
            assert float(row["value"]) == one.result.value
            assert float(row["bound"]) == one.result.bound


def test_downloads_hold_the_tables(made, page):
    links = [link for link in Reader(page).links if link.startswith("data:text/csv")]
    assert len(links) == 3
    assert unquote(links[0].split(",", 1)[1]) == as_csv(made.components)
    path = list(csv.DictReader(io.StringIO(unquote(links[1].split(",", 1)[1]))))
    assert [float(row["rho"]) for row in path] == made.path.rhos.tolist()
    over_k = list(csv.DictReader(io.StringIO(unquote(links[2].split(",", 1)[1]))))
    assert [float(row["value"]) for row in over_k] == made.k_path.values.tolist()


def test_the_section_on_the_number_of_features(made, page):
    assert made.k_path.ks.tolist() == [1, 2, 3, 4, 5, 6]
    first = made.components[0].result
    assert made.k_path.values[-1] == pytest.approx(first.value, rel=1e-4)
    assert made.k_path.problem.adversary.rho == first.problem.adversary.rho
    section = re.search(r'<section id="sizes".*?</section>', page, re.DOTALL).group(0)
    assert section.count("<li>") == 6
    shares = [float(share) for share in re.findall(r">\+([\d.]+)\N{NO-BREAK SPACE}%<", section)]
    assert shares == pytest.approx(100 * made.k_path.increments / made.k_path.values[-1], abs=0.05)
    assert sum(shares) == pytest.approx(100, abs=0.5)
    drawn = [float(width) for width in re.findall(r"<i style=.left:0.000%;width:([\d.]+)%", section)]
    assert drawn == pytest.approx([share * drawn[0] / shares[0] for share in shares], abs=0.5)
    text = "".join(Reader(section).text)
    chosen = made.k_path.choose(0.9)
    kept = np.floor(1000 * made.k_path.shares[chosen - 1]) / 10
    assert f"{chosen} are proved to keep {kept:g} % of the best that 6 could keep." in text
    assert all(name in text for name in HOSTILE if name in [made.names[j] for j in made.k_path.supports[-1]])
    plain_page = build_report(wine(False), k=2, points=3, method="ascent", n_components=1).html()
    assert 'id="sizes"' not in plain_page
    assert "path over k" not in plain_page


def test_nothing_of_the_user_becomes_markup(page):
    reader = Reader(page)
    # Two scripts are ours; no image, no bold in a name, and the text comes out as it went in.
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    text = "".join(reader.text)
    for name in HOSTILE:
        assert name in text
    assert "<i>wine</i> & more" in text
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)
    assert "<" not in data
    assert len(json.loads(data)["frames"]) > 90


def test_the_page_asks_for_nothing_from_outside(page):
    assert all(link.startswith("data:") for link in Reader(page).links)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest", page)
    assert len(page) < 300_000


def test_the_same_data_give_the_same_page(page):
    assert report().html() == page


def test_save_does_not_overwrite(made, tmp_path):
    target = made.save(tmp_path / "r.html")
    before = target.read_bytes()
    with pytest.raises(noap.errors.InvalidProblem, match="force=True"):
        made.save(target)
    assert target.read_bytes() == before
    made.save(target, force=True)


def test_ties_do_not_pass_for_long_lives(made):
    """On standardised data the last feature standing is a tie: it must not lead the barcode for its index alone."""
    rows = barcode(made.path)
    ends = [row.essential_to for row in rows if not np.isnan(row.essential_to)]
    assert ends == sorted(ends, reverse=True)
    last = made.path.supports[-2]
    assert len(last) == 1
    (row,) = [row for row in rows if row.feature == last[0]]
    assert not row.bars[-1].essential
    assert np.isnan(row.essential_to) or row.essential_to < made.path.lifetimes[last[0]]
    for row in rows:
        assert row.bars[0].left >= made.path.rhos[0]
        assert row.bars[-1].right <= made.path.rhos[-1]


def test_components_with_certificates_say_what_the_checker_said():
    X, other = wine(False).to_numpy(), wine(False).to_numpy()[:100]
    names = tuple(wine(False).columns)

    def fitted(data, method="exact"):
        return noap.RobustSparsePCA(n_components=1, k=2, noise=0.1, scale=True, method=method, keep_data=True).fit(data)

    model = fitted(X)
    (row,) = components.components_of(model, names)
    assert (row.certificate, row.remark) == ("verified", "")
    problem, wrong = model.results_[0].problem, fitted(other).results_[0].certificate
    verdict, why = components.checked(SimpleNamespace(problem=problem, certificate=wrong))
    assert (verdict, why) == ("rejected", noap.verify(problem, wrong).message)
    assert why
    (row,) = components.components_of(fitted(X, "ascent"), names)
    assert row.certificate == "none"


BAD = {
    "adversary": {"adversary": "none"},
    "noise": {"noise": -1.0},
    "k": {"k": 0},
    "n_components": {"n_components": 0},
    "deflation": {"deflation": "magic"},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    with pytest.raises(noap.errors.InvalidProblem, match=name):
        build_report(wine(False), **({"k": 2, "points": 3, "method": "ascent"} | BAD[name]))


def test_data_without_variance_are_refused():
    with pytest.raises(noap.errors.InvalidProblem, match="no variance"):
        build_report(np.ones((5, 3)), k=1, scale=False)


def test_noise_that_erases_everything():
    with pytest.warns(noap.errors.NoapWarning, match="cancels every direction"):
        made = build_report(wine(False), k=2, noise=3.0, points=3, method="ascent", n_components=1)
    assert "erases every component" in made.html()


@pytest.mark.parametrize("number", [1.743051, 0.1, 123456.789, 1e-9, 3e12])
def test_rounding_is_outward(number):
    assert float(down(number)) <= number <= float(up(number))
    assert float(percent_up(number).removesuffix("\N{NO-BREAK SPACE}%")) >= 100 * number


def test_ticks_are_round_and_inside():
    for last in (1.0, 0.37, 12.0, 4.2e-5, 987.0):
        marks = ticks(last)
        assert marks[0] == 0
        assert marks[-1] <= last * (1 + 1e-9)
        assert 3 <= len(marks) <= 12


def test_the_section_on_other_sets(made, page):
    section = re.search(r'<section id="near".*?</section>', page, re.DOTALL).group(0)
    near = noap.near_optimal(made.k_path.problem, 0.01)
    assert made.near.complete
    assert [support.tolist() for support in made.near.supports] == [support.tolist() for support in near.supports]
    text = "".join(Reader(section).text)
    if len(near) == 1:
        assert "It is proved that no other set of at most 6 features keeps 99 % of the best" in text
    assert all(made.names[j] in text for j in np.flatnonzero(near.counts))
    # Nothing can be listed by a heuristic, against samples, or where nothing is left.
    for settings in ({"method": "ascent"}, {"adversary": "sample", "noise": 0.5}):
        assert build_report(wine(False), k=2, points=3, n_components=1, **settings).near is None


def test_marks_of_other_sets_are_where_their_features_are(made):
    problem = made.k_path.problem
    for within, complete in ((0.2, True), (0.3, False)):
        near = dataclasses.replace(noap.near_optimal(problem, within), complete=complete)
        assert len(near) > 1
        section = charts.near(dataclasses.replace(made, near=near))
        rows = re.findall(r"<li>.*?</li>", section, re.DOTALL)
        drawn = min(len(near), 12)
        assert len(rows) == min(np.count_nonzero(near.counts), 25)
        for row in rows:
            name = html.unescape(re.search(r'title="(.*?)"', row).group(1))
            j = made.names.index(name)
            marks = [float(left) for left in re.findall(r"left:([\d.]+)%", row)]
            columns = [int(left * drawn / 100) for left in marks]
            assert columns == [s for s in range(drawn) if j in near.supports[s]]
            assert f"{near.counts[j]} of {len(near)}" in row
        assert ("The list is complete" in section) == near.complete
        assert ("The list is not complete" in section) == (not near.complete)
