"""Apache Hudi's log-block format and table layout in pure Python.

The log-block codec: :class:`LogReader`, :class:`LogDecoder`, :class:`LogWriter`, :func:`encode_block`,
:func:`data_block`, :func:`delete_block`, :func:`rollback_block`.  Damage: :func:`verify_log`, :func:`salvage`.
Tables: :func:`create_table`, :func:`open_table`, in whatever :func:`open_storage` opens.  On Spark:
``hudiformat.spark``, which is imported by itself.

For readers of the code: ``docs/life-of-a-row.md`` follows a row through the modules, and
``docs/where-things-are-decided.md`` names the function that decides, question by question.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudiformat.advice.advice import Advice, AdviceList, Effect, Severity
    from hudiformat.api.adopt import Adoption, adopt, plan_adoption
    from hudiformat.api.blobs import read_blobs
    from hudiformat.api.catalog import TableCatalog, catalog
    from hudiformat.api.create import create_table
    from hudiformat.api.simulate import simulate
    from hudiformat.api.table import Table, open_table
    from hudiformat.catalogs.sync import SyncedTable, SyncReport
    from hudiformat.check.repair.planning import repair_table
    from hudiformat.check.repair.steps import Repair, RepairKind, RepairStep, StepState
    from hudiformat.check.verify.finding import TableFinding, TableFindingKind
    from hudiformat.codec.custom_types import blob_field, variant_field
    from hudiformat.codec.log.block import LogBlock, encode_block
    from hudiformat.codec.log.build import data_block, data_blocks, delete_block, rollback_block
    from hudiformat.codec.log.decoder import LogDecoder
    from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
    from hudiformat.codec.log.reader import LogReader
    from hudiformat.codec.log.salvage import SalvageReport, salvage
    from hudiformat.codec.log.verify import FindingKind, LogFinding, verify_log
    from hudiformat.codec.log.writer import DEFAULT_LOG_MAX_SIZE, AppendResult, LogWriter
    from hudiformat.conditions.clauses import Delete, Insert, Update
    from hudiformat.errors import (
        ArgumentError,
        BeforeFirstCommitError,
        CatalogError,
        CommitError,
        CorruptBlockError,
        CorruptTableError,
        DataError,
        DecodeError,
        EncodeError,
        FilesGoneError,
        FilterError,
        HudiFormatError,
        HudiFormatWarning,
        LockError,
        NameFormatError,
        NotATableError,
        OptionError,
        SchemaError,
        StorageError,
        TableError,
        TableExistsError,
        TruncatedBlockError,
        UnsupportedFeatureError,
        UnsupportedVersionError,
        ValidationError,
        WriteConflictError,
    )
    from hudiformat.file_group.merging.rule import RecordMerger
    from hudiformat.file_group.slices import FileSlice
    from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken
    from hudiformat.read.dataset import TableDataset
    from hudiformat.read.diff import TableDiff
    from hudiformat.read.explanation import ExplainedSlice, ScanExplanation
    from hudiformat.read.scan import Scan
    from hudiformat.report.page import TableReport
    from hudiformat.services.service_result import MaintenanceReport, ServiceReport, ServiceResult, TableSize
    from hudiformat.simulation.result import Prices, Simulation
    from hudiformat.simulation.workload import Partitions, Workload
    from hudiformat.sizing.spark import PartitionPlan
    from hudiformat.storage.opening import open_storage
    from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
    from hudiformat.timeline.table_config import TableConfig, TableType
    from hudiformat.timeline.timeline import Action, Instant, State, Timeline
    from hudiformat.write.commit.transaction import Commit

__version__ = "1.0.0rc1"

__all__ = [
    "DEFAULT_LOG_MAX_SIZE",
    "Action",
    "Adoption",
    "Advice",
    "AdviceList",
    "AppendResult",
    "ArgumentError",
    "BaseFileName",
    "BeforeFirstCommitError",
    "BlockHeader",
    "BlockType",
    "CatalogError",
    "Commit",
    "CommitError",
    "CommitMetadata",
    "CorruptBlockError",
    "CorruptTableError",
    "DataError",
    "DecodeError",
    "Delete",
    "Effect",
    "EncodeError",
    "ExplainedSlice",
    "FileSlice",
    "FilesGoneError",
    "FilterError",
    "FindingKind",
    "HeaderKey",
    "HudiFormatError",
    "HudiFormatWarning",
    "Insert",
    "Instant",
    "LockError",
    "LogBlock",
    "LogDecoder",
    "LogFileName",
    "LogFinding",
    "LogReader",
    "LogWriter",
    "MaintenanceReport",
    "NameFormatError",
    "NotATableError",
    "OptionError",
    "PartitionPlan",
    "Partitions",
    "Prices",
    "RecordMerger",
    "Repair",
    "RepairKind",
    "RepairStep",
    "SalvageReport",
    "Scan",
    "ScanExplanation",
    "SchemaError",
    "ServiceReport",
    "ServiceResult",
    "Severity",
    "Simulation",
    "State",
    "StepState",
    "StorageError",
    "SyncReport",
    "SyncedTable",
    "Table",
    "TableCatalog",
    "TableConfig",
    "TableDataset",
    "TableDiff",
    "TableError",
    "TableExistsError",
    "TableFinding",
    "TableFindingKind",
    "TableReport",
    "TableSize",
    "TableType",
    "Timeline",
    "TruncatedBlockError",
    "UnsupportedFeatureError",
    "UnsupportedVersionError",
    "Update",
    "ValidationError",
    "Workload",
    "WriteConflictError",
    "WriteStat",
    "WriteToken",
    "adopt",
    "blob_field",
    "catalog",
    "create_table",
    "data_block",
    "data_blocks",
    "delete_block",
    "encode_block",
    "open_storage",
    "open_table",
    "plan_adoption",
    "read_blobs",
    "repair_table",
    "rollback_block",
    "salvage",
    "simulate",
    "variant_field",
    "verify_log",
]

_MODULES = {
    "advice.advice": ("Advice", "AdviceList", "Effect", "Severity"),
    "api.blobs": ("read_blobs",),
    "api.adopt": ("Adoption", "adopt", "plan_adoption"),
    "api.catalog": ("TableCatalog", "catalog"),
    "api.create": ("create_table",),
    "read.dataset": ("TableDataset",),
    "api.simulate": ("simulate",),
    "api.table": (
        "Table",
        "open_table",
    ),
    "catalogs.sync": ("SyncReport", "SyncedTable"),
    "check.repair.planning": ("repair_table",),
    "check.repair.steps": (
        "Repair",
        "RepairKind",
        "RepairStep",
        "StepState",
    ),
    "check.verify.finding": (
        "TableFinding",
        "TableFindingKind",
    ),
    "codec.custom_types": ("blob_field", "variant_field"),
    "codec.log.block": (
        "LogBlock",
        "encode_block",
    ),
    "codec.log.build": (
        "data_block",
        "data_blocks",
        "delete_block",
        "rollback_block",
    ),
    "codec.log.decoder": ("LogDecoder",),
    "codec.log.frame": (
        "BlockHeader",
        "BlockType",
        "HeaderKey",
    ),
    "codec.log.reader": ("LogReader",),
    "codec.log.salvage": (
        "SalvageReport",
        "salvage",
    ),
    "codec.log.verify": (
        "FindingKind",
        "LogFinding",
        "verify_log",
    ),
    "codec.log.writer": (
        "DEFAULT_LOG_MAX_SIZE",
        "AppendResult",
        "LogWriter",
    ),
    "conditions.clauses": (
        "Delete",
        "Insert",
        "Update",
    ),
    "errors": (
        "ArgumentError",
        "BeforeFirstCommitError",
        "CatalogError",
        "CommitError",
        "CorruptBlockError",
        "CorruptTableError",
        "DataError",
        "DecodeError",
        "EncodeError",
        "FilesGoneError",
        "FilterError",
        "HudiFormatError",
        "HudiFormatWarning",
        "LockError",
        "NameFormatError",
        "NotATableError",
        "OptionError",
        "SchemaError",
        "StorageError",
        "TableError",
        "TableExistsError",
        "TruncatedBlockError",
        "UnsupportedFeatureError",
        "UnsupportedVersionError",
        "ValidationError",
        "WriteConflictError",
    ),
    "file_group.merging.rule": ("RecordMerger",),
    "file_group.slices": ("FileSlice",),
    "naming.file_names": (
        "BaseFileName",
        "LogFileName",
        "WriteToken",
    ),
    "read.diff": ("TableDiff",),
    "read.explanation": (
        "ExplainedSlice",
        "ScanExplanation",
    ),
    "read.scan": ("Scan",),
    "report.page": ("TableReport",),
    "services.service_result": ("MaintenanceReport", "ServiceReport", "ServiceResult", "TableSize"),
    "simulation.result": ("Prices", "Simulation"),
    "simulation.workload": ("Partitions", "Workload"),
    "sizing.spark": ("PartitionPlan",),
    "storage.opening": ("open_storage",),
    "timeline.commit_metadata": (
        "CommitMetadata",
        "WriteStat",
    ),
    "timeline.table_config": (
        "TableConfig",
        "TableType",
    ),
    "timeline.timeline": (
        "Action",
        "Instant",
        "State",
        "Timeline",
    ),
    "write.commit.transaction": ("Commit",),
}
"""The public names by their modules; a module is imported when a name of it is asked for."""

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


logging.getLogger("hudiformat").addHandler(logging.NullHandler())  # the application decides where lines go
