"""Pictures of results. The only package that draws; each picture takes the Axes to draw on as `ax`."""

from noap.figures import biplot, choices, components, curves, near_optimal, path
from noap.figures.biplot import *  # noqa: F403 - their __all__ is the list
from noap.figures.choices import *  # noqa: F403
from noap.figures.components import *  # noqa: F403
from noap.figures.curves import *  # noqa: F403
from noap.figures.near_optimal import *  # noqa: F403
from noap.figures.path import *  # noqa: F403

__all__ = sorted(
    [*biplot.__all__, *choices.__all__, *components.__all__, *curves.__all__, *near_optimal.__all__, *path.__all__]
)
