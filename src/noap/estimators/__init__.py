"""The scikit-learn classes. The only package that imports scikit-learn's machinery."""

from noap.estimators.choice import Choice
from noap.estimators.robust_sparse_pca import RobustSparsePCA
from noap.estimators.robust_sparse_pca_cv import RobustSparsePCACV

__all__ = [
    "Choice",
    "RobustSparsePCA",
    "RobustSparsePCACV",
]
