from os import PathLike
from types import TracebackType
from typing import IO, Any

from pyarrow import NativeFile, RecordBatch, RecordBatchReader, Schema, Table
from typing_extensions import Self

class ConvertOptions:
    def __init__(self, check_utf8: bool | None = None, *, column_types: Any = None, **options: Any) -> None: ...

class CSVWriter:
    def __init__(
        self,
        sink: str | PathLike[str] | NativeFile | IO[bytes],
        schema: Schema,
        write_options: Any = None,
        *,
        memory_pool: Any = None,
    ) -> None: ...
    def close(self) -> None: ...
    def write(self, table_or_batch: Table | RecordBatch) -> None: ...
    def write_batch(self, batch: RecordBatch) -> None: ...
    def write_table(self, table: Table, max_chunksize: int | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None: ...

def open_csv(
    input_file: str | PathLike[str] | NativeFile | IO[bytes],
    read_options: Any = None,
    parse_options: Any = None,
    convert_options: ConvertOptions | None = None,
    memory_pool: Any = None,
) -> RecordBatchReader: ...
def read_csv(
    input_file: str | PathLike[str] | NativeFile | IO[bytes],
    read_options: Any = None,
    parse_options: Any = None,
    convert_options: ConvertOptions | None = None,
    memory_pool: Any = None,
) -> Table: ...
def write_csv(
    data: Table | RecordBatch | RecordBatchReader,
    output_file: str | PathLike[str] | NativeFile | IO[bytes],
    write_options: Any = None,
    memory_pool: Any = None,
) -> None: ...
