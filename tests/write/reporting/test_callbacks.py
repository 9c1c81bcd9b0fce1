"""A service is told of each write by HTTP; whatever it answers, the write is committed."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudiformat import OptionError, UnsupportedFeatureError, open_table
from tests.http_server import KeptRequests, keep_requests
from tests.tables import content, new_table, rows

KEY = "hoodie.write.commit.callback."
ROW = rows(("a", 1, "x", 1))


@pytest.fixture
def server() -> Iterator[KeptRequests]:
    with keep_requests() as kept:
        yield kept


def told(server: KeptRequests, **more: str) -> dict[str, str]:
    return {f"{KEY}on": "true", f"{KEY}http.url": f"{server.url}/hook?of=t", **{KEY + key: more[key] for key in more}}


def test_each_write_is_a_post_and_services_are_none(tmp_path: Path, server: KeptRequests) -> None:
    headers = {"http.api.key": "mine", "http.custom.headers": "X-A:1; X-B : two"}
    table = new_table(tmp_path / "t", options=told(server, **headers))
    commit = table.upsert(ROW)
    table.upsert(rows(("a", 2, "x", 2)))
    assert table.compact()
    table.delete_partitions(["x"])
    assert [one.path for one in server.requests] == ["/hook?of=t"] * 3
    first = server.requests[0]
    assert first.headers.items() >= {
        ("HUDI-CALLBACK-KEY", "mine"),
        ("Content-Type", "application/json; charset=UTF-8"),
        ("X-A", "1"),
        ("X-B", "two"),
    }
    message = json.loads(first.body)
    assert (message["commitTime"], message["tableName"]) == (commit.instant, "t")
    assert message["basePath"] == table.path
    [stat] = message["hoodieWriteStat"]
    assert (stat["partitionPath"], stat["numInserts"], stat["path"]) == ("x", 1, commit.stats[0].path)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_service_that_refuses_is_a_line_of_the_log(
    tmp_path: Path, server: KeptRequests, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    server.status = status
    table = new_table(tmp_path / "t", options=told(server))
    table.insert(ROW)
    assert content(table) == [("a", 1, "x", 1)]
    [line] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert f"the callback has failed: 127.0.0.1: expected a status below 300, found {status}" in line


def test_a_service_that_is_not_there_is_a_line_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with keep_requests() as gone:
        options = told(gone, **{"http.timeout.seconds": "1"})
    table = new_table(tmp_path / "t", options=options)
    table.insert(ROW)
    assert content(table) == [("a", 1, "x", 1)]
    assert "is committed, but the callback has failed" in caplog.text


@pytest.mark.parametrize("url", ["file:///etc/passwd", "hook", "http://"])
def test_other_addresses_are_refused(tmp_path: Path, url: str) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match="expected an address that begins with http"):
        open_table(tmp_path / "t", options={f"{KEY}http.url": url})


@pytest.mark.parametrize("headers", ["name", "name:", ":value", "a:b:c"])
def test_headers_without_name_and_value_are_refused(tmp_path: Path, headers: str) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match="expected name:value;name:value"):
        open_table(tmp_path / "t", options={f"{KEY}http.custom.headers": headers})


def test_a_callback_without_address_and_other_classes_are_refused(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match="expected the address"):
        open_table(tmp_path / "t", options={f"{KEY}on": "true"})
    with pytest.raises(UnsupportedFeatureError, match="it names a Java class"):
        open_table(tmp_path / "t", options={f"{KEY}class": "org.example.Mine"})
