"""Noise of each feature from knowledge of the measurements: `noap.noise`, which analysis/noise.py implements."""

from noap.analysis.noise import (
    Chance,
    from_entries,
    from_missing,
    from_replicates,
    from_rounding,
    from_shuffling,
    from_variation,
    with_confidence,
)

__all__ = [
    "Chance",
    "from_entries",
    "from_missing",
    "from_replicates",
    "from_rounding",
    "from_shuffling",
    "from_variation",
    "with_confidence",
]
