"""A log file: a run of blocks, read forward, in reverse and as its bytes come, and written with roll-over."""

from hudiformat.logfile.decoder import LogDecoder
from hudiformat.logfile.reader import LogReader
from hudiformat.logfile.scan import scan_blocks, scan_blocks_reversed
from hudiformat.logfile.writer import DEFAULT_LOG_MAX_SIZE, AppendResult, LogWriter

__all__ = [
    "DEFAULT_LOG_MAX_SIZE",
    "AppendResult",
    "LogDecoder",
    "LogReader",
    "LogWriter",
    "scan_blocks",
    "scan_blocks_reversed",
]
