from os import PathLike
from typing import IO, Any

from pyarrow import NativeFile, RecordBatchReader, Schema, Table

class ReadOptions:
    def __init__(self, use_threads: bool | None = None, block_size: int | None = None) -> None: ...

class ParseOptions:
    def __init__(
        self,
        explicit_schema: Schema | None = None,
        newlines_in_values: bool | None = None,
        unexpected_field_behavior: str | None = None,
    ) -> None: ...

def open_json(
    input_file: str | PathLike[str] | NativeFile | IO[bytes],
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    memory_pool: Any = None,
) -> RecordBatchReader: ...
def read_json(
    input_file: str | PathLike[str] | NativeFile | IO[bytes],
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    memory_pool: Any = None,
) -> Table: ...
