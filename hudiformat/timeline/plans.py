"""The plans of compactions, clusterings and indexings, in the files of their requested instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hudiformat.naming.file_names import base_name
from hudiformat.timeline.records import DATA_FILE, FILE_ID, INSTANT, PARTITION, decode_record_file


@dataclass(frozen=True, slots=True)
class CompactionOperation:
    """One file slice that a compaction merges.  File names are without folder.

    Log files of the group that are written after the compaction was scheduled belong to its next slice.

    Source: HoodieCompactionOperation, Hudi 1.2.0.
    """

    base_instant_time: str | None = field(metadata=INSTANT)
    delta_file_paths: tuple[str, ...] | None = field(default=None, metadata=DATA_FILE)
    data_file_path: str | None = field(default=None, metadata=DATA_FILE)
    file_id: str | None = field(default=None, metadata=FILE_ID)
    partition_path: str | None = field(default=None, metadata=PARTITION)
    metrics: Mapping[str, float] | None = field(default=None, hash=False)
    bootstrap_file_path: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionStrategy:
    """The class that executes a plan; a log compaction is recognized by it.  Source: HoodieCompactionStrategy."""

    compactor_class_name: str | None = None
    strategy_params: Mapping[str, str] | None = field(default=None, hash=False)
    version: int | None = 1


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The content of a requested compaction or log compaction.  Source: HoodieCompactionPlan, Hudi 1.2.0."""

    operations: tuple[CompactionOperation, ...] | None = ()
    extra_metadata: Mapping[str, str] | None = field(default_factory=dict, hash=False)
    version: int | None = 2
    strategy: CompactionStrategy | None = None
    preserve_hoodie_metadata: bool | None = False
    missing_schedule_partitions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SliceInfo:
    """A file slice that a clustering reads; paths are full paths.  Source: HoodieSliceInfo."""

    data_file_path: str | None = field(default=None, metadata=DATA_FILE)
    delta_file_paths: tuple[str, ...] | None = field(default=None, metadata=DATA_FILE)
    file_id: str | None = field(default=None, metadata=FILE_ID)
    partition_path: str | None = field(default=None, metadata=PARTITION)
    bootstrap_file_path: str | None = None
    version: int | None = 1


@dataclass(frozen=True, slots=True)
class ClusteringGroup:
    """File slices whose rows are rewritten together.  Source: HoodieClusteringGroup."""

    slices: tuple[SliceInfo, ...] | None = None
    metrics: Mapping[str, float] | None = field(default=None, hash=False)
    num_output_file_groups: int | None = 1
    extra_metadata: Mapping[str, str] | None = field(default=None, hash=False)
    version: int | None = 1


@dataclass(frozen=True, slots=True)
class ClusteringStrategy:
    """The class that executes a clustering.  Source: HoodieClusteringStrategy."""

    strategy_class_name: str | None = None
    strategy_params: Mapping[str, str] | None = field(default=None, hash=False)
    version: int | None = 1


@dataclass(frozen=True, slots=True)
class ClusteringPlan:
    """The plan of a clustering.  Source: HoodieClusteringPlan, Hudi 1.2.0."""

    input_groups: tuple[ClusteringGroup, ...] | None = None
    strategy: ClusteringStrategy | None = None
    extra_metadata: Mapping[str, str] | None = field(default=None, hash=False)
    version: int | None = 1
    preserve_hoodie_metadata: bool | None = None
    missing_schedule_partitions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RequestedReplaceMetadata:
    """The content of a requested replace commit or clustering; every field is None for an insert overwrite.

    Source: HoodieRequestedReplaceMetadata, Hudi 1.2.0.
    """

    operation_type: str | None = None
    clustering_plan: ClusteringPlan | None = None
    extra_metadata: Mapping[str, str] | None = field(default=None, hash=False)
    version: int | None = 1


@dataclass(frozen=True, slots=True)
class IndexPartitionInfo:
    """A partition of the metadata table, and the instant up to which it is built.  Source: HoodieIndexPartitionInfo."""

    version: int | None = 1
    metadata_partition_path: str | None = None
    index_upto_instant: str | None = None
    extra_metadata: Mapping[str, str] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The content of a requested indexing.  Source: HoodieIndexPlan, Hudi 1.2.0."""

    version: int | None = 1
    index_partition_infos: tuple[IndexPartitionInfo, ...] | None = None


@dataclass(frozen=True, slots=True)
class IndexCommitMetadata:
    """The content of a completed indexing.  Source: HoodieIndexCommitMetadata, Hudi 1.2.0."""

    version: int | None = 1
    operation_type: str | None = None
    index_partition_infos: tuple[IndexPartitionInfo, ...] | None = None


def decode_compaction_plan(data: bytes, *, path: str) -> CompactionPlan:
    """Decode the plan of a compaction or log compaction.

    Plans before version 2 have file names with their folders, which are removed.

    Raises:
        CorruptTableError: *data* is not an Avro file, or not a plan; the error has *path*.

    Source: CompactionUtils.getCompactionPlan, CompactionV2MigrationHandler, Hudi 1.2.0.
    """
    plan = decode_record_file(CompactionPlan, data, path=path)
    return replace(plan, operations=tuple(map(_without_folders, plan.operations or ())))


def _without_folders(operation: CompactionOperation) -> CompactionOperation:
    names = operation.delta_file_paths
    base = operation.data_file_path
    return replace(
        operation,
        data_file_path=base and base_name(base),
        delta_file_paths=names and tuple(base_name(name) for name in names),
    )
