"""Where bytes live: a protocol for what a table needs of a file system, and its implementations.

Paths are relative to the storage's root and always use ``/``; ``""`` is the root itself.
"""

from hudiformat.storage.file_map import FileMap, Trail
from hudiformat.storage.local import LocalStorage, open_storage
from hudiformat.storage.protocol import FileInfo, OutputFile, Storage

__all__ = ["FileInfo", "FileMap", "LocalStorage", "OutputFile", "Storage", "Trail", "open_storage"]
