"""The archived timeline of layout 2: its manifests, and damage in its files."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.timeline.archive.history import read_history
from hudiformat.timeline.timeline import Action
from tests.faults import FaultyStorage, NoAnswer
from tests.timeline.support import Table


def test_old_manifests_are_deleted(newest: Table) -> None:
    for number in range(1, 13):
        newest.add(number, Action.COMMIT)
        newest.archive()
    names = {info.name for info in newest.storage.list(newest.config.history_folder)}
    assert {name for name in names if "manifest" in name} == {"manifest_3", "manifest_4", "manifest_5"}
    assert len(newest.archived()) == 10


def test_without_a_version_file_the_highest_manifest_is_used(newest: Table) -> None:
    newest.add_all(1, 2, 3, action=Action.COMMIT)
    newest.archive()
    history = newest.config.history_folder
    newest.storage.delete(f"{history}/_version_")
    newest.storage.create(f"{history}/manifest_x", b"")
    assert len(newest.archived()) == 2
    newest.storage.create(f"{history}/_version_", b"soon")
    assert len(newest.archived()) == 2


def lsm_row(**changes: Any) -> bytes:
    row = {"instantTime": "1", "completionTime": "2", "action": "commit", "metadata": None, "plan": None} | changes
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row]), sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "cannot read the archived timeline"),
        (b"PAR1", "cannot read the archived timeline"),
        (lsm_row(action="magic"), "expected archived instants: .*'magic' is not a valid Action"),
        (lsm_row(metadata=b"Obj\x01"), "expected an Avro file"),
        (lsm_row(plan=b"x"), "expected an Avro file"),
    ],
    ids=["missing", "cut off", "action", "metadata", "plan"],
)
def test_a_damaged_file_of_the_archive_is_named(newest: Table, data: bytes | None, expected: str) -> None:
    history = newest.config.history_folder
    newest.storage.create(f"{history}/manifest_1", json.dumps({"files": [{"fileName": "f", "fileLen": 1}]}).encode())
    if data is not None:
        newest.storage.create(f"{history}/f", data)
    with pytest.raises(CorruptTableError, match=expected) as caught:
        newest.archived()
    assert caught.value.path == f"{newest.storage.root}/{history}/f"


@pytest.mark.parametrize("name", ["manifest_1", ".parquet"])
def test_a_file_that_the_storage_cannot_read_for_a_moment_is_not_called_damaged(newest: Table, name: str) -> None:
    newest.add_all(1, 2, 3, action=Action.COMMIT)
    newest.archive()
    with pytest.raises(StorageError, match="no answer"):
        read_history(FaultyStorage(newest.storage, NoAnswer(name)), newest.config)
    assert len(newest.archived()) == 2


@pytest.mark.parametrize("manifest", [b"{", b"[]", b'{"files": [{}]}', b'{"files": 1}'])
def test_a_damaged_manifest_is_named(newest: Table, manifest: bytes) -> None:
    newest.storage.create(f"{newest.config.history_folder}/manifest_7", manifest)
    with pytest.raises(CorruptTableError, match="manifest_7: expected the archived timeline's manifest"):
        newest.archived()


def bomb(rows: int) -> bytes:
    """A file of few bytes with one value in very many rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"instantTime": pa.nulls(rows, pa.string()), "action": pa.nulls(rows, pa.string())}), sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("manifest", "file"),
    [
        ({"files": [{"fileName": "f", "fileLen": 1}]}, bomb(10**6)),
        ({"files": [{"fileName": "../../../f", "fileLen": 1}]}, b""),
        ({"files": [{"fileName": "/etc/passwd", "fileLen": 1}]}, b""),
        ({"files": [{"fileName": "f", "fileLen": [1]}]}, b""),
        ({"files": [{"fileName": "f", "fileLen": 1}]}, lsm_row(instantTime="../..")),
        ({"files": [{"fileName": "f", "fileLen": 1}]}, lsm_row(completionTime="../..")),
        ({"files": [{"fileName": "f", "fileLen": 1}]}, lsm_row(instantTime=None)),
        ({"files": [{"fileName": "f", "fileLen": 1}]}, lsm_row(instantTime=1)),
    ],
)
def test_an_archive_that_names_other_places_or_has_too_many_rows_is_refused(
    newest: Table, manifest: object, file: bytes
) -> None:
    history = newest.config.history_folder
    newest.storage.create(f"{history}/manifest_1", json.dumps(manifest).encode())
    newest.storage.create(f"{history}/f", file)
    with pytest.raises(CorruptTableError, match="archived"):
        newest.archived()


def test_a_version_that_no_manifest_can_have_is_ignored(newest: Table) -> None:
    newest.add_all(1, 2, 3, action=Action.COMMIT)
    newest.archive()
    newest.storage.create(f"{newest.config.history_folder}/_version_", b"1" * 5000, overwrite=True)
    assert len(newest.archived()) == 2
