"""Find the schema of a table in its data files, where no commit and no property names one.

Writers of old releases, and engines other than Spark and Flink, leave the schema out of their commits.

Source: TableSchemaResolver.getTableAvroSchemaFromDataFile, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.base_file.format import format_of
from hudiformat.file_group.base_file.read import open_base_file
from hudiformat.naming.file_names import LogFileName, base_name, parse_data_file
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.commit_metadata import CommitMetadata

_MOST_FILES = 3
"""The number of files to try of each commit: some may be unreadable because they were cleaned or are damaged."""


def schema_in_files(storage: Storage, commits: Iterable[CommitMetadata], *, table_name: str) -> TableSchema | None:
    """Return the schema in a file of the newest commit that has written one; *commits* begin with the newest.

    None if no file says which columns it has.
    """
    for metadata in commits:
        paths = [stat.path for stat in metadata.write_stats if stat.path]
        for path in paths[:_MOST_FILES]:
            found = _schema_or_none(storage, path, table_name)
            if found is not None:
                return found
    return None


def _schema_or_none(storage: Storage, path: str, table_name: str) -> TableSchema | None:
    try:
        return schema_in_file(storage, path, table_name=table_name)
    except HudiFormatError:  # the error is reported when the file's rows are read
        return None


def schema_in_file(storage: Storage, path: str, *, table_name: str) -> TableSchema | None:
    """Return the schema of a base file, or of the first data block of a log file that has whole rows.

    A base file without an Avro schema in its footer has that of its columns.

    Raises:
        HudiFormatError: the file is missing or damaged, or has a column that Avro cannot represent.
    """
    if isinstance(parse_data_file(base_name(path)), LogFileName):
        avro = next(_schemas_of_log(storage, path), None)
        return None if avro is None else TableSchema.of_commit(avro)
    with open_base_file(storage, path) as file:
        text = (file.footer or {}).get(format_of(path).schema_key.encode())
        return TableSchema.from_arrow(file.schema, table_name) if text is None else TableSchema.of_commit(text.decode())


def _schemas_of_log(storage: Storage, path: str) -> Iterator[str]:
    with LogReader(path, storage=storage) as reader:
        for block in reader:
            if block.type.name.endswith("_DATA") and not block.is_partial:
                yield block.schema
