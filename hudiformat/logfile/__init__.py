"""Log files, sequences of blocks: read forward, in reverse and from a stream of bytes; verified, salvaged, written."""

from hudiformat.logfile.damaged import naming_log_files
from hudiformat.logfile.decoder import LogDecoder
from hudiformat.logfile.reader import LogReader, first_schema, scan_blocks, scan_blocks_reversed
from hudiformat.logfile.salvage import SalvageReport, salvage
from hudiformat.logfile.verify import (
    FindingKind,
    LogFinding,
    content_error,
    findings_of,
    parts_of,
    positions_error,
    verify_log,
)
from hudiformat.logfile.writer import DEFAULT_LOG_MAX_SIZE, AppendResult, LogWriter

__all__ = [
    "DEFAULT_LOG_MAX_SIZE",
    "AppendResult",
    "FindingKind",
    "LogDecoder",
    "LogFinding",
    "LogReader",
    "LogWriter",
    "SalvageReport",
    "content_error",
    "findings_of",
    "first_schema",
    "naming_log_files",
    "parts_of",
    "positions_error",
    "salvage",
    "scan_blocks",
    "scan_blocks_reversed",
    "verify_log",
]
