"""The text of table properties with its checksum, and what follows from a configuration."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.table_config import KeyGenerator, format_properties, parse_properties, table_checksum

SAVED = datetime(2024, 2, 29, 12, 0, 0, 7_000, timezone.utc)


def test_the_checksum_is_that_of_database_and_name() -> None:
    assert table_checksum("t_v9_mor_avro_h120") == 2515686536
    assert table_checksum("t_v8_mor_rollback_call_h102", "default") != table_checksum("t_v8_mor_rollback_call_h102")


def test_properties_are_sorted_escaped_and_the_same_every_time() -> None:
    entries = {"b": "a=b: #c!\nd\té€\\", "a": ""}
    text = format_properties(entries, saved_at=SAVED)
    assert text.splitlines()[:2] == [b"#Properties saved on 2024-02-29T12:00:00.007Z", b"a="]
    assert parse_properties(text) == entries
    assert format_properties(dict(reversed(entries.items())), saved_at=SAVED) == text


@pytest.mark.parametrize("saved", [SAVED.replace(tzinfo=None), SAVED.astimezone(timezone(timedelta(hours=5)))])
def test_a_time_without_a_zone_is_utc_and_others_become_it(saved: datetime) -> None:
    assert format_properties({}, saved_at=saved).startswith(b"#Properties saved on 2024-02-29T12:00:00.007Z")


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(TEXT.filter(bool), TEXT))
def test_any_entries_survive_their_text(entries: dict[str, str]) -> None:
    assert parse_properties(format_properties(entries, saved_at=SAVED)) == entries


@pytest.mark.parametrize(
    ("fields", "generator", "version", "uses_complex_keys", "is_ambiguous"),
    [
        (["a"], KeyGenerator.SIMPLE, 9, False, False),
        (["a", "b"], KeyGenerator.SIMPLE, 9, True, False),
        (["a"], KeyGenerator.COMPLEX, 9, True, False),
        (["a"], KeyGenerator.COMPLEX, 8, True, True),
        (["a", "b"], KeyGenerator.COMPLEX, 8, True, False),
    ],
)
def test_the_form_of_record_keys(
    fields: list[str], generator: KeyGenerator, version: int, uses_complex_keys: bool, is_ambiguous: bool
) -> None:
    config = new_table_config(name="t", record_key_fields=fields, key_generator=generator, version=version)
    assert config.uses_complex_keys is uses_complex_keys
    assert config.has_ambiguous_keys is is_ambiguous


def test_properties_without_an_attribute_are_kept() -> None:
    config = new_table_config(name="t", record_key_fields=["k"], extra={"my.property": "1", "hoodie.x": "2"})
    assert {"my.property": "1", "hoodie.x": "2"}.items() <= config.extra.items()
    assert "hoodie.table.name" not in config.extra


def test_a_name_with_a_lone_surrogate_has_a_checksum_too() -> None:
    assert table_checksum("a\ud800") == table_checksum("a?")
