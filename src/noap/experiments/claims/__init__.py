"""Check the paper's statements over the tables of the experiments."""

from noap.experiments.claims.captions import CAPTIONS
from noap.experiments.claims.claim import Judgement, PaperClaim, Tables, Verdict
from noap.experiments.claims.theorems import THEOREMS, cosines_to_vanilla, stages_seen

__all__ = ["CLAIMS", "Judgement", "PaperClaim", "Tables", "Verdict", "cosines_to_vanilla", "judge", "stages_seen"]

CLAIMS: tuple[PaperClaim, ...] = (*CAPTIONS, *THEOREMS)


def judge(tables: Tables) -> list[tuple[PaperClaim, Judgement]]:
    """Return every claim with what the tables say about it; a claim whose experiment is missing says so.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        By experiment, what :func:`noap.experiments.table.trials` returned.

    Examples
    --------
    >>> {judgement.verdict.value for claim, judgement in judge({})}
    {'not enough data'}
    """
    return [(claim, claim.judged(tables)) for claim in CLAIMS]
