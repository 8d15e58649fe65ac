"""Pictures: where they are drawn, what they show, in which unit; and the tables of notebooks."""

import itertools
import re

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from sklearn.datasets import load_breast_cancer, load_wine

import noap
from noap.analysis.barcode import barcode as barcode_of
from noap.errors import InvalidProblem

EVIL = "<script>alert('&')</script>"


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True).data
    return (data - data.mean()) / data.std(ddof=0)


@pytest.fixture(scope="module")
def path(wine):
    return noap.path(wine, 4, points=7, tolerance=0.01)


@pytest.fixture(scope="module")
def k_path(wine):
    return noap.k_path(noap.Problem(wine, k=4, adversary=noap.FeatureWise(2.0)))


@pytest.fixture(scope="module")
def model(wine):
    return noap.RobustSparsePCA(n_components=3, k=4, noise=0.2).fit(wine)


def test_the_picture_counts_in_the_unit_of_the_table(path, wine):
    unit = np.sqrt(len(wine))
    for asked, scale, label in (({}, unit, "noise (rho / sqrt n)"), ({"unit": "rho"}, 1.0, "budget rho")):
        variance, barcode, loadings = path.plot(**asked).axes
        assert loadings.get_xlabel().startswith(label)
        first = barcode_of(path)[0]
        bar = barcode.patches[0]
        assert bar.get_x() + bar.get_width() == pytest.approx(first.bars[0].right / scale)
        assert variance.lines[0].get_xdata()[-1] == pytest.approx(path.rhos[-1] / scale)
        assert loadings.get_xlim()[1] == pytest.approx(path.rhos[-1] / scale, rel=0.06)
    sample = noap.path(wine.iloc[:30, :4], 2, noap.SampleWise, rhos=[0.0, 1.0], method="ascent").plot()
    assert sample.axes[2].get_xlabel() == "noise (rho)"
    with pytest.raises(InvalidProblem, match="unit must be 'noise' or 'rho'"):
        path.plot(unit="decibel")


def test_a_path_says_what_its_panels_measure(path, wine):
    variance, barcode, loadings = path.plot().axes
    assert variance.get_ylabel() == "robust variance"
    # Proved to 1e-4, the band cannot be seen: no legend for it.
    (label,) = variance.get_legend_handles_labels()[1]
    said = float(re.fullmatch(r"found, proved to within ([\d.]+) %", label).group(1)) / 100
    fine = np.linspace(path.rhos[0], path.rhos[-1], 900)
    lower, upper = path.band(fine)
    telling = lower > 1e-3 * lower.max()
    assert (upper[telling] <= lower[telling] * (1 + 1.05 * said)).all()
    assert said < 0.01
    mesh = loadings.collections[0]
    bar = mesh.colorbar
    assert bar.ax.get_ylabel() == "loading"
    together = np.abs(path.vectors[path.selected.sum(axis=1) > 1]).max()
    low, high = mesh.get_clim()
    assert -low == high
    assert together <= high < together + 0.1 + 1e-9 < 1
    assert bar.extend == "both"  # one feature alone has loading 1
    assert all(len(one.get_hatch()) > 5 for one in barcode.patches if one.get_hatch())
    nothing = noap.path(wine, 4, rhos=[0.0, 2.0, 4.0], method="ascent").plot().axes[0]
    assert nothing.get_legend_handles_labels()[1] == ["found"]
    wide = noap.path(wine, 5, rhos=[0.0, 12.5]).plot().axes[0]  # between two points the chord leaves room
    assert wide.get_legend_handles_labels()[1] == ["optimum lies in here", "found"]


def test_the_legend_of_a_path_over_k_is_not_crossed(k_path):
    axes = k_path.plot(share=0.8).axes[0]
    frame = axes.get_legend().get_frame()
    assert (frame.get_alpha(), to_rgba(frame.get_facecolor())) == (1.0, (1.0, 1.0, 1.0, 1.0))
    mark = next(line for line in axes.lines if "proved to keep" in line.get_label())
    assert axes.get_legend().get_zorder() > mark.get_zorder()
    assert "optimum lies in here" not in axes.get_legend_handles_labels()[1]
    assert axes.get_ylabel() == "robust variance"


def test_files_have_dots_enough_and_fonts_that_are_text(k_path, tmp_path):
    before = dict(matplotlib.rcParams)
    figure = k_path.plot()
    figure.savefig(tmp_path / "a.png")
    width, height = (round(150 * inches) for inches in figure.get_size_inches())
    assert imread(tmp_path / "a.png").shape[:2] == (height, width)
    figure.savefig(tmp_path / "b.png", dpi=50)
    assert imread(tmp_path / "b.png").shape[1] == round(50 * figure.get_figwidth())
    figure.savefig(tmp_path / "c.pdf")
    written = (tmp_path / "c.pdf").read_bytes()
    assert b"/Type3" not in written
    assert b"/TrueType" in written or b"/CIDFontType2" in written
    with matplotlib.rc_context({"savefig.dpi": 40}):  # whoever has settings keeps them
        figure.savefig(tmp_path / "d.png")
    assert imread(tmp_path / "d.png").shape[1] == round(40 * figure.get_figwidth())
    assert dict(matplotlib.rcParams) == before
    theirs = Figure()
    assert k_path.plot(ax=theirs.subplots()) is theirs
    assert type(theirs) is Figure


def test_no_meaning_hangs_on_a_colour_that_comes_again(path):
    _, barcode, loadings = path.plot().axes
    assert {to_rgba(bar.get_edgecolor()) for bar in barcode.patches} == {to_rgba("#0072B2")}
    essential = [bar.essential for row in barcode_of(path) for bar in row.bars]
    assert [bar.get_hatch() is None for bar in barcode.patches] == essential
    assert not all(essential)
    assert not loadings.lines  # rows with names, and one scale of colours for the loading
    names = [text.get_text() for text in barcode.get_yticklabels()]
    assert names == [text.get_text() for text in loadings.get_yticklabels()]
    assert len(set(names)) == len(names) == int(path.selected.any(axis=0).sum())
    mesh = loadings.collections[0]
    shown = [row.feature for row in barcode_of(path)]
    expected = np.where(path.selected[:, shown], path.vectors[:, shown], np.nan).T
    np.testing.assert_array_equal(np.ma.filled(mesh.get_array(), np.nan).reshape(expected.shape), expected)


def test_pictures_are_drawn_where_they_are_wanted(path, k_path, model, wine):
    one = Figure()
    axes = one.subplots()
    assert path.plot(ax=axes, top=2) is one
    assert len(axes.get_yticklabels()) == 2
    assert "not shown" in axes.get_title(loc="left").replace("\n", " ")
    three = Figure()
    panels = three.subplots(3, 1)
    assert path.plot(ax=panels) is three
    assert all(panel.get_title(loc="left") for panel in panels)
    two = Figure().subplots(1, 2)
    assert k_path.plot(ax=two) is two[0].figure
    assert two[1].patches
    lonely = Figure().subplots()
    k_path.plot(share=0.9, ax=lonely)
    assert lonely.lines[0].get_ydata() == pytest.approx(k_path.values)
    figures = noap.figures
    for draw in (
        lambda ax: figures.draw_scree(model, ax=ax),
        lambda ax: figures.draw_biplot(model, wine, ax=ax),
        lambda ax: figures.draw_loadings(model, ax=ax),
        lambda ax: model.results_[0].plot(ax=ax),
    ):
        ax = Figure().subplots()
        assert draw(ax) is ax.figure
        assert ax.has_data()
        assert draw(None).axes[0].has_data()
        with pytest.raises(InvalidProblem, match="ax must be one matplotlib Axes"):
            draw("here")
    with pytest.raises(InvalidProblem, match="sequence of 3"):
        path.plot(ax=panels[:2])
    with pytest.raises(InvalidProblem, match="top must be a positive integer"):
        path.plot(top=0)


def test_loadings_have_names_and_the_largest_come_first(model, wine):
    axes = noap.figures.draw_loadings(model, 1, top=3).axes[0]
    v = model.components_[1]
    order = np.argsort(-np.abs(v), kind="stable")[:3]
    assert [text.get_text() for text in axes.get_yticklabels()] == [wine.columns[j] for j in order]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(v[order])
    assert "1 smaller ones not shown" in axes.get_title(loc="left").replace("\n", " ")
    result = noap.solve(noap.Problem(wine, k=3, adversary=noap.FeatureWise(2.0)))
    assert {text.get_text() for text in result.plot().axes[0].get_yticklabels()} == set(wine.columns[result.support])
    with pytest.raises(InvalidProblem, match="component must be from 0 to 2"):
        noap.figures.draw_loadings(model, 3)
    with pytest.raises(InvalidProblem, match="fitted RobustSparsePCA"):
        noap.figures.draw_loadings(noap.RobustSparsePCA())


def test_scree_shows_variances_and_bounds(model, wine):
    axes = noap.figures.draw_scree(model).axes[0]
    heights = np.array([bar.get_height() for bar in axes.patches])
    unit = 100 / model.total_variance_  # all in per cent of the total variance
    assert heights[:3] == pytest.approx([unit * result.plain_variance for result in model.results_])
    assert heights[3:] == pytest.approx(unit * model.robust_variance_)
    assert (heights[3:] <= heights[:3]).all()  # no adversary leaves more than there was
    (adjusted,) = (line for line in axes.lines if line.get_label() == "explained variance (adjusted)")
    assert adjusted.get_ydata() == pytest.approx(100 * model.explained_variance_ratio_)
    (span,) = (line for line in axes.lines if line.get_label() == "explained by the span")
    assert span.get_ydata() == pytest.approx(100 * model.span_variance_ratio_)
    assert "per cent" in axes.get_ylabel()
    # The adjusted variance would not do as the bar: it can lie below what the adversary leaves.
    apart = noap.RobustSparsePCA(n_components=3, k=4, noise=0.05, deflation="disjoint", method="ascent").fit(wine)
    assert (apart.robust_variance_ > apart.explained_variance_).any()
    heights = np.array([bar.get_height() for bar in noap.figures.draw_scree(apart).axes[0].patches])
    assert (heights[3:] <= heights[:3]).all()
    tops = [segment[1, 1] for segment in axes.collections[-1].get_segments()]
    assert tops == pytest.approx(unit * model.bound_)
    heuristic = noap.RobustSparsePCA(k=2, method="ascent").fit(np.random.default_rng(0).normal(size=(30, 4)))
    assert "proved bound" not in noap.figures.draw_scree(heuristic).axes[0].get_legend_handles_labels()[1]


def test_a_biplot_has_samples_and_named_arrows(model, wine):
    axes = noap.figures.draw_biplot(model, wine, (2, 0)).axes[0]
    assert np.asarray(axes.collections[0].get_offsets()) == pytest.approx(model.transform(wine)[:, [2, 0]])
    named = [name for text in axes.texts for name in text.get_text().split("\n") if name]
    arrows = model.components_[[2, 0]].T
    order = np.argsort(-np.linalg.norm(arrows, axis=1), kind="stable")[: np.count_nonzero(arrows.any(axis=1))]
    assert sorted(named) == sorted(wine.columns[order])
    tips = np.array([text.xy for text in axes.texts if not text.get_text()])
    assert tips * np.linalg.norm(arrows[order[0]]) == pytest.approx(arrows[order] * np.linalg.norm(tips[0]))
    for text in axes.texts:  # a list is led to from the tip of its first name
        if text.get_text():
            first = order.tolist().index(wine.columns.tolist().index(text.get_text().split("\n")[0]))
            assert text.xy == pytest.approx(tips[first])
    few = noap.figures.draw_biplot(model, wine, top=2).axes[0]
    assert sum(len(text.get_text().split("\n")) for text in few.texts if text.get_text()) == 2
    pandas = noap.RobustSparsePCA(n_components=2, k=2).set_output(transform="pandas").fit(wine)
    assert noap.figures.draw_biplot(pandas, wine).axes[0].has_data()
    for wrong in ((0, 3), (1, 1), (0,)):
        with pytest.raises(InvalidProblem, match="components must be two different numbers"):
            noap.figures.draw_biplot(model, wine, wrong)


@pytest.mark.parametrize("top", [8, 15])
@pytest.mark.parametrize("deflation", ["projection", "disjoint"])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
@pytest.mark.parametrize("given", [False, True])
def test_names_of_a_biplot_stay_inside_and_apart(load, deflation, top, given):
    data = load(as_frame=True).data
    settings = {"n_components": 2, "k": 8, "noise": 0.1, "scale": True, "method": "ascent"}
    fitted = noap.RobustSparsePCA(deflation=deflation, **settings).fit(data)
    axes = Figure(figsize=(6.4, 5.0)).subplots() if given else None
    figure = noap.figures.draw_biplot(fitted, data, ax=axes, top=top)
    axes = figure.axes[0]
    FigureCanvasAgg(figure).draw()  # the layout is settled now
    frame = axes.get_window_extent()
    lists = [text for text in axes.texts if text.get_text()]
    boxes = [Text.get_window_extent(text) for text in lists]  # of the words, without the line to the arrow
    for box in boxes:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    for a, b in itertools.combinations(boxes, 2):
        assert not a.overlaps(b)
    shown = sum(len(text.get_text().split("\n")) for text in lists)
    assert shown == min(top, np.count_nonzero(fitted.components_.any(axis=0)))
    # The cloud keeps its place: names stand beside it.
    cloud = axes.transData.transform(fitted.transform(data))[:, 0]
    for text, box in zip(lists, boxes, strict=True):
        assert box.x1 < cloud.min() if text.get_ha() == "right" else box.x0 > cloud.max()
    # No line to a list crosses another.
    ends = [
        (axes.transData.transform(text.xy), (box.x1 if text.get_ha() == "right" else box.x0, (box.y0 + box.y1) / 2))
        for text, box in zip(lists, boxes, strict=True)
    ]
    for (a, b), (c, d) in itertools.combinations(ends, 2):
        assert not _cross(a, b, c, d)


def _cross(a, b, c, d):
    def side(p, q, r):
        return np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def test_arrows_that_point_the_same_way_share_a_list(wine):
    apart = noap.RobustSparsePCA(n_components=2, k=4, noise=0.1, deflation="disjoint", method="ascent").fit(wine)
    axes = noap.figures.draw_biplot(apart, wine).axes[0]
    lists = [text.get_text().split("\n") for text in axes.texts if text.get_text()]
    assert len(lists) <= 4  # along each axis, either way
    assert sorted(name for one in lists for name in one) == sorted(wine.columns[apart.components_.any(axis=0)])
    sizes = dict(zip(wine.columns, np.abs(apart.components_).max(axis=0), strict=True))
    assert all(sizes[a] >= sizes[b] for one in lists for a, b in itertools.pairwise(one))


def _cells(html):
    assert html.count("<table>") == html.count("</table>") == 1
    return re.findall(r"<t[hd]>(.*?)</t[hd]>", html)


def test_notebooks_show_small_tables(path, k_path, wine):
    result = path.results[0]
    shown = _cells(result._repr_html_())
    assert [wine.columns[j] for j in result.support if wine.columns[j] not in shown] == []
    assert f"{result.value:.6g}" in shown
    assert result.claim in result._repr_html_()
    rows = path._repr_html_().count("<tr>")
    assert rows == 1 + min(len(path), 8)
    assert {"noise", "rho", "value", "bound"} <= set(_cells(path._repr_html_()))
    fresh = noap.Path(path.results, path.family)
    assert fresh._repr_html_() == path._repr_html_()
    assert "essential" not in fresh.__dict__  # a table must not start a search
    assert k_path._repr_html_().count("<tr>") == 1 + len(k_path)
    assert "100.0 %" in _cells(k_path._repr_html_()) or "99.9 %" in _cells(k_path._repr_html_())
    problem = noap.Problem(wine, k=2, adversary=noap.FeatureWise(2.0))
    certificate = noap.solve(problem).certificate
    assert f"{certificate.bound:.17g}" in _cells(certificate._repr_html_())
    assert "accepted" in _cells(noap.verify(problem, certificate)._repr_html_())
    other = noap.verify(problem.with_sparsity(3), certificate)
    assert "rejected" in _cells(other._repr_html_())
    assert len(result._repr_html_()) < 4000


def test_names_are_escaped_in_tables(wine):
    evil = wine.rename(columns={"alcohol": EVIL})
    problem = noap.Problem(evil, k=13, adversary=noap.NoAdversary())
    result = noap.solve(problem, method="ascent")
    path = noap.path(evil, 1, rhos=[0.0, 1.0], method="ascent")
    k_path = noap.k_path(problem.with_sparsity(1))
    for html in (result._repr_html_(), path._repr_html_(), k_path._repr_html_()):
        assert "<script" not in html
    assert "&lt;script&gt;" in path._repr_html_()
    assert "and 1 more features" in result._repr_html_()


def test_near_optimal_supports_by_features(wine):
    near = noap.near_optimal(noap.Problem(wine, k=4, adversary=noap.NoAdversary()), 0.1)
    assert len(near) > 3
    values, cells = near.plot().axes
    assert values.lines[1].get_ydata() == pytest.approx(100 * near.values / near.values[0])
    assert values.lines[0].get_ydata()[0] == pytest.approx(90)
    assert "complete" in values.get_title(loc="left")
    names = [label.get_text() for label in cells.get_yticklabels()]
    assert len(names) == np.count_nonzero(near.counts)
    beside = [int(text.get_text()) for text in cells.texts]
    assert beside == sorted(near.counts[near.counts > 0].tolist(), reverse=True)
    # A cell for every feature of every support, at its place.
    places = {(round(bar.get_x() + 0.4), names[round(bar.get_y() + 0.4)]) for bar in cells.patches}
    assert places == {(i, wine.columns[j]) for i, support in enumerate(near.supports) for j in support}
    assert len(near.plot(top=2).axes[1].get_yticks()) == 2
    assert "not shown" in near.plot(top=2).axes[1].get_title(loc="left")
    one = Figure().add_subplot()
    assert near.plot(ax=one) is one.figure
    with pytest.warns(noap.errors.NoapWarning, match="no support is worth anything"):
        nothing = noap.near_optimal(noap.Problem(np.eye(3), k=2, adversary=noap.FeatureWise(2.0)))
    assert len(nothing.plot().axes[1].patches) == 0
