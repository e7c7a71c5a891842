"""TOML that is read with care, and written so that it reads back as the same."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import BadSetting
from engram.toml import MOST_BYTES, as_text, parsed, read_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = PLAIN | st.lists(PLAIN, max_size=3)
TABLES = st.dictionaries(TEXT, VALUES | st.dictionaries(TEXT, VALUES | st.dictionaries(TEXT, VALUES, max_size=2)))


@given(TABLES)
@settings(max_examples=50)
def test_what_is_written_reads_back_as_the_same(table):
    assert parsed(as_text(table), "made.toml") == table


@pytest.mark.parametrize(
    "text, why",
    [
        ("a = ", "end of document"),
        ("a = 1\na = 2", "each key can be given once"),
        ("[a]\n[a]", "line 2"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = 1" + "0" * 5000, "is not an experiment file"),
        ("words of a person", "line 1"),
    ],
)
def test_what_is_not_toml_is_one_sentence_with_the_file(text, why):
    with pytest.raises(BadSetting, match="^x.toml is not an experiment file") as caught:
        parsed(text, "x.toml")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_line_ends_and_marks_of_other_systems_do_not_matter(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\r\n")
    assert parsed(read_text(path), path) == {"a": 1, "b": 2}


def test_files_that_cannot_be_one(tmp_path):
    binary, huge, pipe = tmp_path / "binary.toml", tmp_path / "huge.toml", tmp_path / "pipe.toml"
    binary.write_bytes(b"\x00\xff\xfe")
    with huge.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    os.mkfifo(pipe)
    sentences = {
        binary: "is not text in UTF-8",
        huge: "has 1000001 bytes, which no experiment file has",
        pipe: "is not a regular file",
        tmp_path: "is not a regular file",
        tmp_path / "none.toml": "cannot be read .No such file",
        "with\0zero.toml": "cannot be read",
    }
    for path, sentence in sentences.items():
        with pytest.raises(BadSetting, match=sentence) as caught:
            read_text(path)
        assert str(path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("a = 1")
    path.chmod(0)
    with pytest.raises(BadSetting, match="cannot be read .Permission denied"):
        read_text(path)


def test_python_has_it_or_it_is_declared():
    assert sys.version_info >= (3, 11) or __import__("tomli")
