"""Every operation beside every other, with every index: what both leave is what one after the other would leave."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from hudiformat import DataError, Table, WriteConflictError, open_table
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.values import DuplicatePolicy, Operation
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.conflicts import Claim, KeyLookup, conflict_with_commit
from tests.effort import every
from tests.requests import RecordingStorage
from tests.tables import Row, content, new_table, rows
from tests.write.commit.support import SHARED

pytestmark = pytest.mark.unmeasured

DUPLICATES = "hoodie.datasource.insert.dup.policy"
PARTIAL = '{"type":"record","name":"r","fields":[{"name":"ts","type":["null","long"]}]}'
WAYS: dict[str, tuple[Operation, dict[str, str]]] = {
    "insert": (Operation.INSERT, {}),
    "insert or drop": (Operation.INSERT, {DUPLICATES: "drop"}),
    "insert or fail": (Operation.INSERT, {DUPLICATES: "fail"}),
    "upsert": (Operation.UPSERT, {}),
    "partial update": (Operation.UPSERT, {"hoodie.write.partial.update.schema": PARTIAL}),
    "bulk insert": (Operation.BULK_INSERT, {}),
    "delete": (Operation.DELETE, {}),
    "insert overwrite": (Operation.INSERT_OVERWRITE, {}),
    "insert overwrite table": (Operation.INSERT_OVERWRITE_TABLE, {}),
    "delete partition": (Operation.DELETE_PARTITION, {}),
}
FILES = set(Operation) - {Operation.ALTER_SCHEMA}
"""The operations that write or remove files; schemas that change are compared by themselves."""
INDEXES = ["SIMPLE", "BLOOM", "INMEMORY", "BUCKET", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX"]
RECORDS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
}
KINDS = [(index, kind) for index in INDEXES for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]


def test_every_operation_is_in_the_table() -> None:
    assert {operation for operation, _ in WAYS.values()} == FILES
    assert {options.get(DUPLICATES, "none") for _, options in WAYS.values()} == {one.value for one in DuplicatePolicy}


# What a write (a row) may do beside one that has been completed since it began (a column), if both have added rows, or
# deleted some, in one partition, each in a file group of its own: "." both commit, "x" it conflicts.
NEW_KEYS = """
                        insert  upsert  bulk_insert  delete  insert_overwrite  overwrite_table  delete_partition
insert                  .       .       .            .       x                 x                x
insert or drop          x       x       x            .       x                 x                x
insert or fail          x       x       x            .       x                 x                x
upsert                  x       x       x            .       x                 x                x
partial update          x       x       x            .       x                 x                x
bulk insert             .       .       .            .       x                 x                x
delete                  .       .       .            .       x                 x                x
insert overwrite        x       x       x            x       x                 x                x
insert overwrite table  x       x       x            x       x                 x                x
delete partition        x       x       x            x       x                 x                x
"""
OTHERS = [
    Operation.INSERT,
    Operation.UPSERT,
    Operation.BULK_INSERT,
    Operation.DELETE,
    Operation.INSERT_OVERWRITE,
    Operation.INSERT_OVERWRITE_TABLE,
    Operation.DELETE_PARTITION,
]
TABLE = [
    (line[:24].strip(), other, sign)
    for line in NEW_KEYS.strip().splitlines()[1:]
    for other, sign in zip(OTHERS, line[24:].split(), strict=True)
]


def done(operation: Operation, group: str, partition: str) -> CommitMetadata:
    """A commit that has put two new keys into a file group, or deleted two keys."""
    name = f"{group}_0-0-0_2.parquet"
    inserts = 0 if operation in (Operation.DELETE, Operation.DELETE_PARTITION) else 2
    stat = WriteStat(group, f"{partition}/{name}", prev_commit="null", num_inserts=inserts, partition_path=partition)
    if operation is Operation.DELETE_PARTITION:
        return CommitMetadata(operation.value, partition_to_replace_file_ids={partition: (group,)})
    return CommitMetadata(operation.value, {partition: (stat,)})


@pytest.mark.parametrize(("way", "other", "sign"), TABLE)
def test_new_keys_of_two_writes(way: str, other: Operation, sign: str) -> None:
    assert len(TABLE) == len(WAYS) * len(FILES)
    operation, options = WAYS[way]
    checks = options.get(DUPLICATES, "none") != "none"
    looks = operation is Operation.UPSERT or checks
    instant = Instant("3", Action.COMMIT, State.COMPLETED, "4")

    def conflicts(theirs: str, *, everywhere: bool = False, by_bucket: bool = False) -> bool:
        look_up = KeyLookup(looks, everywhere=everywhere, by_bucket=by_bucket)
        group, another = ("00000001-a", "00000002-b") if by_bucket else ("a", "b")
        claim = Claim.of(done(operation, group, "x"), by_bucket=by_bucket)
        found = conflict_with_commit(claim, look_up, instant, done(other, another, theirs), is_compaction=False)
        return found is not None

    assert conflicts("x") is conflicts("x", everywhere=True) is (sign == "x")
    adds = other not in (Operation.DELETE, Operation.DELETE_PARTITION)
    whole = Operation.INSERT_OVERWRITE_TABLE in (operation, other)
    assert conflicts("y") is whole
    assert conflicts("y", everywhere=True) is (whole or (looks and adds))
    replaces = {operation, other} & {
        Operation.INSERT_OVERWRITE,
        Operation.INSERT_OVERWRITE_TABLE,
        Operation.DELETE_PARTITION,
    }
    assert conflicts("x", by_bucket=True) is bool(replaces)  # two buckets have no key in common


@dataclass(frozen=True)
class Step:
    """One write of one key."""

    way: str
    key: str
    path: str
    value: int

    def run(self, table: Table) -> None:
        """Raises WriteConflictError; an insert that fails for a key that is there does nothing."""
        operation, _ = WAYS[self.way]
        row = rows((self.key, 5, self.path, self.value))
        if self.way == "partial update":
            row = row.select(["k", "ts", "p"])
        refusals = (DataError,) if self.way == "insert or fail" else ()
        with contextlib.suppress(*refusals):
            if operation is Operation.DELETE_PARTITION:
                table.delete_partitions([self.path])
            else:
                getattr(table, operation.value.lower())(row)


def of(kind: tuple[str, str], storage: Path | RecordingStorage, way: str) -> Table:
    index, _ = kind
    options = {**SHARED, "hoodie.index.type": index, "hoodie.parquet.small.file.limit": "0", "hudiformat.sync": "false"}
    if index == "BUCKET":
        options["hoodie.bucket.index.num.buckets"] = "2"
    return open_table(storage, options={**options, **WAYS[way][1]})


def may_run(kind: tuple[str, str], way: str) -> bool:
    index, table_type = kind
    if way == "partial update":
        return table_type == "MERGE_ON_READ" and index in ("SIMPLE", "BLOOM", "INMEMORY", "RECORD_INDEX")
    return index != "BUCKET" or way not in ("insert or drop", "insert or fail")  # refused by name


def all_pairs() -> Iterator[tuple[tuple[str, str], Step, Step]]:
    for kind, first, second, key, path in product(KINDS, WAYS, WAYS, ("a", "new"), ("x", "y")):
        if may_run(kind, first) and may_run(kind, second):
            yield kind, Step(first, key, "x", 1), Step(second, key, path, 2)


def prepared(folder: Path, kind: tuple[str, str]) -> Path:
    path = folder / "-".join(kind)
    if not path.exists():
        index, table_type = kind
        options = {"hoodie.index.type": index}
        if index == "BUCKET":
            options["hoodie.bucket.index.num.buckets"] = "2"
        if index == "RECORD_INDEX":
            options |= RECORDS
        table = new_table(path, table_type=table_type, options=options)
        table.insert(rows(("a", 1, "x", 0), ("b", 1, "y", 0)))
    return path


def in_turn(path: Path, kind: tuple[str, str], steps: list[Step]) -> list[Row]:
    for step in steps:
        step.run(of(kind, path, step.way))
    return content(open_table(path))


def at_once(path: Path, kind: tuple[str, str], first: Step, second: Step) -> bool:
    """*second* runs whole when *first* is about to take the lock in order to commit; whether both have committed."""
    storage = RecordingStorage(LocalStorage(path))
    locks, ran = [0], [False]

    def before(number: int) -> None:
        request = storage.requests[number]
        if request.kind == "create" and request.path == ".hoodie/lock":
            locks[0] += 1
            if locks[0] == 2:
                ran[0] = True
                second.run(of(kind, path, second.way))

    storage.before = before
    try:
        first.run(of(kind, storage, first.way))
    except WriteConflictError:
        return False
    if not ran[0]:
        second.run(of(kind, path, second.way))
    return True


@pytest.mark.slow
def test_two_writes_at_once_leave_what_one_after_the_other_leaves(tmp_path: Path) -> None:
    pairs = list(all_pairs())
    assert len(pairs) > 3000
    for number, (kind, first, second) in enumerate(pairs[:: every(997, long=19)]):
        made = prepared(tmp_path, kind)
        copies = [tmp_path / f"{number}-{name}" for name in ("first", "second", "both")]
        for copy in copies:
            shutil.copytree(made, copy)
        orders = [in_turn(copies[0], kind, [first, second]), in_turn(copies[1], kind, [second, first])]
        if at_once(copies[2], kind, first, second):
            assert content(open_table(copies[2])) in orders, (kind, first, second)
        else:  # the second is there alone, and the first may come again
            first.run(of(kind, copies[2], first.way))
            assert content(open_table(copies[2])) == orders[1], (kind, first, second)
        assert open_table(copies[2]).verify() == [], (kind, first, second)
        for copy in copies:
            shutil.rmtree(copy)


def test_an_unknown_operation_of_hudi_may_add_keys() -> None:
    for name in (None, "UPSERT_PREPPED", "SOMETHING_NEW"):
        stat = WriteStat("g", "x/g_0_1.parquet", num_inserts=1, partition_path="x")
        assert Claim.of(CommitMetadata(name, {"x": (stat,)}), by_bucket=False).has_new_keys == {"x"}
