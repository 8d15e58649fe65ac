"""The file's container: what goes in comes out, what a file says of itself is not believed, and its limits hold."""

import contextlib
import hashlib
import json
import os
import struct
import threading
import zlib

import numpy as np
import pytest

from noap.errors import InvalidProblem
from noap.kernel import container
from noap.kernel.container import pack, read_bytes, unpack, write_bytes

LONG = 1 << 15  # doubles that are inflated in pieces
PREFIX, DIGEST = 14, 32  # bytes before the header and after the arrays


def file_of(entries, blocks=b"", length=None, version=container.VERSION, text=None):
    """A file with a list of arrays that need not be true of the bytes behind it."""
    text = json.dumps({"arrays": entries}).encode() if text is None else text
    prefix = struct.pack("<8sHI", container.MAGIC, version, len(text) if length is None else length)
    return signed(prefix + text + blocks)


def signed(body):
    return body + hashlib.sha256(body).digest()


def entry(numbers, **kwargs):
    """A true entry and its bytes, for an array of doubles."""
    block = zlib.compress(np.asarray(numbers, "<f8").tobytes())
    return {"name": "x", "dtype": "f8", "count": len(numbers), "bytes": len(block)} | kwargs, block


def refusal(data, megabytes=None):
    with pytest.raises(InvalidProblem, match=r"^The certificate cannot be read: ") as error:
        unpack(data, megabytes)
    return str(error.value)


@pytest.mark.parametrize("count", [1, 5, LONG - 1, LONG, LONG + 1, 2 * LONG, 3 * LONG + 7])
@pytest.mark.parametrize("kind", ["zeros", "random"])
def test_arrays_come_out_as_they_went_in(count, kind):
    numbers = np.zeros(count) if kind == "zeros" else np.random.default_rng(count).random(count)
    header, arrays = unpack(pack({"k": 3}, {"a": np.arange(3, dtype=np.uint8), "x": numbers, "none": np.empty(0)}))
    assert header["k"] == 3
    assert list(arrays) == ["a", "x"]
    assert arrays["a"].tolist() == [0, 1, 2]
    assert np.array_equal(arrays["x"], numbers)
    assert not arrays["x"].flags.writeable


@pytest.mark.parametrize("count", [4, LONG - 1, LONG, 2 * LONG, 2 * LONG + 9])
@pytest.mark.parametrize("kind", ["zeros", "random"])
def test_an_array_is_as_long_as_it_says(count, kind):
    numbers = np.zeros(count) if kind == "zeros" else np.random.default_rng(count).random(count)
    true, block = entry(numbers)
    assert len(unpack(file_of([true], block))[1]["x"]) == count
    for declared in (count - 1, count + 1, 1, 2 * count):
        refusal(file_of([true | {"count": declared}], block))
    # A byte less or more is no number of doubles.
    for size, code in ((8 * count - 1, "u1"), (8 * count + 1, "u1")):
        refusal(file_of([true | {"count": size, "dtype": code}], block))
    assert "damaged" in refusal(file_of([true], b"\0" * len(block)))
    cut = block[:-1]
    assert "declared size" in refusal(file_of([true | {"bytes": len(cut)}], cut))
    more = block + b"\0"
    assert "declared size" in refusal(file_of([true | {"bytes": len(more)}], more))


def test_arrays_lie_one_behind_the_other():
    (first, one), (second, two) = entry([1.0, 2.0], name="a"), entry([3.0], name="b")
    assert unpack(file_of([first, second], one + two))[1]["b"].tolist() == [3.0]
    assert "twice" in refusal(file_of([first, first], one + one))
    assert "belong to no array" in refusal(file_of([first, second], one + two + b"\0"))
    assert "belong to no array" in refusal(file_of([], b"\0"))
    assert "longer than the file" in refusal(file_of([first, second | {"bytes": len(two) + 1}], one + two))
    assert "longer than the file" in refusal(file_of([first, second], one))


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": -1},
        {"count": 2**40},
        {"count": True},
        {"count": 1.0},
        {"bytes": -1},
        {"bytes": False},
        {"bytes": "9"},
        {"name": None},
        {"dtype": 3},
        {"dtype": "f2"},
        {"another": 1},
    ],
)
def test_entries_of_the_list_that_are_none(wrong):
    true, block = entry([1.0])
    refusal(file_of([true | wrong], block))


def test_files_that_are_none():
    true, block = entry([1.0])
    good = file_of([true], block)
    assert unpack(good)[1]["x"].tolist() == [1.0]
    assert "not a noap certificate" in refusal(good[:10])
    assert "not a noap certificate" in refusal(b"X" + good[1:])
    least = PREFIX + DIGEST
    assert "not a noap certificate" in refusal(good[: least - 1])
    assert "checksum" in refusal(good[:least])
    assert "checksum" in refusal(good[:-1] + bytes([good[-1] ^ 1]))
    assert "format version 4" in refusal(file_of([], version=4))
    text = json.dumps({"arrays": []}).encode()
    assert unpack(file_of([]))[1] == {}
    assert "longer than the file" in refusal(file_of([], length=len(text) + 1))
    assert "not valid JSON" in refusal(file_of([], length=len(text) - 1))
    assert "not valid JSON" in refusal(file_of([], text=b'{"arrays": [], "k": 1, "k": 1}'))
    assert "no list of arrays" in refusal(file_of([], text=b"[]"))


def test_a_header_of_any_length_up_to_its_limit():
    most = 1 << 20
    text = json.dumps({"arrays": []}).encode()
    assert unpack(file_of([], text=text + b" " * (most - len(text))))[1] == {}
    assert "header is longer" in refusal(file_of([], text=text + b" " * (most + 1 - len(text))))


def test_what_deflate_cannot_hold_is_a_lie():
    true, block = entry([1.0])
    most = 1032 * len(block) + 1024
    assert "more than its bytes can hold" in refusal(file_of([true | {"count": most + 1, "dtype": "u1"}], block))
    assert "declared size" in refusal(file_of([true | {"count": most, "dtype": "u1"}], block))


def test_arrays_of_all_sizes_have_room_or_none():
    true, block = entry(np.zeros(1000))
    # More than 2 GiB are refused whatever is allowed; so many are not believed of a few bytes.
    most = 1 << 31
    assert "2 GiB" in refusal(file_of([true | {"count": most + 1, "dtype": "u1"}], block), 1e9)
    assert "can hold" in refusal(file_of([true | {"count": most, "dtype": "u1"}], block), 1e9)
    # File and arrays together, by a limit of the user's, which may be larger too.
    data, held = file_of([true], block), 8000
    assert len(unpack(data, (len(data) + held) / 1e6)[1]["x"]) == 1000
    assert f"it takes {(len(data) + held) / 1e6:.3g} megabytes" in refusal(data, (len(data) + held - 1) / 1e6)


def test_what_is_allowed_without_a_limit():
    """64 MB, and 32 bytes more for each of the file; spaces in the header make it long enough."""
    held = 68_000_000
    true, block = entry(np.zeros(held // 8))
    spare = len(file_of([true], block))
    room = (held - 64_000_000) // 32 - spare
    assert room > 1
    allowed, short = (file_of([true], block, text=spaced([true], count)) for count in (room, room - 1))
    assert len(unpack(allowed)[1]["x"]) == held // 8
    assert "68 megabytes inflated, far more than a file of" in refusal(short)


def spaced(entries, count):
    """A header that is longer by so many spaces."""
    return json.dumps({"arrays": entries}).encode() + b" " * count


def test_files_have_room_or_none(tmp_path):
    path = tmp_path / "file"
    write_bytes(path, b"x" * 1000)
    assert read_bytes(path) == read_bytes(path, 0.001) == b"x" * 1000
    for megabytes in (0.000999, 0.0):
        with pytest.raises(InvalidProblem, match=r"larger than the .* megabytes"):
            read_bytes(path, megabytes)
    # A file of 2 GiB and a byte, of which nothing is on the disk and nothing is read.
    os.truncate(path, (1 << 31) + 1)
    with pytest.raises(InvalidProblem, match="2 GiB"):
        read_bytes(path)
    with pytest.raises(InvalidProblem, match="larger than the 5 megabytes"):
        read_bytes(path, 5.0)
    # A regular file may be longer than what does not say how long it is.
    os.truncate(path, 64_000_001)
    assert len(read_bytes(path)) == 64_000_001


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidProblem, match="cannot be read: No such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(InvalidProblem, match="cannot be written"):
        write_bytes(tmp_path / "none" / "file", b"")


def piped(tmp_path, count, megabytes=None):
    """What is read of a pipe that so many bytes are written to."""
    path = tmp_path / f"pipe{count}{megabytes}"
    os.mkfifo(path)

    def write():
        with open(path, "wb", buffering=0) as file, contextlib.suppress(BrokenPipeError):
            file.write(b"x" * count)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        return len(read_bytes(path, megabytes))
    finally:
        writer.join(9)


def test_pipes_must_end(tmp_path):
    most = 64_000_000
    assert piped(tmp_path, most) == most
    with pytest.raises(InvalidProblem, match=r"does not end within 64 megabytes"):
        piped(tmp_path, most + 1)
    assert piped(tmp_path, 1001, 0.002) == 1001
    with pytest.raises(InvalidProblem, match=r"larger than the 0\.0005"):
        piped(tmp_path, 501, 0.0005)
