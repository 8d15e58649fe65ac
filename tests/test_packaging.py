"""What others would install: the wheel holds what it must, says what it is, and runs from where it lies."""

import email
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(built):
    (path,) = built.glob("noap-*.whl")
    with zipfile.ZipFile(path) as file:
        yield file


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(wheel.read(name).decode())


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "noap").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == source
    assert {"noap/py.typed", "noap/report/assets/page.html", "noap/__main__.py"} <= source


def test_the_sdist_holds_sources_tests_and_documents(built):
    (path,) = built.glob("noap-*.tar.gz")
    with tarfile.open(path) as file:
        names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "tests/smoke.py", "docs/index.md"} <= names
    assert not [name for name in names if name.startswith((".venv", ".ci", "dist/", "build/"))]


def test_the_metadata_are_true(metadata):
    import noap

    assert metadata["Version"] == noap.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["License-File"] == "LICENSE"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    # There is no page of the project yet, and none is invented.
    for field in ("Project-URL", "Home-page", "Download-URL"):
        assert metadata[field] is None
    named = {c for c in metadata.get_all("Classifier") if re.match(r"Programming Language :: Python :: 3\.\d+", c)}
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in named
    trove = pytest.importorskip("trove_classifiers")
    assert set(metadata.get_all("Classifier")) <= trove.classifiers


def test_it_runs_from_where_it_lies(wheel, tmp_path):
    wheel.extractall(tmp_path / "site")
    (tmp_path / "data.csv").write_text("a;b;c\n1,5;2;0\n2;1;1\n0,5;0;3\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); from noap.cli import main; main()"
    command = [sys.executable, "-I", "-c", code, "solve", "data.csv", "-k", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_features"] == 3
    assert not list((tmp_path / "site").rglob("*.nbi"))


def test_one_table_names_every_extra():
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `noap\[(\w+)\]` \|([^|]*)\|", page, flags=re.MULTILINE)
    extras = PROJECT["optional-dependencies"]
    assert [name for name, _ in rows] == list(extras)
    for name, brings in rows:
        packages = {re.match(r"[\w-]+", requirement)[0] for requirement in extras[name]}
        assert set(re.findall(r"`([\w-]+)", brings)) == packages, name
