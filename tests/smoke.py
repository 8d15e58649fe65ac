"""What must work right after an installation: run it with the interpreter of that environment.

`make smoke` does so in an environment that holds noap and what it needs, and nothing else; with --short only
what is installed is looked at.
"""

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import noap
from noap.mip import list_backends


def main() -> None:
    installed = Path(noap.__file__).resolve()
    assert installed.is_relative_to(Path(sys.prefix).resolve()), f"this is not the installed package: {installed}"
    assert importlib.metadata.version("noap") == noap.__version__
    assert (installed.parent / "py.typed").is_file()
    assert (installed.parent / "report" / "assets" / "page.html").is_file()
    if "--short" not in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            _try(Path(folder))
    sys.stdout.write(f"noap {noap.__version__} works where it was installed.\n")


def _try(folder: Path) -> None:
    from sklearn.datasets import load_wine

    wine = load_wine()
    rows = [wine.feature_names, *([repr(float(x)) for x in row] for row in wine.data)]
    (folder / "wine.csv").write_text("\n".join(";".join(row) for row in rows) + "\n", encoding="utf-8")

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    command = str(Path(sys.executable).with_name("noap"))
    assert run(command, "--version").strip() == f"noap {noap.__version__}"
    for method in ("exact", "relaxation"):
        proof = f"{method}.noap"
        solve = ("solve", "wine.csv", "-k", "4", "--noise", "0.3", "--method", method, "--certificate", proof, "--json")
        found = json.loads(run(command, *solve))
        assert len(found["features"]) == 4
        assert found["bound_proof"] == "rigorous"
        assert json.loads(run(command, "verify", proof, "wine.csv", "--json"))["ok"]
    run(command, "path", "wine.csv", "-k", "4", "--noise", "0,0.3", "--method", "ascent", "--plot", "p.png")
    run(command, "report", "wine.csv", "-k", "4", "--points", "3", "--components", "2", "--method", "ascent")
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")
    assert {info.name for info in list_backends() if info.installed} >= {"scip", "highs"}


if __name__ == "__main__":
    main()
