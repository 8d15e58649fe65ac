"""No figure of README and docs is left without the file that proves it."""

from pathlib import Path

from benchmarks import claims

ROOT = Path(__file__).parent.parent


def test_every_claim_has_its_proof():
    """Put `<!-- measured: FILE -->` or `<!-- not measured: WHY -->` before the block, or compute it."""
    found = [one for page in claims.pages() for one in claims.claims_of(page, (ROOT / page).read_text("utf-8"))]
    assert len(found) > 50
    left = [f"{one.page}:{one.line}: {why}: {'; '.join(one.figures)}" for one, why in claims.unproved(found)]
    assert not left, "\n".join(left)


PAGE = """# Title of 3 of 7

Ten words, k = 5 and 1e-4, no unit.

    code takes 10 s

It takes 5 ms.

<!-- measured: benchmarks/results/programs.csv,
     tests/test_claims.py::test_figures_are_seen -->

It takes 6 ms, `7 ms` and $8\\,\\%$.

It takes 1,000 s.

<!-- not measured: a setting -->

- At most 9 %.

| seconds | n |
|---|---|
| 3 | 4 |

<!-- computed: relaxation -->

Within 11 %.

<!-- end of relaxation -->

3 of 7 close.

<!-- measured: benchmarks/results/nothing.csv -->

A factor of 12.

<!-- measured: tests/test_claims.py::test_nothing -->

13 times.
"""


def test_figures_are_seen():
    found = list(claims.claims_of("page.md", PAGE))
    assert [one.figures[0] for one in found] == [
        "5 ms", "6 ms", "1,000 s", "9 %", "| seconds | n |", "11 %", "3 of 7", "factor of 12", "13 times",
    ]  # fmt: skip
    assert [one.proof.split(":")[0] if one.proof else None for one in found] == [
        None, "measured", None, "not measured", None, "computed", None, "measured", "measured",
    ]  # fmt: skip
    assert [one.line for one in found][:2] == [7, 12]
    assert [why for _, why in claims.unproved(found)] == [
        "no proof", "no proof", "no proof", "no proof", "benchmarks/results/nothing.csv is not there",
        "tests/test_claims.py has no test_nothing",
    ]  # fmt: skip
