"""The formats of base files."""

from __future__ import annotations

import pytest

from hudiformat import UnsupportedFeatureError
from hudiformat.file_group.base_file.format import FORMATS, format_named, format_of
from hudiformat.naming.file_names import BASE_FILE_EXTENSIONS


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_found_by_its_name_and_by_the_extension_of_its_files(name: str) -> None:
    found = format_named(name)
    assert found.extension in BASE_FILE_EXTENSIONS
    assert format_of(f"p/f-0_0-0-0_001.{found.extension}") is found


@pytest.mark.parametrize("extension", sorted({*BASE_FILE_EXTENSIONS} - {one.extension for one in FORMATS.values()}))
def test_a_format_that_is_not_supported_is_refused_by_name(extension: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=f"expected .* PARQUET, ORC, found one of format {extension.upper()}"
    ):
        format_of(f"p/f-0_0-0-0_001.{extension}")
