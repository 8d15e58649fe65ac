"""A report that the tests share: real data, with names that try to break the page."""

import numpy as np
import polars as pl
from sklearn.datasets import load_wine

from noap.report import Report, build_report

# What a name could do to a page that does not escape it.
HOSTILE = (
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 2'>",
    'a "quoted" & <b>bold</b> name',
    "{{style}}",
    "größe [µm] 日本語",
    "=1+1",
)


def wine(hostile: bool = True) -> pl.DataFrame:
    """Return the wine data; the names of the features that survive longest are hostile."""
    bunch = load_wine()
    names = [str(name) for name in bunch.feature_names]
    if hostile:
        for j, name in zip((5, 6, 8, 10, 11, 0), HOSTILE, strict=True):
            names[j] = name
    return pl.DataFrame(np.asarray(bunch.data), schema=names)


def report(hostile: bool = True) -> Report:
    """Return the report of the wine data at noise 0.5."""
    title = "<i>wine</i> & more" if hostile else "wine"
    return build_report(wine(hostile), k=6, noise=0.5, n_components=2, points=9, title=title)
