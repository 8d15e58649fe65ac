"""What noap asks of an array library: PyTorch, CuPy, or whoever keeps to the array API.

Nothing here is imported by those who pass NumPy arrays. Names are those of the array API standard, by way of
array-api-compat; where PyTorch has a faster way, that is taken.
"""

import contextlib
import importlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.errors import NoapError

__all__ = ["ARITHMETICS", "Library", "is_elsewhere", "moved_to"]

ARITHMETICS = ("float16", "tf32", "float32")
"""Of products whose error is bounded: factors in half precision, in 10 bits, or in 23; sums in single precision."""

_KNOWN = ("torch", "cupy", "array_api_strict")
_INSTALL = "install it with: pip install 'noap[gpu]'."


def is_elsewhere(X: object) -> bool:
    """Return whether X is an array of another library that does not lie in the memory of the host; nothing is imported.

    Examples
    --------
    >>> is_elsewhere(np.zeros(2))
    False
    """
    name = type(X).__module__.split(".")[0]
    if name not in _KNOWN or not hasattr(X, "shape"):
        return False
    return name == "cupy" or "cpu" not in str(getattr(X, "device", "cpu")).lower()


def moved_to(device: str, X: npt.NDArray[Any]) -> Any:
    """Return a host array as a tensor of PyTorch on a device, such as "cuda" or "cuda:1"; float16 stays float16."""
    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("array_api_compat")
    except ImportError:
        raise NoapError(f"device={device!r} needs PyTorch and array-api-compat; {_INSTALL}") from None
    try:
        return torch.asarray(X if X.flags.writeable else X.copy(), device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise NoapError(f"device={device!r} cannot be used ({reason}); leave it out to work on the CPU.") from None


@dataclass(frozen=True)
class Library:
    """A library, and the device on which its arrays lie.

    Attributes
    ----------
    name : str, of its module
    xp : its functions, by the names of the array API
    device : the device
    """

    name: str
    xp: Any
    device: Any

    @classmethod
    def of(cls, array: Any) -> "Library":
        """Return that of an array; raises NoapError without array-api-compat."""
        if isinstance(array, np.ndarray):
            return cls("numpy", np, "cpu")  # as good a library as any: what others are held against
        try:
            compat: Any = importlib.import_module("array_api_compat")
        except ImportError:
            name = type(array).__module__.split(".")[0]
            raise NoapError(f"X is an array of {name}, which needs array-api-compat; {_INSTALL}") from None
        return cls(type(array).__module__.split(".")[0], compat.array_namespace(array), compat.device(array))

    @property
    def is_torch(self) -> bool:
        """Whether it is PyTorch."""
        return self.name == "torch"

    @property
    def torch(self) -> Any:
        """PyTorch itself, for what the array API has no name for."""
        return importlib.import_module("torch")

    @property
    def accelerates(self) -> bool:
        """Whether its arrays lie on an accelerator, whose memory and speed are of another order."""
        return self.name == "cupy" or (self.is_torch and self.device.type != "cpu")

    @property
    def arithmetic(self) -> str:
        """The arithmetic of sieves: the fastest whose error is known for this library."""
        if self.is_torch and self.device.type == "cuda":
            return "float16"
        # Whether another library on an accelerator rounds factors to 10 bits is a setting of its own: allow for it.
        return "tf32" if self.accelerates else "float32"

    def put(self, array: npt.NDArray[Any]) -> Any:
        """Return a host array on the device."""
        # PyTorch warns of arrays that must not be written to.
        return self.xp.asarray(array if array.flags.writeable else array.copy(), device=self.device)

    def host(self, array: Any) -> npt.NDArray[Any]:
        """Return an array of the device in the memory of the host."""
        if self.is_torch:
            if self.device.type == "cuda" and array.nelement() > 1 << 16:
                # Memory that the device writes to by itself: fifty times as fast as any other.
                buffer = self.torch.empty(array.shape, dtype=array.dtype, pin_memory=True)
                buffer.copy_(array)
                pinned: npt.NDArray[Any] = buffer.numpy()
                return pinned
            moved: npt.NDArray[Any] = array.cpu().numpy()
            return moved
        if self.name == "cupy":
            got: npt.NDArray[Any] = array.get()
            return got
        if self.name == "numpy":
            return np.asarray(array)
        return np.asarray(array.to_device(type(array.device)("CPU_DEVICE")))

    def kind(self, name: str) -> Any:
        """Return the type of numbers of that name, such as "float64"."""
        return getattr(self.xp, name)

    def cast(self, array: Any, name: str) -> Any:
        """Return an array as numbers of another type."""
        kind = self.kind(name)
        return array.astype(kind, copy=False) if self.name == "numpy" else self.xp.astype(array, kind, copy=False)

    def take(self, array: Any, places: Any, axis: int) -> Any:
        """Return the rows (axis 0) or columns (1) at these places, an integer array of the device."""
        return self.xp.take(array, places, axis=axis)

    def largest_sizes(self, array: Any, axis: int) -> Any:
        """Return the largest magnitude along an axis, without an array of the size of this one."""
        if self.is_torch:
            return self.torch.linalg.vector_norm(array, ord=math.inf, dim=axis)
        return self.xp.max(self.xp.abs(array), axis=axis)

    def top(self, array: Any, count: int) -> Any:
        """Return the places of the `count` largest entries of each row, largest first."""
        if self.is_torch:
            return array.topk(count, dim=1).indices
        return self.xp.argsort(-array, axis=1)[:, :count]

    def top_sizes(self, array: Any, count: int) -> Any:
        """Return the places of the `count` entries of largest magnitude of each row, largest first.

        The largest entries lie in the chunks whose largest entries are largest: one quick look at all of them, and a
        slow one at few.
        """
        xp, (rows, length) = self.xp, array.shape
        width = 256 if rows < 16 else 1024
        whole = length // width * width
        if length // width <= 2 * count:
            return self.top(xp.abs(array), count)
        inside = xp.arange(width, device=self.device)
        chunks = self.top(self.largest_sizes(xp.reshape(array[:, :whole], (rows, -1, width)), 2), count)
        places = xp.reshape(chunks[:, :, None] * width + inside[None, None, :], (rows, -1))
        if whole < length:
            # What is left behind the last whole chunk is looked at in any case.
            rest = xp.arange(whole, length, device=self.device)[None, :]
            places = xp.concat([places, xp.broadcast_to(rest, (rows, length - whole))], axis=1)
        best = self.top(xp.abs(xp.take_along_axis(array, places, axis=1)), count)
        return xp.take_along_axis(places, best, axis=1)

    @contextlib.contextmanager
    def exactly(self, arithmetic: str) -> Iterator[None]:
        """Make matrix products keep to an arithmetic, whatever the user has allowed; and put it back."""
        if not self.is_torch:
            yield
            return
        torch = self.torch
        matmul = torch.backends.cuda.matmul
        wanted = {
            "fp32_precision": "tf32" if arithmetic == "tf32" else "ieee",
            # Without these, partial sums may be kept in half precision.
            "allow_fp16_reduced_precision_reduction": False,
            "allow_fp16_accumulation": False,
        }
        if not hasattr(matmul, "fp32_precision"):  # before PyTorch 2.9
            del wanted["fp32_precision"]
            wanted["allow_tf32"] = arithmetic == "tf32"
        before = {name: getattr(matmul, name) for name in wanted if hasattr(matmul, name)}
        try:
            for name in before:
                setattr(matmul, name, wanted[name])
            with torch.no_grad(), torch.autocast(self.device.type, enabled=False):
                yield
        finally:
            for name, value in before.items():
                setattr(matmul, name, value)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Let what is done in this thread not wait for what the others have given the device to do."""
        if self.is_torch and self.device.type == "cuda":
            cuda = self.torch.cuda
            with cuda.stream(cuda.Stream(self.device)):
                yield
        else:
            yield

    def wait(self) -> None:
        """Return when the device has done all that it was given: for those who measure."""
        if self.is_torch and self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)
        elif self.name == "cupy":
            self.xp.cuda.Device().synchronize()
