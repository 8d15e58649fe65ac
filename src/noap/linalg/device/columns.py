"""Samples on a device, centred and scaled when they are looked at.

An entry is (x - mean_j)/scale_j in double precision, each operation rounded once; of an array of float32 each is
rounded to float32 besides. These are the very numbers of the host array that `noap.standardize` makes of the same X, so
that fingerprints, values and proofs are those of that array.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from noap.linalg.device.library import Library
from noap.linalg.types import FloatArray, IntArray

__all__ = ["DeviceColumns"]

# Entries that are made in double precision at a time on the device: 512 MB.
_PIECE = 1 << 26


class DeviceColumns:
    """An n x d matrix like a sparse one of SciPy, as far as noap uses those: slices, `toarray`, products.

    Parameters
    ----------
    array : n x d array of a library, float16, float32 or float64
    mean, scale : arrays of shape (d,) on the host, optional
        An infinite scale makes a column 0.
    """

    ndim = 2

    def __init__(self, array: Any, mean: FloatArray | None = None, scale: FloatArray | None = None) -> None:
        self.array, self.mean, self.scale = array, mean, scale

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels: the library is found again."""
        return {"array": self.array, "mean": self.mean, "scale": self.scale}

    @cached_property
    def library(self) -> Library:
        """The library of the array, and its device."""
        return Library.of(self.array)

    @cached_property
    def is_single(self) -> bool:
        """Whether entries are numbers of float32."""
        return bool(self.array.dtype == self.library.kind("float32"))

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return int(self.array.shape[0]), int(self.array.shape[1])

    @property
    def dtype(self) -> Any:
        """What its entries are."""
        return np.dtype(np.float32 if self.is_single else np.float64)

    @property
    def nbytes(self) -> int:
        """What the array takes on the device."""
        kind = str(self.array.dtype)
        return self.shape[0] * self.shape[1] * (2 if kind.endswith("16") else 4 if kind.endswith("32") else 8)

    def with_moments(self, mean: FloatArray | None, scale: FloatArray | None) -> "DeviceColumns":
        """Return the same array, centred and scaled otherwise."""
        return DeviceColumns(self.array, mean, scale)

    def copied(self) -> "DeviceColumns":
        """Return the same with an array of its own."""
        return DeviceColumns(self.library.xp.asarray(self.array, copy=True), self.mean, self.scale)

    def __getitem__(self, key: Any) -> "DeviceColumns":
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(columns, slice):
            columns = _within(columns, self.shape[1])
        array, mean, scale = self._taken(self.array, rows), self.mean, self.scale
        if isinstance(columns, slice) and columns == slice(None):
            whole = DeviceColumns(array, mean, scale)
            whole.__dict__.update(_mean=self._mean, _scale=self._scale)
            return whole
        if not isinstance(columns, slice):
            return self.at(self.library.put(np.asarray(columns, dtype=np.int64)), array)
        part = DeviceColumns(
            array[:, columns], None if mean is None else mean[columns], None if scale is None else scale[columns]
        )
        # What lies on the device already is not sent there again.
        part.__dict__["_mean"] = None if mean is None else self._mean[columns]
        part.__dict__["_scale"] = None if scale is None else self._scale[columns]
        return part

    def at(self, places: Any, array: Any = None) -> "DeviceColumns":
        """Return the columns at these places, an integer array of the device; its moments stay there too."""
        part = DeviceColumns(self.library.take(self.array if array is None else array, places, 1))
        for name, row in (("_mean", self._mean), ("_scale", self._scale)):
            part.__dict__[name] = None if row is None else self.library.take(row, places, 0)
        return part

    @cached_property
    def _mean(self) -> Any:
        return None if self.mean is None else self.library.put(self.mean)

    @cached_property
    def _scale(self) -> Any:
        return None if self.scale is None else self.library.put(self.scale)

    def _taken(self, array: Any, rows: Any) -> Any:
        if isinstance(rows, slice):
            rows = _within(rows, int(array.shape[0]))
            return array if rows == slice(None) else array[rows, :]
        return self.library.take(array, self.library.put(np.asarray(rows, dtype=np.int64)), 0)

    def entries(self) -> Any:
        """Return the entries as an array of float64 on the device."""
        library = self.library
        entries = library.cast(self.array, "float64")
        for operation, row in (("subtract", self._mean), ("divide", self._scale)):
            if row is not None:
                entries = getattr(library.xp, operation)(entries, row[None, :])
                if self.is_single:
                    entries = library.cast(library.cast(entries, "float32"), "float64")
        # Not -0.0, so that what is hashed need not be looked at again.
        return entries + 0.0

    def toarray(self, order: str | None = None) -> FloatArray:
        """Return the entries on the host, row by row in memory, or column by column if the order is "F"."""
        entries = self.entries()
        if order == "F":
            turned = self.library.host(self.library.xp.asarray(entries.T, copy=True))
            return np.asfortranarray(turned.T)
        return np.ascontiguousarray(self.library.host(entries))

    def tocsc(self) -> "DeviceColumns":
        """Return itself: columns are found quickly."""
        return self

    def blocks(self, entries: int = _PIECE) -> "Iterator[tuple[int, DeviceColumns]]":
        """Yield some columns at a time, with the number of the first."""
        n, d = self.shape
        step = max(1, entries // max(n, 1))
        for first in range(0, d, step):
            yield first, self[:, slice(first, first + step)]

    def reduced(self, of: Any) -> FloatArray:
        """Return what `of` makes of some columns in double precision on the device, one number for each, of all."""
        found = [self.library.host(of(block.entries())) for _, block in self.blocks()]
        return np.concatenate([np.array(one, dtype=np.float64) for one in found])

    def column_sums(self, rows: int, squared: bool) -> FloatArray:
        """Return the sums of the columns, or of their squares: row i is added to row i mod `rows`, and these by halves.

        The order is that of `noap.standardize`, to the last bit.
        """
        n, library = self.shape[0], self.library

        def of(entries: Any) -> Any:
            if squared:
                entries = entries * entries
            sums = library.xp.zeros((rows, entries.shape[1]), dtype=library.kind("float64"), device=library.device)
            for first in range(0, n, rows):
                block = entries[first : min(first + rows, n), :]
                if block.shape[0] == rows:
                    sums = sums + block
                else:
                    sums = library.xp.concat([sums[: block.shape[0], :] + block, sums[block.shape[0] :, :]])
            while sums.shape[0] > 1:
                half = (sums.shape[0] + 1) // 2
                low = sums.shape[0] - half
                sums = library.xp.concat([sums[:low, :] + sums[half:, :], sums[low:half, :]])
            return sums[0, :]

        return self.reduced(of)

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest entry of every column; NaN where there is one."""
        xp = self.library.xp
        return self.reduced(lambda block: xp.min(block, axis=0)), self.reduced(lambda block: xp.max(block, axis=0))

    def checksum(self) -> bytes:
        """Return numbers that a change of the array changes: the sums of its bits by columns and by rows."""
        library = self.library
        bits = {2: "int16", 4: "int32", 8: "int64"}[self.nbytes // max(self.shape[0] * self.shape[1], 1)]
        # Not every library looks at the bits of a number; sums of numbers show what is not lost in rounding.
        seen = self.array.view(library.kind(bits)) if hasattr(self.array, "view") else self.array
        kind = library.kind("int64" if hasattr(self.array, "view") else "float64")
        sums = [library.host(library.xp.sum(seen, axis=axis, dtype=kind)).tobytes() for axis in (0, 1)]
        moments = [b"" if one is None else one.tobytes() for one in (self.mean, self.scale)]
        return repr(self.shape).encode() + b"".join(sums + moments)

    def gram(self, features: IntArray, share: float, rows: int | None = None) -> FloatArray:
        """Return the inner products of some columns, each times `share`, in double precision.

        Sums are over so many samples at a time, which are then added one by one.
        """
        library = self.library
        with library.exactly("float32"):
            part = self[:, features].entries() * share
            n = self.shape[0]
            total, step = None, rows or n
            for first in range(0, n, step):
                block = part[first : min(first + step, n), :]
                product = block.T @ block
                total = product if total is None else total + product
        return np.array(library.host(total))

    def products(self, chosen: IntArray, features: IntArray, share: float) -> FloatArray:
        """Return the products of the chosen columns with those of the features, each times `share`, in float32."""
        library = self.library
        with library.exactly("float32"):
            left, right = (library.cast(self[:, some].entries() * share, "float32") for some in (chosen, features))
            return np.array(library.host(left.T @ right))

    def pulled(self, directions: Any) -> Any:
        """Return the b x d products of b directions, rows of a device array, with all columns, in low precision.

        One product with the array as it is stored; centring and scaling are a correction of rank one.
        """
        library = self.library
        with library.exactly("tf32"):
            kind = self.array.dtype
            product = library.cast(directions, str(kind).split(".")[-1]) @ self.array
        if self.mean is None and self.scale is None:
            return product
        product = library.cast(product, "float32")
        mean, factors = self._singles
        if mean is not None:
            sums = library.xp.sum(directions, axis=1)
            # In place where there is a name for it: a product of many directions is as large as X.
            if library.is_torch:
                product.addr_(sums, mean, alpha=-1)
            else:
                product = product - sums[:, None] * mean[None, :]
        return product if factors is None else product * factors[None, :]

    def combined(self, features: Any, weights: Any) -> Any:
        """Return the b x n sums of columns in float32, of b rows of features and of float32 weights on the device."""
        library, (b, k) = self.library, features.shape
        columns = library.cast(self.at(library.xp.reshape(features, (-1,))).entries(), "float32")
        scaled = columns * library.xp.reshape(weights, (1, -1))
        return library.xp.sum(library.xp.reshape(scaled, (self.shape[0], b, k)), axis=2).T

    @cached_property
    def _singles(self) -> tuple[Any, Any]:
        """The means, and one over the scales, in float32 on the device."""
        cast = self.library.cast
        return (
            None if self.mean is None else cast(self._mean, "float32"),
            None if self.scale is None else cast(1.0 / self._scale, "float32"),
        )

    @property
    def T(self) -> "_Transposed":  # noqa: N802 - as NumPy calls it
        """What multiplies vectors of n entries."""
        return _Transposed(self)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        library, total = self.library, None
        weights = np.asarray(right, dtype=np.float64)
        for first, block in self.blocks():
            part = block.entries() @ library.put(weights[first : first + block.shape[1]])
            total = part if total is None else total + part
        return np.array(library.host(total))


class _Transposed:
    def __init__(self, whole: DeviceColumns) -> None:
        self.whole = whole

    def __matmul__(self, right: FloatArray) -> FloatArray:
        library = self.whole.library
        other = library.put(np.asarray(right, dtype=np.float64))
        parts = [np.array(library.host(block.entries().T @ other)) for _, block in self.whole.blocks()]
        return np.concatenate(parts)


def _within(part: slice, size: int) -> slice:
    """Return the same part of an axis without reaching beyond it, which the array API does not allow."""
    start, stop, step = part.indices(size)
    return slice(None) if (start, stop, step) == (0, size, 1) else slice(start, stop, step)
