"""Data too large for memory: one pass over files or a Dask collection, which leaves a d x d matrix."""

from noap.data.streams.summary import Summary, summarise

__all__ = ["Summary", "summarise"]
