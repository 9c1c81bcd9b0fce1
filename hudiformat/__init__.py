"""Apache Hudi's log-block format and table layout in pure Python.

The log-block codec: :class:`LogReader`, :class:`LogDecoder`, :class:`LogWriter`, :func:`encode_block`,
:func:`data_block`, :func:`delete_block`, :func:`rollback_block`.  Damage: :func:`verify_log`, :func:`salvage`.
Tables: :func:`create_table`, :func:`open_table`, in whatever :func:`open_storage` opens.  On Spark:
``hudiformat.spark``, which is imported by itself.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudiformat.api import Table, create_table, open_table
    from hudiformat.blocks import (
        BlockHeader,
        BlockType,
        HeaderKey,
        LogBlock,
        data_block,
        data_blocks,
        delete_block,
        encode_block,
        rollback_block,
    )
    from hudiformat.conditions import Delete, Insert, Update
    from hudiformat.errors import (
        ArgumentError,
        BeforeFirstCommitError,
        CommitError,
        CorruptBlockError,
        CorruptTableError,
        DataError,
        DecodeError,
        EncodeError,
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
        WriteConflictError,
    )
    from hudiformat.logfile import (
        DEFAULT_LOG_MAX_SIZE,
        AppendResult,
        FindingKind,
        LogDecoder,
        LogFinding,
        LogReader,
        LogWriter,
        SalvageReport,
        salvage,
        verify_log,
    )
    from hudiformat.maintenance import MaintenanceReport, ServiceReport, TableFinding, TableFindingKind, TableSize
    from hudiformat.merge import RecordMerger
    from hudiformat.naming import BaseFileName, LogFileName, WriteToken
    from hudiformat.query import Scan
    from hudiformat.repair import Repair, RepairKind, RepairStep, StepState, repair_table
    from hudiformat.report import TableReport
    from hudiformat.storage import open_storage
    from hudiformat.transaction import Commit
    from hudiformat.view import FileSlice

__version__ = "0.1.0.dev0"

__all__ = [
    "DEFAULT_LOG_MAX_SIZE",
    "AppendResult",
    "ArgumentError",
    "BaseFileName",
    "BeforeFirstCommitError",
    "BlockHeader",
    "BlockType",
    "Commit",
    "CommitError",
    "CorruptBlockError",
    "CorruptTableError",
    "DataError",
    "DecodeError",
    "Delete",
    "EncodeError",
    "FileSlice",
    "FilterError",
    "FindingKind",
    "HeaderKey",
    "HudiFormatError",
    "HudiFormatWarning",
    "Insert",
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
    "RecordMerger",
    "Repair",
    "RepairKind",
    "RepairStep",
    "SalvageReport",
    "Scan",
    "SchemaError",
    "ServiceReport",
    "StepState",
    "StorageError",
    "Table",
    "TableError",
    "TableExistsError",
    "TableFinding",
    "TableFindingKind",
    "TableReport",
    "TableSize",
    "TruncatedBlockError",
    "UnsupportedFeatureError",
    "UnsupportedVersionError",
    "Update",
    "WriteConflictError",
    "WriteToken",
    "create_table",
    "data_block",
    "data_blocks",
    "delete_block",
    "encode_block",
    "open_storage",
    "open_table",
    "repair_table",
    "rollback_block",
    "salvage",
    "verify_log",
]

_NAMES = {
    "api": (
        "Table",
        "create_table",
        "open_table",
    ),
    "blocks": (
        "BlockHeader",
        "BlockType",
        "HeaderKey",
        "LogBlock",
        "data_block",
        "data_blocks",
        "data_blocks",
        "delete_block",
        "encode_block",
        "rollback_block",
    ),
    "conditions": ("Delete", "Insert", "Update"),
    "errors": (
        "ArgumentError",
        "BeforeFirstCommitError",
        "CommitError",
        "CorruptBlockError",
        "CorruptTableError",
        "DataError",
        "DecodeError",
        "EncodeError",
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
        "WriteConflictError",
    ),
    "logfile": (
        "DEFAULT_LOG_MAX_SIZE",
        "AppendResult",
        "FindingKind",
        "LogDecoder",
        "LogFinding",
        "LogReader",
        "LogWriter",
        "SalvageReport",
        "salvage",
        "verify_log",
    ),
    "maintenance": (
        "MaintenanceReport",
        "ServiceReport",
        "TableFinding",
        "TableFindingKind",
        "TableSize",
    ),
    "merge": ("RecordMerger",),
    "naming": (
        "BaseFileName",
        "LogFileName",
        "WriteToken",
    ),
    "query": ("Scan",),
    "repair": ("Repair", "RepairKind", "RepairStep", "StepState", "repair_table"),
    "report": ("TableReport",),
    "storage": ("open_storage",),
    "transaction": ("Commit",),
    "view": ("FileSlice",),
}
"""What each room gives: a room is imported when a name of it is asked for."""

_ROOMS = {name: room for room, names in _NAMES.items() for name in names}


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        room = _ROOMS.get(name)
        if room is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


logging.getLogger("hudiformat").addHandler(logging.NullHandler())  # the application decides where lines go
