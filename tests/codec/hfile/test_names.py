from __future__ import annotations

from hudiformat.codec.hfile.file_info import hash_order


def test_names_are_in_the_order_of_javas_hash_map() -> None:  # as Java 17 gave it
    names = ["a", "b", "Aa", "BB", "schéma", "\U0001f600", "", "minRecordKey"]
    assert hash_order(names) == ["Aa", "BB", "", "a", "b", "minRecordKey", "schéma", "\U0001f600"]
