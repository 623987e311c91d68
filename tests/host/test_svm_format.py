# SPDX-License-Identifier: MIT
"""The model file is what docs/svm.md says, and no crafted file becomes a broken model."""

import io
import re
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.svm import SVM
from acclimate.svm import file as svm_io

DOC = Path(__file__).resolve().parents[2] / "docs" / "svm.md"
X = [[0, 0], [0, 1], [1, 0], [1, 1], [5, 5], [5, 6]]
Y = [0, 1, 1, 0, 7, 7]


def test_byte_table_in_the_docs_is_the_header_of_the_code():
    rows = re.findall(r"^\| (\d+) \| (\w+) \| ", DOC.read_text(), re.MULTILINE)
    assert "<" + "".join(kind for _, kind in rows) == svm_io.FILE_HEAD
    at = 0
    for offset, kind in rows:
        assert int(offset) == at
        at += struct.calcsize("<" + kind)
    assert at == svm_io.HEAD_BYTES == struct.calcsize(svm_io.FILE_HEAD)


@pytest.fixture(
    scope="module",
    params=[(k, s) for k in ("linear", "poly", "rbf") for s in ("float", "fixed")],
    ids="-".join,
)
def good(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("svm") / "m.svm"
    kernel, state = request.param
    m = SVM(kernel=kernel, C=10, gamma=0.5, degree=2, coef0=1, state=state)
    m.fit(X, Y).save(str(path))
    return path


def test_fields_and_checksum_can_be_read_by_others(good):
    data = good.read_bytes()
    fields = struct.unpack_from(svm_io.FILE_HEAD, data)
    assert fields[0] == b"ACSV" and fields[1] == 1 and fields[7] == len(data)
    assert struct.unpack("<I", data[-4:])[0] == zlib.crc32(data[:-4])
    assert data[44 : 44 + 3] == bytes((0, 1, 7))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(4, 5000), st.integers(0, 255)), min_size=1))
def test_crafted_files_raise_or_predict(good, changes):
    """The checksum is made right, so only the structure checks stand between."""
    data = bytearray(good.read_bytes())
    for at, value in changes:
        data[at % (len(data) - 4)] = value
    predict_or_refuse(good, data)


@pytest.mark.parametrize("number", range(16))
@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1, 0x7F000000, 0x4F000000])
def test_no_parameter_makes_a_prediction_endless(good, number, value):
    """Degrees and shifts are counts: a crafted one may keep a board busy for ever."""
    data = bytearray(good.read_bytes())
    n, d = struct.unpack_from("<H", data, 10)[0], struct.unpack_from("<H", data, 8)[0]
    at = 48 + (n * d + 3 & ~3) + 8 + 4 * number  # behind labels, rows of bytes and a pair's head
    data[at : at + 4] = struct.pack("<i", value)
    predict_or_refuse(good, data)


def predict_or_refuse(good, data):
    data[-4:] = struct.pack("<I", zlib.crc32(data[:-4]))
    path = good.with_name("crafted.svm")
    path.write_bytes(data)
    try:
        m = SVM.load(str(path))
        m.predict(X[0] if m._model.d == 2 else [0] * m._model.d)
    except (ValueError, OverflowError):
        pass


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, 5000))
def test_truncated_files_are_refused(good, cut):
    data = good.read_bytes()
    stream = io.BytesIO(data[: cut % len(data)])
    with pytest.raises(ValueError, match="expected"):
        svm_io.check(stream, "m.svm")
