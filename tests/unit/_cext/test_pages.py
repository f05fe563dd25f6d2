"""Mapped files, by the kernel that maps them."""

from __future__ import annotations

import os
import sys

import pytest

from ngramdb._cext.base.files import FileMap, advise, resident

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are mapped by Python there")


@pytest.fixture
def descriptor(tmp_path):
    (tmp_path / "file").write_bytes(b"abcdefgh")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    yield fd
    os.close(fd)


def test_a_map_is_a_buffer_of_bytes_that_is_only_read(descriptor):
    view = memoryview(FileMap(descriptor, 6))
    assert (bytes(view), view.readonly, view.format, view.shape) == (b"abcdef", True, "B", (6,))
    with pytest.raises(TypeError):
        view[0] = 1


def test_what_cannot_be_mapped_is_an_error(descriptor):
    with pytest.raises(OSError, match="descriptor"):
        FileMap(-1, 6)
    with pytest.raises(ValueError, match="0 bytes"):
        FileMap(descriptor, 0)
    with pytest.raises(OSError):
        FileMap(descriptor, 9)


def test_advice_is_taken_for_bytes_that_are_there(descriptor):
    view = memoryview(FileMap(descriptor, 8))
    assert bytes(view) == b"abcdefgh" and resident(view) == 8
    assert advise(view, "at random", 2, 6)
    with pytest.raises(ValueError, match="bytes 2 to 9 are outside the buffer's 8"):
        advise(view, "soon", 2, 9)
    with pytest.raises(ValueError, match="'never'"):
        advise(view, "never")
