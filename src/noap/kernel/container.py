"""The file: a header in JSON and compressed arrays, read without trusting a single byte of it.

docs/certificate-format.md is the specification. Nothing is executed, and allocations are bounded beforehand.
"""

import hashlib
import json
import os
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.runtime.files import write_whole

__all__ = ["header_of", "pack", "read_bytes", "unpack", "write_bytes"]

MAGIC, VERSION = b"NOAP\0CRT", 5
_PREFIX = struct.Struct("<8sHI")
_DIGEST = 32
_DTYPES: dict[str, np.dtype[Any]] = {
    "u1": np.dtype("<u1"),
    "u4": np.dtype("<u4"),
    "i1": np.dtype("<i1"),
    "i2": np.dtype("<i2"),
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
}
_MOST_HEADER = 1 << 20
_MOST_FILE = 1 << 31
# All arrays together, inflated.
_MOST_HELD = 1 << 31
# Without a limit of the user's: bytes that the arrays may take inflated, and so many more for each byte of the file.
# Proofs shrink to an eighth at best, but those for data with many equal rows to much less.
_ALLOWED, _ALLOWED_RATIO = 64_000_000, 32
# What is not a regular file must end within so many bytes, unless the user allows more or less.
_MOST_PIPE = 64_000_000
# Bytes that are inflated at once, and into how many.
_PIECE, _PIECE_INFLATED = 1 << 14, 1 << 18
# Deflate shrinks nothing by more than this: a larger declared size is a lie.
_MOST_RATIO, _SPARE = 1032, 1024


def pack(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return the file's bytes; empty arrays are left out."""
    blocks, listed = [], []
    for name, array in arrays.items():
        if len(array) == 0:
            continue
        code = f"{array.dtype.kind}{array.dtype.itemsize}"
        raw = np.ascontiguousarray(array, dtype=_DTYPES[code]).tobytes()
        block = zlib.compress(raw, 6)
        blocks.append(block)
        listed.append({"name": name, "dtype": code, "count": len(array), "bytes": len(block)})
    text = json.dumps({**header, "arrays": listed}, sort_keys=True).encode()
    body = _PREFIX.pack(MAGIC, VERSION, len(text)) + text + b"".join(blocks)
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes, megabytes: float | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays, or raise InvalidProblem with the reason in one sentence.

    File and arrays take at most so many megabytes together.
    """
    header, length = header_of(data), _PREFIX.unpack_from(data)[2]
    body = memoryview(data)[:-_DIGEST]
    declared = [_declared(entry) for entry in header["arrays"]]
    _check_room(sum(count * dtype.itemsize for _, dtype, count, _ in declared), len(data), megabytes)
    arrays: dict[str, np.ndarray] = {}
    at = _PREFIX.size + length
    for name, dtype, count, size in declared:
        if name in arrays:
            raise unreadable(f"array {name!r} is there twice")
        if size > len(body) - at:
            raise unreadable(f"array {name!r} is longer than the file")
        arrays[name] = _inflate(body[at : at + size], name, dtype, count)
        at += size
    if at != len(body):
        raise unreadable("it has bytes that belong to no array")
    return header, arrays


def header_of(data: bytes) -> dict[str, Any]:
    """Return the header alone; raises InvalidProblem as `unpack` does."""
    if len(data) < _PREFIX.size + _DIGEST or data[: len(MAGIC)] != MAGIC:
        raise unreadable("it is not a noap certificate")
    _, version, length = _PREFIX.unpack_from(data)
    if version < VERSION:
        raise unreadable(f"it has format version {version}, which noap 0.2 reads; solve again for version {VERSION}")
    if version > VERSION:
        raise unreadable(f"it has format version {version}, this noap reads version {VERSION}")
    body, digest = memoryview(data)[:-_DIGEST], data[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise unreadable("its checksum does not match: it is truncated or damaged")
    if length > min(_MOST_HEADER, len(body) - _PREFIX.size):
        raise unreadable("its header is longer than the file")
    try:
        header = json.loads(bytes(body[_PREFIX.size : _PREFIX.size + length]).decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise unreadable("its header is not valid JSON") from error
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise unreadable("its header has no list of arrays")
    return header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON as a dict, or raise ValueError where a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _declared(entry: Any) -> tuple[str, np.dtype[Any], int, int]:
    """Check one entry of the list of arrays; returns name, type, how many numbers and how many bytes."""
    if not isinstance(entry, dict) or set(entry) != {"name", "dtype", "count", "bytes"}:
        raise unreadable("its list of arrays is malformed")
    name, code, count, size = (entry.get(key) for key in ("name", "dtype", "count", "bytes"))
    if not isinstance(name, str) or not isinstance(code, str) or code not in _DTYPES:
        raise unreadable("an array has no name or an unknown type")
    if not _is_count(count) or not _is_count(size):
        raise unreadable(f"array {name!r} has no valid length")
    assert isinstance(count, int)
    assert isinstance(size, int)
    return name, _DTYPES[code], count, size


def _is_count(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < 2**40


def _check_room(held: int, length: int, megabytes: float | None) -> None:
    """Refuse arrays that take more than is allowed, before anything is made."""
    if held > _MOST_HELD:
        raise unreadable("its arrays are larger than 2 GiB, inflated")
    if megabytes is not None and length + held > 1e6 * megabytes:
        raise unreadable(
            f"with its arrays inflated it takes {(length + held) / 1e6:.3g} megabytes, more than the {megabytes:g} of "
            "memory_limit"
        )
    if megabytes is None and held > _ALLOWED + _ALLOWED_RATIO * length:
        raise unreadable(
            f"its arrays take {held / 1e6:.3g} megabytes inflated, far more than a file of {length / 1e6:.3g} should; "
            "if you trust it, allow them with memory_limit"
        )


def _inflate(block: memoryview, name: str, dtype: "np.dtype[Any]", count: int) -> np.ndarray:
    wanted = count * dtype.itemsize
    if wanted > _MOST_RATIO * len(block) + _SPARE:
        raise unreadable(f"array {name!r} declares more than its bytes can hold")
    inflater = zlib.decompressobj()
    try:
        short = wanted < _PIECE_INFLATED
        raw = inflater.decompress(block, wanted + 1) if short else _in_pieces(inflater, block, wanted)
    except zlib.error as error:
        raise unreadable(f"array {name!r} is damaged") from error
    if len(raw) != wanted or not inflater.eof or inflater.unused_data:
        raise unreadable(f"array {name!r} is not of the declared size")
    array = np.frombuffer(raw, dtype=dtype)
    array.flags.writeable = False
    return array


def _in_pieces(inflater: Any, block: memoryview, wanted: int) -> bytes | memoryview:
    """Inflate what is long: in one call it would be there twice. Returns more than is wanted if there is more."""
    # One byte more than is wanted tells a stream that is too long.
    made = np.empty(wanted + 1, dtype=np.uint8).data
    at = 0
    for start in range(0, len(block), _PIECE):
        left: bytes | memoryview = block[start : start + _PIECE]
        while at <= wanted:
            room = min(_PIECE_INFLATED, wanted + 1 - at)
            some = inflater.decompress(left, room)
            made[at : at + len(some)] = some
            at += len(some)
            left = inflater.unconsumed_tail
            # Of a stream that has ended the tail stays as it was.
            if inflater.eof or (not left and len(some) < room):
                break
    return made[:at]


def read_bytes(path: str | os.PathLike[str], megabytes: float | None = None) -> bytes:
    """Read a file of at most 2 GiB, or of so many megabytes; nothing is read without end."""
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            regular = stat.S_ISREG(about.st_mode)
            most = _MOST_FILE if megabytes is None else min(_MOST_FILE, int(1e6 * megabytes))
            if not regular and megabytes is None:
                most = min(most, _MOST_PIPE)
            # Too long a file is not read at all, and one that grows meanwhile not without end.
            long = regular and about.st_size > most
            data = b"" if long else file.read((about.st_size if regular else most) + 1)
    except OSError as error:
        raise InvalidProblem(
            f"The certificate {os.fspath(path)!r} cannot be read: {error.strerror or error}."
        ) from None
    if not long and len(data) <= most:
        return data
    if megabytes is not None:
        raise unreadable(f"it is larger than the {megabytes:g} megabytes of memory_limit")
    if not regular:
        raise unreadable(
            f"it is not a regular file and does not end within {most / 1e6:g} megabytes; allow more with memory_limit"
        )
    raise unreadable("it is larger than 2 GiB")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the whole file or nothing."""
    try:
        write_whole(Path(path), lambda temporary: temporary.write_bytes(data))
    except OSError as error:
        raise InvalidProblem(
            f"The certificate cannot be written to {os.fspath(path)!r}: {error.strerror or error}."
        ) from None


def unreadable(reason: str) -> InvalidProblem:
    """Return the error that says why a certificate cannot be read."""
    return InvalidProblem(f"The certificate cannot be read: {reason}.")
