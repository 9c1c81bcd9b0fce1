"""The formats of base files."""

from __future__ import annotations

import pytest

from hudiformat.file_group.base_file.format import FORMATS, WRITABLE_FORMATS, format_named, format_of
from hudiformat.naming.file_names import BASE_FILE_EXTENSIONS


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_found_by_the_extension_of_its_files(name: str) -> None:
    found = FORMATS[name]
    assert format_of(f"p/f-0_0-0-0_001.{found.extension}") is found


@pytest.mark.parametrize("name", WRITABLE_FORMATS)
def test_a_format_in_which_files_are_written_is_found_by_its_name(name: str) -> None:
    assert format_named(name) is FORMATS[name]


def test_every_kind_of_base_file_that_hudi_names_is_read() -> None:
    assert {one.extension for one in FORMATS.values()} == set(BASE_FILE_EXTENSIONS)
