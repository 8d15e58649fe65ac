"""TRUSTED: the only place where a bound is born. NumPy and LAPACK on plain arrays; nothing here searches."""
