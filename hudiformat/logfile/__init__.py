"""A log file: a run of blocks, read forward and in reverse, and written with roll-over."""

from hudiformat.logfile.reader import LogReader
from hudiformat.logfile.scan import scan_blocks, scan_blocks_reversed
from hudiformat.logfile.writer import DEFAULT_LOG_MAX_SIZE, AppendResult, LogWriter

__all__ = ["DEFAULT_LOG_MAX_SIZE", "AppendResult", "LogReader", "LogWriter", "scan_blocks", "scan_blocks_reversed"]
