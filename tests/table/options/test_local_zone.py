"""The time zone of the process is found by its name."""

from __future__ import annotations

import pytest

from hudiformat.naming.time_zones import UTC, Zone
from hudiformat.table.options.local_zone import local_zone


@pytest.mark.parametrize(
    ("name", "offset", "zone"),
    [("Asia/Tokyo", 0, Zone("Asia/Tokyo")), (":Etc/UTC", 0, UTC), ("Nowhere", 3600, None), ("Nowhere", 0, UTC)],
)
def test_a_zone_without_a_name_is_known_only_if_it_is_utc(
    name: str, offset: int, zone: Zone | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", name)
    monkeypatch.setattr("time.timezone", offset)
    monkeypatch.setattr("time.daylight", 0)
    assert local_zone() == zone


def test_without_a_variable_the_machine_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ")
    monkeypatch.setattr("os.path.realpath", lambda _path: "/usr/share/zoneinfo/Europe/Berlin")
    assert local_zone() == Zone("Europe/Berlin")
