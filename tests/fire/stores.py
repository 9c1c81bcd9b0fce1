"""Faults of stores: tables that live on, on a real server, while one request after the other fails.

    python -m tests.fire.stores --store hdfs --faults 300

Each operation meets one fault, at a request that is drawn: the request is not done, or it is done and its answer is
lost.  What the table has afterwards is what it had before the operation, or after it; what has answered is there; the
next operation goes on from there, and ``verify()`` finds nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from hudiformat import HudiFormatError, StorageError, Table, create_table, open_table
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from tests.faults import FaultyStorage
from tests.stores import run_on_stores

T = TypeVar("T")
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
KEYS = "abcdef"
FAULTS_OF_A_TABLE = 15
_VERIFIED = 5
"""Faults between two looks at all files."""
_OPTIONS = {
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
Content = dict[str, int]
"""The ordering value of each key."""


class OneFault:
    """Lets the request of one number fail, before it is done or after, and counts all."""

    def __init__(self, number: int, *, is_done: bool) -> None:
        self.number = number
        self.is_done = is_done
        self.count = 0

    @property
    def is_met(self) -> bool:
        return self.count >= self.number

    def run(self, what: str, action: Callable[[], T]) -> T:
        self.count += 1
        if self.count != self.number:
            return action()
        if self.is_done:
            action()
        raise StorageError(f"the store fails at request {self.count}: {what}")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is done to a table, and what the table has then."""

    name: str
    act: Callable[[Table], object]
    after: Content


def rows(content: Content) -> pa.Table:
    """Rows with these keys; a key is always in the same partition."""
    return pa.table([list(content), list(content.values()), [f"p{ord(key) % 2}" for key in content]], schema=SCHEMA)


def step_of(draw: random.Random, known: Content, ts: int, table_type: str) -> Step:
    chosen = dict.fromkeys(draw.sample(KEYS, 2), ts)
    left = {key: value for key, value in known.items() if key not in chosen}
    partitions = {ord(key) % 2 for key in chosen}
    others = {key: value for key, value in known.items() if ord(key) % 2 not in partitions}
    steps = [
        Step("upsert", lambda table: table.upsert(rows(chosen)), known | chosen),
        Step("delete", lambda table: table.delete(rows(chosen).select(["id", "p"])), left),
        Step("insert_overwrite", lambda table: table.insert_overwrite(rows(chosen)), others | chosen),
        Step("cluster", lambda table: table.cluster(), known),
        Step("clean", lambda table: table.clean(), known),
    ]
    if table_type == "MERGE_ON_READ":
        steps.append(Step("compact", lambda table: table.compact(), known))
        steps.append(Step("log_compact", lambda table: table.log_compact(), known))
    return draw.choice([steps[0], *steps])


def content_of(storage: Storage) -> Content:
    found = open_table(storage).snapshot(columns=["id", "ts"])
    content = dict(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True))
    assert len(content) == found.num_rows, found
    return content


def let_live(storage: Storage, draw: random.Random, most: int) -> Counter[str]:
    """Let at most *most* faults happen to a new table at the root of *storage*; return how many met each operation."""
    table_type = draw.choice(["MERGE_ON_READ", "MERGE_ON_READ", "COPY_ON_WRITE"])
    version = draw.choice([9, 9, 8, 6])
    made = {"schema": SCHEMA, "record_key": "id", "ordering": "ts", "partition_by": "p"}
    create_table(storage, name="t", **made, table_type=table_type, version=version)  # type: ignore[arg-type]  # options of several types
    known: Content = {}
    met: Counter[str] = Counter()
    requests = {"upsert": 30}
    for ts in range(1, 10 * most):
        step = step_of(draw, known, ts, table_type)
        fault = OneFault(draw.randint(1, requests.get(step.name, 20)), is_done=draw.random() < 0.5)
        told = f"{table_type}, version {version}, {step.name}, request {fault.number}, done: {fault.is_done}"
        try:
            step.act(open_table(FaultyStorage(storage, fault), options=_OPTIONS))
        except HudiFormatError as error:
            allowed, told = [known, step.after], f"{told}: {error}"
        else:
            allowed = [step.after]
        known = content_of(storage)
        assert known in allowed, f"{told}: {known}, expected one of {allowed}"
        if not fault.is_met:
            requests[step.name] = max(fault.count, 1)
            continue
        met[step.name] += 1
        if met.total() % _VERIFIED == 0 or met.total() == most:
            known |= {"z": ts}
            open_table(storage, options=_OPTIONS).upsert(rows({"z": ts}))
            found = content_of(storage)
            assert found == known, f"{told}: then {found}, expected {known}"
            findings = open_table(storage).verify()
            assert findings == [], f"{told}: {findings}"
        if met.total() == most:
            break
    return met


def try_faults(storage: Storage, count: int, seed: int = 1, say: Callable[[str], object] = lambda _: None) -> int:
    """Let *count* faults happen to tables in folders of *storage*; return how many have."""
    draw = random.Random(seed)
    met: Counter[str] = Counter()
    while met.total() < count:
        most = min(FAULTS_OF_A_TABLE, count - met.total())
        met += let_live(FolderStorage(storage, f"{seed}-{met.total()}"), draw, most)
        say(f"{met.total()} of {count} faults: {dict(met.most_common())}")
    return met.total()


def main() -> None:
    """Run it by hand."""

    def work(name: str, store: Storage, count: int, seed: int) -> None:
        try_faults(store, count, seed, lambda text: print(f"{name}: {text}", flush=True))

    run_on_stores("python -m tests.fire.stores", __doc__ or "", counted="faults", count=300, work=work)


if __name__ == "__main__":
    main()
