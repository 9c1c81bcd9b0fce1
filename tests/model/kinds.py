"""The kinds of tables that the machine draws from: everything that decides how a table is written."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from hypothesis import strategies as st

from hudiformat import Table, create_table, open_table
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.keys import TABLE_KEYS
from tests.metadata_tables import set_up
from tests.model.expected import Rules
from tests.racing import SHARED
from tests.tables import Clock

MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
GLOBAL = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM")
SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("v", pa.int32()),
        pa.field("_hoodie_is_deleted", pa.bool_()),
    ]
)
_SIZING = {
    "spark": {},
    "no small files": {"hoodie.parquet.small.file.limit": "0"},
    "two rows a group": {
        "hoodie.copyonwrite.insert.auto.split": "false",
        "hoodie.copyonwrite.insert.split.size": "2",
    },
    "flink": {"hudiformat.sizing": "flink"},
}
_SMALL_LOGS = {"hoodie.logfile.max.size": "1500", "hoodie.logfile.data.block.max.size": "900"}
_BY_THEMSELVES = {
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "3",
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
}
_BY_HAND = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table.  ``has_services``: compaction, cleaning and archiving run after each write that makes them due.

    ``concurrency`` is ``SINGLE_WRITER`` or the first word of another mode of Hudi's.
    """

    version: int
    table_type: str
    index: str
    sizing: str
    by_event_time: bool
    concurrency: str
    is_partitioned: bool
    has_metadata_table: bool
    has_small_logs: bool
    has_changes: bool
    has_services: bool
    block_format: str

    @property
    def is_mor(self) -> bool:
        return self.table_type == MOR

    @property
    def has_other_writers(self) -> bool:
        return self.concurrency != "SINGLE_WRITER"

    @property
    def rules(self) -> Rules:
        return Rules(self.by_event_time, self.index in GLOBAL)

    @property
    def options(self) -> dict[str, str]:
        """What the table is opened with."""
        return {
            "hudiformat.sync": "false",
            "hoodie.index.type": self.index,
            "hoodie.logfile.data.block.format": self.block_format,
            "hoodie.log.compaction.blocks.threshold": "2",
            "hoodie.metadata.compact.max.delta.commits": "2",
            **({"hoodie.bucket.index.num.buckets": "2"} if self.index == "BUCKET" else {}),
            **_SIZING[self.sizing],
            **(_SMALL_LOGS if self.has_small_logs else {}),
            **(_BY_THEMSELVES if self.has_services else _BY_HAND),
            **(
                {**SHARED, "hoodie.write.concurrency.mode": f"{self.concurrency}_CONCURRENCY_CONTROL"}
                if self.has_other_writers
                else {}
            ),
        }

    def create(self, place: Storage, clock: Clock) -> Table:
        """A new table of this kind."""
        properties = {
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING" if self.by_event_time else "COMMIT_TIME_ORDERING",
            "hoodie.table.cdc.enabled": str(self.has_changes).lower(),
        }
        assert set(properties) <= set(TABLE_KEYS)
        create_table(
            place,
            name="t",
            schema=SCHEMA,
            record_key=["k"],
            ordering=["ts"],
            partition_by=["p"] if self.is_partitioned else [],
            table_type=self.table_type,
            version=self.version,
            options={**self.options, **properties},
        )
        if self.has_metadata_table:
            set_up(place, clock, {"hoodie.metadata.index.bloom.filter.enable": "true"})
        return open_table(place, options=self.options, clock=clock)


@st.composite
def kinds(draw: st.DrawFn) -> Kind:
    """Kinds of tables that can be written."""
    table_type = draw(st.sampled_from([MOR, COW]))
    index = draw(st.sampled_from(["SIMPLE", "BLOOM", "INMEMORY", "BUCKET", *GLOBAL]))
    version = draw(st.sampled_from([6, 8, 9]))
    is_layout_2 = version > 6
    modes = ["SINGLE_WRITER", "OPTIMISTIC"]
    if index == "BUCKET" and table_type == MOR and is_layout_2:
        modes.append("NON_BLOCKING")
    return Kind(
        version=version,
        table_type=table_type,
        index=index,
        sizing=draw(st.sampled_from(list(_SIZING))),
        by_event_time=draw(st.booleans()),
        concurrency=draw(st.sampled_from(modes)),
        is_partitioned=draw(st.booleans()),
        has_metadata_table=draw(st.booleans()),
        has_small_logs=draw(st.booleans()),
        has_changes=draw(st.booleans()),
        has_services=draw(st.booleans()),
        block_format=draw(st.sampled_from(["avro", "parquet"])),
    )
