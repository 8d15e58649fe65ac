"""The scikit-learn classes. The only package that imports scikit-learn's machinery."""

from noap.estimators.robust_sparse_pca import RobustSparsePCA

__all__ = ["RobustSparsePCA"]
