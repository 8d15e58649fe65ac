"""The report where features have noises and costs of their own: both stand beside the loadings."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_wine

from noap.errors import InvalidProblem
from noap.report import build_report
from noap.report.components import as_csv


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data.iloc[:, :8]


@pytest.fixture(scope="module")
def noise(wine):
    return dict(zip(wine.columns, [0.31, 0.12, 0.07, 0.23, np.inf, 0.41, 0.19, 0.05], strict=True))


def built(wine, noise, **changes):
    settings = {"k": 3, "method": "ascent", "points": 7, "n_components": 2} | changes
    return build_report(wine, noise=noise, **settings)


def test_each_feature_has_its_noise_beside_its_loading(wine, noise):
    costs = dict.fromkeys(wine.columns, 0.013)
    report = built(wine, noise, costs=costs)
    page = report.html()
    table = page[page.index('<section id="components"') :]
    for one in report.components:
        for name, given in zip(one.features, one.noises, strict=True):
            assert given == pytest.approx(noise[name])
            assert re.search(rf"{re.escape(name)}&nbsp;<small>[^<]*, noise {given:g}, cost 0.013</small>", table)
    loadings = page[page.index('<section id="loadings"') : page.index('<section id="attack"')]
    shown = [row.split('title="')[1].split('"')[0] for row in loadings.split("<li>")[1:]]
    for name in shown:
        assert f"noise&nbsp;{noise[name]:g} cost&nbsp;0.013" in loadings
    assert "Every feature has a noise of its own" in page
    assert "a component is worth its variance less what its features cost" in page
    assert "times the noise given" in page
    rows = as_csv(report.components).splitlines()
    assert rows[0].endswith("explained,span,noise,cost")
    assert all(line.endswith(",0.013") for line in rows[1:])
    plain = built(wine, 0.2).html()
    assert "times the noise given" not in plain
    assert not re.search(r"<small>[^<]*noise", plain)


def test_the_slider_multiplies_the_noises_given(wine, noise):
    report = built(wine, noise)
    assert report.path.rhos[-1] == pytest.approx(4.0)
    assert 1.0 in report.path.rhos
    assert report.noise == report.unit == 1.0
    at_one = next(frame for frame in report.frames if frame.noise == 1.0)
    result = report.components[0].result
    assert at_one.left == pytest.approx(result.value, rel=1e-6)
    Z = ((wine - wine.mean()) / wine.std(ddof=0)).to_numpy()
    for frame in report.frames[::10]:
        off = (
            frame.noise
            * np.sqrt(len(Z))
            * sum(noise[name] * abs(x) for name, x in zip(wine.columns, frame.v, strict=True) if x)
        )
        assert frame.left == pytest.approx(max(np.linalg.norm(Z @ frame.v) - off, 0.0) ** 2 / len(Z), abs=1e-9)
        assert frame.v[4] == 0
    data = json.loads(report.html().split('id="data">')[1].split("</script>")[0])
    assert data["frames"][-1]["noise"] == "4"


def test_a_feature_that_is_essential_where_the_picture_ends_may_be_essential_beyond(wine, noise):
    page = built(wine, {**noise, "ash": 0.0, "alcohol": 0.5}).html()
    barcode = page[page.index('<section id="barcode"') : page.index('<section id="band"')]
    ash = next(row for row in barcode.split("<li>") if 'title="ash"' in row)
    assert '<span class="number">4+</span>' in ash
    assert "may be essential beyond" in barcode
    assert "4+" not in built(wine, 0.2).html()


def test_what_a_slider_shows_of_costs_is_taken_off_once(wine, noise):
    report = built(wine, noise, costs=np.full(8, 0.1), method="exact")
    result = report.components[0].result
    at_one = next(frame for frame in report.frames if frame.noise == 1.0)
    assert at_one.left == pytest.approx(result.robust_variance, rel=1e-3)
    assert at_one.bound >= result.value
    assert at_one.bound < result.robust_variance
    page = report.html()
    assert "after its costs" in page
    assert "Variance left by the worst attack, less costs" in page
    assert report.components[0].certificate == "verified"


def test_a_page_of_samples_takes_no_noises_of_features(wine, noise):
    with pytest.raises(InvalidProblem, match="noises of single features need adversary='feature'"):
        built(wine, noise, adversary="sample")
    with pytest.raises(InvalidProblem, match="noise has no entry for the feature 'alcohol'"):
        built(wine, {"ash": 0.1})
