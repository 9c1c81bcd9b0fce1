"""A protocol for what a table needs of a file system, and its implementations.

Paths are relative to the storage's root and always use ``/``; ``""`` is the root itself.
"""

from hudiformat.storage.arrow import ArrowStorage
from hudiformat.storage.closing import Behind, CompleteFiles, close_synced
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.mapping import Trail, give_back
from hudiformat.storage.opening import Location, open_parent, open_storage
from hudiformat.storage.protocol import TEMPORARY_PREFIX, Capabilities, FileInfo, OutputFile, Storage
from hudiformat.storage.spill_folders import delete_spill_folder, old_spill_folders, spill_folder, spilling
from hudiformat.storage.streams import ArrowSink, arrow_stream, reading

__all__ = [
    "TEMPORARY_PREFIX",
    "ArrowSink",
    "ArrowStorage",
    "Behind",
    "Capabilities",
    "CompleteFiles",
    "FileInfo",
    "FolderStorage",
    "LocalStorage",
    "Location",
    "OutputFile",
    "Storage",
    "Trail",
    "arrow_stream",
    "close_synced",
    "delete_spill_folder",
    "give_back",
    "old_spill_folders",
    "open_parent",
    "open_storage",
    "reading",
    "spill_folder",
    "spilling",
]
