from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyarrow import RecordBatch, RecordBatchReader, Schema, Table
from pyarrow.compute import Expression
from pyarrow.fs import FileSystem

class FragmentScanOptions: ...

class FileFormat:
    def inspect(self, file: object, filesystem: FileSystem | None = None) -> Schema: ...
    def make_fragment(
        self,
        file: object,
        filesystem: FileSystem | None = None,
        partition_expression: Expression | None = None,
        *,
        file_size: int | None = None,
    ) -> Any: ...

class ParquetFileFormat(FileFormat):
    def __init__(self, read_options: Any = None, **options: Any) -> None: ...

class Scanner:
    @property
    def dataset_schema(self) -> Schema: ...
    @property
    def projected_schema(self) -> Schema: ...
    @staticmethod
    def from_batches(
        source: Iterable[RecordBatch] | RecordBatchReader, *, schema: Schema | None = None, **options: Any
    ) -> Scanner: ...
    def count_rows(self) -> int: ...
    def head(self, num_rows: int) -> Table: ...
    def to_batches(self) -> Iterator[RecordBatch]: ...
    def to_reader(self) -> RecordBatchReader: ...
    def to_table(self) -> Table: ...

class Dataset:
    @property
    def schema(self) -> Schema: ...
    def count_rows(self, **options: Any) -> int: ...
    def get_fragments(self, filter: Expression | None = None) -> Iterator[Any]: ...
    def head(self, num_rows: int, **options: Any) -> Table: ...
    def scanner(
        self,
        columns: Any = None,
        filter: Expression | None = None,
        **options: Any,
    ) -> Scanner: ...
    def to_batches(
        self,
        columns: Any = None,
        filter: Expression | None = None,
        **options: Any,
    ) -> Iterator[RecordBatch]: ...
    def to_table(
        self,
        columns: Any = None,
        filter: Expression | None = None,
        **options: Any,
    ) -> Table: ...

class FileSystemDataset(Dataset):
    @classmethod
    def from_paths(
        cls,
        paths: Sequence[str],
        schema: Schema | None = None,
        format: FileFormat | None = None,
        filesystem: FileSystem | None = None,
        partitions: Sequence[Expression] | None = None,
        root_partition: Expression | None = None,
    ) -> FileSystemDataset: ...

def dataset(source: object, schema: Schema | None = None, **options: Any) -> Dataset: ...
