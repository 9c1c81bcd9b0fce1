"""What the tasks of one write have to know.  It travels to other processes: plain values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.naming import record_key_buckets
from hudiformat.sizing import PartitionPlan
from hudiformat.table.options import WriteOptions
from hudiformat.table.schema import TableSchema
from hudiformat.table.sizing import Groups, SizingProfile
from hudiformat.timeline import TableConfig
from hudiformat.view import Visibility

_VERSION_WITH_POSITIONS = 8


class Operation(Enum):
    """What a write does with its rows.

    Source: org.apache.hudi.common.model.WriteOperationType.
    """

    INSERT = "INSERT"
    UPSERT = "UPSERT"
    BULK_INSERT = "BULK_INSERT"
    DELETE = "DELETE"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    DELETE_PARTITION = "DELETE_PARTITION"


REPLACING = (Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE, Operation.DELETE_PARTITION)
"""The operations that take file groups out of the table; they complete as replace commits."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """One write of a table, between the moment its instant is chosen and its commit.

    ``sizing`` says where new rows go, None where they are not asked.  ``in_clustering`` are file groups, as (partition
    path, file id), that a pending clustering is going to replace.  ``placements``, by partition path, say where new
    rows go of a write whose rows have been counted before its tasks run.  ``compactions`` are the pending compactions
    of file groups, in table version 6, where their log files are named by them.
    """

    root: str
    config: TableConfig
    schema: TableSchema
    options: WriteOptions
    operation: Operation
    instant: str
    visibility: Visibility
    sizing: SizingProfile | None = None
    in_clustering: Groups = frozenset()
    placements: Mapping[str, PartitionPlan] = field(default_factory=dict)
    compactions: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def row_size(self) -> int:
        """What a row is taken to have in a base file, in bytes, until that can be measured."""
        return self.sizing.record_size.size if self.sizing else self.options.sizing.record_size_estimate

    @property
    def logs_name_slices(self) -> bool:
        """Whether a log file's name carries the instant of its slice, as below table version 8."""
        return self.visibility.logs_name_slices

    @property
    def uses_buckets(self) -> bool:
        """Whether the hash of a record key says which file group it belongs to."""
        return self.options.index_type == "BUCKET"

    @property
    def writes_positions(self) -> bool:
        """Whether blocks say in which rows of the base file their records are, where that is known of all of them.

        Source: HoodieAppendHandle; table versions below 8 have none.
        """
        return self.options.record_positions and self.config.version >= _VERSION_WITH_POSITIONS

    @property
    def partial(self) -> TableSchema | None:
        """The columns that an upsert changes in rows that are there, where those are not all."""
        return partial_schema(self.operation, self.options)

    @property
    def looks_everywhere(self) -> bool:
        """Whether record keys are looked for in all partitions."""
        if self.operation is Operation.INSERT:
            return self.options.is_global and self.options.insert_duplicates != "none"
        return self.options.is_global and self.operation in (Operation.UPSERT, Operation.DELETE)

    def buckets(self, record_keys: pa.Array) -> npt.NDArray[np.int32]:
        """The bucket of each record key, by the bucket index."""
        fields = self.options.hash_fields or self.config.record_key_fields
        return record_key_buckets(record_keys, fields, self.options.num_buckets)


def partial_schema(operation: Operation, options: WriteOptions) -> TableSchema | None:
    """The columns that a write brings, where those are not all that a row has."""
    return TableSchema(options.partial_schema) if options.partial_schema and operation is Operation.UPSERT else None
