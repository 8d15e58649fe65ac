"""The searches that serve more than `Settings.most_features` features, on problems of any size."""

from functools import partial

import noap

OLDER = noap.Settings(most_features=0)
solve = partial(noap.solve, settings=OLDER)
