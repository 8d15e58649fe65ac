"""What noap raises. Every message is one sentence that names the argument and what to do."""

__all__ = [
    "BackendNotAvailable",
    "CertificateRejected",
    "GapWarning",
    "IdentifierWarning",
    "InvalidProblem",
    "NoapError",
    "NoapWarning",
    "ScaleWarning",
    "StoreError",
    "UncentredWarning",
]


class NoapError(Exception):
    """Base class of every error that noap raises on purpose."""


class InvalidProblem(NoapError, ValueError):
    """An argument cannot be used; the message names it and says what to do."""


class BackendNotAvailable(NoapError, RuntimeError):
    """A solver was asked for by name and is not installed, not licensed or too small for the model."""


class CertificateRejected(NoapError):
    """A certificate does not prove what it claims."""


class StoreError(NoapError):
    """A store of experiments cannot be opened, read or written; what it held is still there."""


class NoapWarning(UserWarning):
    """Something the user should know that does not stop the work."""


class GapWarning(NoapWarning):
    """An answer has a larger gap than the one asked for; the message says how large, why, and what to do.

    If the best answer so far is all that is wanted: `warnings.simplefilter("ignore", noap.errors.GapWarning)`.
    """


class IdentifierWarning(NoapWarning):
    """A column of whole numbers that rise from row to row is used as a feature: it may be an identifier.

    If it is a feature: `warnings.simplefilter("ignore", noap.errors.IdentifierWarning)`.
    """


class ScaleWarning(NoapWarning):
    """An estimator with scale=False was given columns of very different norms: it picks features by their units.

    If all features have one unit: `warnings.simplefilter("ignore", noap.errors.ScaleWarning)`.
    """


class UncentredWarning(NoapWarning):
    """Samples were passed as they are and are mostly mean: what is called variance is then a mean square.

    If that is meant: `warnings.simplefilter("ignore", noap.errors.UncentredWarning)`.
    """
