"""Tampered files: damaged, hostile and arbitrary bytes are refused in one sentence."""

import dataclasses
import hashlib
import json
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tampering import claiming, edited, sentence

from noap.errors import InvalidProblem
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.feature_wise import (
    GramProof,
)

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

# -- the file ---------------------------------------------------------------------------------------------------------

PREFIX = struct.Struct("<8sHI")


def sealed(body):
    return body + hashlib.sha256(body).digest()


def parts(data):
    """Header as a dictionary, and what follows it."""
    _, _, length = PREFIX.unpack_from(data)
    at = PREFIX.size + length
    return json.loads(data[PREFIX.size : at]), data[at:-32]


def file_of(header, blocks):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return sealed(PREFIX.pack(b"NOAP\0CRT", 1, len(text)) + text + blocks)


def header_with(change):
    def made(data):
        header, blocks = parts(data)
        changed = change(header)
        return file_of(header if changed is None else changed, blocks)

    return made


def setting(*path, to):
    def change(header):
        at = header
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return header_with(change)


def inflating(size, *declared):
    """The first array as so many zeros, declared with another shape."""

    def made(data):
        header, blocks = parts(data)
        entry = header["arrays"][0]
        block = zlib.compress(bytes(size), 9)
        rest = blocks[entry["bytes"] :]
        entry["bytes"], entry["shape"] = len(block), list(declared)
        return file_of(header, block + rest)

    return made


HEADERS = {
    "nothing": lambda data: b"",
    "the magic alone": lambda data: data[:8],
    "another magic": lambda data: sealed(b"PK\3\4" + data[4:-32]),
    "another version": lambda data: sealed(data[:8] + b"\2\0" + data[10:-32]),
    "half of it": lambda data: data[: len(data) // 2],
    "half of it, sealed": lambda data: sealed(data[: len(data) // 2]),
    "the last byte missing": lambda data: data[:-1],
    "a byte too many": lambda data: data + b"\0",
    "a byte too many, sealed": lambda data: sealed(data[:-32] + b"\0"),
    "a header longer than the file": lambda data: sealed(
        PREFIX.pack(b"NOAP\0CRT", 1, 2**32 - 1) + data[PREFIX.size : -32]
    ),
    "a header of no length": lambda data: sealed(PREFIX.pack(b"NOAP\0CRT", 1, 0) + data[PREFIX.size : -32]),
    "a header that is not JSON": lambda data: file_of(b"claim: true", parts(data)[1]),
    "a header that is not text": lambda data: file_of(b"\xff\xfe\0", parts(data)[1]),
    "a header of brackets": lambda data: file_of(b"[" * 500_000, parts(data)[1]),
    "a header of objects": lambda data: file_of(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, parts(data)[1]),
    "a header of a huge number": lambda data: file_of(b"1" * 900_000, parts(data)[1]),
    "a header that is a list": lambda data: file_of([], parts(data)[1]),
    "a header that is NaN": lambda data: file_of(b"NaN", parts(data)[1]),
    "no arrays": header_with(lambda header: {k: v for k, v in header.items() if k != "arrays"}),
    "arrays that are a text": setting("arrays", to="kind"),
    "arrays that are numbers": setting("arrays", to=[1, 2, 3]),
    "a list of no arrays": setting("arrays", to=[]),
    "an array twice": header_with(lambda header: header["arrays"].append(header["arrays"][0])),
    "an array of another name": setting("arrays", 0, "name", to="more"),
    "an array without a name": setting("arrays", 0, "name", to=None),
    "a type that runs code": setting("arrays", 0, "dtype", to="O8"),
    "a type that is a number": setting("arrays", 0, "dtype", to=4),
    "the type of another array": setting("arrays", 0, "dtype", to="f4"),
    "no shape": setting("arrays", 0, "shape", to=None),
    "a shape of no dimensions": setting("arrays", 0, "shape", to=[]),
    "a negative shape": setting("arrays", 0, "shape", to=[-1]),
    "a huge shape": setting("arrays", 0, "shape", to=[2**39]),
    "a shape beyond all memory": setting("arrays", 0, "shape", to=[2**39, 2**39, 2**39]),
    "nothing in a shape beyond all memory": inflating(0, 0, 2**39, 2**39),
    "nothing in two dimensions": inflating(0, 0, 1),
    "a shape of a fraction": setting("arrays", 0, "shape", to=[2.5]),
    "a shape that is true": setting("arrays", 0, "shape", to=[True]),
    "a shape in two dimensions": setting("arrays", 0, "shape", to=[3, 1]),
    "a shape of nothing": setting("arrays", 0, "shape", to=[0]),
    "a length beyond the file": setting("arrays", 0, "bytes", to=2**39),
    "a negative length": setting("arrays", 0, "bytes", to=-1),
    "a bomb": inflating(50_000_000, 3),
    "a bomb that says so": inflating(50_000_000, 12_500_000),
    "a block too short": inflating(4, 3),
    "no claim": header_with(lambda header: {k: v for k, v in header.items() if k != "claim"}),
    "a claim that is a list": setting("claim", to=[1]),
    "a claim with more": setting("claim", "more", to=1),
    "a claim with less": header_with(lambda header: {**header, "claim": {"k": 3}}),
    "k as a text": setting("claim", "k", to="3"),
    "k as a fraction": setting("claim", "k", to=3.0),
    "k of zero": setting("claim", "k", to=0),
    "k beyond all": setting("claim", "n_features", to=2**60),
    "a bound in decimal": setting("claim", "bound", to=1.0),
    "a bound of NaN": setting("claim", "bound", to="nan"),
    "a bound of infinity": setting("claim", "bound", to="inf"),
    "a bound below zero": setting("claim", "bound", to="-0x1p+0"),
    "a bound that overflows": setting("claim", "bound", to="0x1p+99999999"),
    "rho of nothing": setting("claim", "rho", to=None),
    "an adversary with an escape": setting("claim", "adversary", to="\x1b[2J\n"),
    "an adversary without end": setting("claim", "adversary", to="Feature" * 100_000),
    "a source that is a number": setting("claim", "source", to=1),
    "a fingerprint too short": setting("claim", "sha256", to="ab"),
    "a fingerprint of surrogates": setting("claim", "sha256", to="\ud800" * 64),
    "another proof": setting("proof", to="samples"),
    "an unknown proof": setting("proof", to="oath"),
    "a proof that is a list": setting("proof", to=["gram"]),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_damaged_files_are_not_read(honest, name, tmp_path):
    data = HEADERS[name](honest.certificate.to_bytes())
    tracemalloc.start()
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sentence(str(refusal.value), "The certificate cannot be read: ")
    assert str(refusal.value).isprintable()
    # Nothing is allocated that the file does not account for: deflate shrinks by 1032 at most.
    assert peak < 4_000_000 + 60 * len(data) or name == "a bomb that says so"
    path = tmp_path / "file.noap"
    path.write_bytes(data)
    with pytest.raises(InvalidProblem):
        Certificate.load(path)


def test_arrays_are_bounded_in_all(honest, monkeypatch):
    data = honest.certificate.to_bytes()
    monkeypatch.setattr(container, "_MOST_HELD", 500)
    with pytest.raises(InvalidProblem, match="inflated"):
        Certificate.from_bytes(data)
    monkeypatch.setattr(container, "_MOST_HELD", 10**6)
    assert Certificate.from_bytes(data).nodes == honest.certificate.nodes


def test_files_beyond_two_gigabytes_are_not_even_opened(tmp_path, monkeypatch):
    path = tmp_path / "large.noap"
    path.write_bytes(b"NOAP" * 100)
    monkeypatch.setattr(container, "_MOST_FILE", 300)
    with pytest.raises(InvalidProblem, match="larger than"):
        Certificate.load(path)
    with pytest.raises(InvalidProblem, match="cannot be read"):
        Certificate.load(tmp_path)


def read(data):
    """The certificate, or None: nothing else may happen."""
    try:
        return Certificate.from_bytes(data)
    except InvalidProblem as refusal:
        sentence(str(refusal), "The certificate cannot be read: ")
        return None


def test_every_bit_flipped(honest):
    data = honest.certificate.to_bytes()
    body = data[:-32]
    survivors = 0
    for at in range(len(data)):
        assert read(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]) is None
    for at in range(len(body)):
        for bit in range(8):
            certificate = read(sealed(body[:at] + bytes([body[at] ^ (1 << bit)]) + body[at + 1 :]))
            if certificate is not None:
                survivors += 1
                honest.judge(certificate)
    assert survivors > 50  # flips in the claim's numbers are not seen by the reader


def test_every_byte_of_the_arrays_changed(honest):
    # Behind the compression, where a flip in the file seldom reaches.
    rng = np.random.default_rng(0)
    certificate = honest.certificate
    for field in dataclasses.fields(GramProof):
        array = getattr(certificate.proof, field.name)
        raw = array.tobytes()
        for at in range(len(raw)):
            byte = bytes([raw[at] ^ int(rng.integers(1, 256))])
            other = np.frombuffer(raw[:at] + byte + raw[at + 1 :], dtype=array.dtype)
            tampered = edited(certificate, **{field.name: other})
            if not honest.judge(tampered).ok:
                continue
            assert not honest.judge(claiming(tampered, bound=certificate.value * (1 - 1e-6), value=0.0)).ok


# -- fuzzing the reader -----------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.binary(max_size=400), st.booleans(), st.booleans())
def test_arbitrary_bytes_are_refused(data, magic, seal):
    body = (b"NOAP\0CRT\1\0" if magic else b"") + data
    assert read(sealed(body) if seal else body) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_arbitrary_edits_of_a_file_are_harmless(honest, data):
    original = honest.certificate.to_bytes()
    header, blocks = parts(original)
    kind = data.draw(st.sampled_from(["bytes", "header", "array"]))
    if kind == "bytes":
        body = bytearray(original[:-32])
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(body)))
            body[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
        made = sealed(bytes(body))
    elif kind == "header":
        at = data.draw(st.sampled_from([header, header["claim"], *header["arrays"]]))
        at[data.draw(st.sampled_from(sorted(at)))] = data.draw(JSON)
        made = file_of(header, blocks)
    else:
        number = data.draw(st.integers(0, len(header["arrays"]) - 1))
        start = sum(entry["bytes"] for entry in header["arrays"][:number])
        entry = header["arrays"][number]
        raw = data.draw(st.binary(max_size=64))
        block = zlib.compress(raw)
        after = blocks[start + entry["bytes"] :]
        entry["bytes"] = len(block)
        entry["dtype"] = data.draw(st.sampled_from(["u1", "u4", "f4", "f8", entry["dtype"]]))
        entry["shape"] = [len(raw) // int(entry["dtype"][1])]
        made = file_of(header, blocks[:start] + block + after)
    certificate = read(made)
    if certificate is not None:
        honest.judge(certificate)
