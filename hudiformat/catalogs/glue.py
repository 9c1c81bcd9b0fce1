"""AWS Glue as a catalog, by boto3.

A request takes 100 partitions to create or change, 25 to delete, and 1,000 to look for.  Glue answers for each
partition of a request, and those that it has refused are sent again.

Source: AWSGlueCatalogSyncClient, Hudi 1.2.0; the API reference of AWS Glue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from hudiformat.catalogs.objects import EXTERNAL, CatalogColumn, CatalogPartition, CatalogTable, StorageDescriptor
from hudiformat.catalogs.protocol import Values, batches
from hudiformat.errors import CatalogError, UnsupportedFeatureError, warn
from hudiformat.table.options.sync import GlueOptions

_CREATED_AT_ONCE, _DELETED_AT_ONCE, _LOOKED_FOR_AT_ONCE = 100, 25, 1000
_ATTEMPTS = 5
_LISTS_FILES = "hudi.metadata-listing-enabled"
"""The table property by which Athena lists files by the metadata table."""
_FILTERS = "partition_filtering.enabled"
_MOST_INDEXES = 3
_OF_INPUT = (
    *("Name", "Description", "Owner", "LastAccessTime", "LastAnalyzedTime", "Retention", "StorageDescriptor"),
    *("PartitionKeys", "ViewOriginalText", "ViewExpandedText", "TableType", "Parameters", "TargetTable"),
)
"""What a table that is read has in common with one that is written."""
_THERE, _GONE = "AlreadyExistsException", "EntityNotFoundException"
_CHANGED = ("ConcurrentModificationException", "VersionMismatchException")
_T = TypeVar("_T")
_R = TypeVar("_R")


class GlueCatalog:
    """AWS Glue; account, region and credentials are those of boto3's environment.

    *client* is a client of boto3's; *pause* waits for so many seconds.
    """

    uri = "glue://"

    def __init__(
        self, options: GlueOptions, *, client: Any = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._options = options
        self._of_account = {"CatalogId": options.catalog_id} if options.catalog_id else {}
        self._opened = client
        self._pause = pause

    @property
    def _client(self) -> Any:
        if self._opened is None:
            self._opened = _open_client(self._options)
        return self._opened

    def adapt(self, table: CatalogTable) -> CatalogTable:
        """Return *table* as Glue has it: external whatever the options say, and at ``s3`` for ``s3a``."""
        scheme, separator, rest = table.storage.location.partition("://")
        location = f"s3://{rest}" if separator and scheme in ("s3a", "s3n") else table.storage.location
        listing = {_LISTS_FILES: "TRUE" if self._options.metadata_listing else "FALSE"}
        return replace(
            table,
            storage=replace(table.storage, location=location),
            table_type=EXTERNAL,
            parameters={**table.parameters, **listing},
        )

    def databases(self) -> list[str]:
        with self._errors("list databases"):
            pages = self._client.get_paginator("get_databases").paginate(**self._of_account)
            return sorted(one["Name"] for page in pages for one in page["DatabaseList"])

    def tables(self, database: str) -> list[CatalogTable]:
        with self._errors(f"list the tables of {database}"):
            pages = self._client.get_paginator("get_tables").paginate(DatabaseName=database, **self._of_account)
            found = [_table_of(database, one) for page in pages for one in page["TableList"]]
        return sorted(found, key=lambda one: one.name)

    def has_database(self, name: str) -> bool:
        with self._errors(f"look for the database {name}"):
            return self._unless(_GONE, lambda: self._client.get_database(Name=name, **self._of_account)) is not None

    def create_database(self, name: str) -> None:
        described = {"Name": name, "Description": "Automatically created by hudiformat"}
        more = {"Tags": dict(self._options.tags)} if self._options.tags else {}
        with self._errors(f"create the database {name}"):
            self._unless(
                _THERE, lambda: self._client.create_database(DatabaseInput=described, **more, **self._of_account)
            )

    def table(self, database: str, name: str) -> CatalogTable | None:
        found = self._raw(database, name)
        return None if found is None else _table_of(database, found)

    def _raw(self, database: str, name: str) -> dict[str, Any] | None:
        asked = {"DatabaseName": database, "Name": name, **self._of_account}
        with self._errors(f"look for the table {database}.{name}"):
            found = self._unless(_GONE, lambda: self._client.get_table(**asked))
        return None if found is None else dict(found["Table"])

    def create_table(self, table: CatalogTable) -> CatalogTable:
        described = _with_table({"Name": table.name, "Owner": table.owner}, table)
        with self._errors(f"create the table {table}"):
            asked = {"DatabaseName": table.database, "TableInput": described, **self._of_account}
            self._unless(_THERE, lambda: self._client.create_table(**asked))
        return table

    def alter_table(self, table: CatalogTable, *, cascade: bool) -> CatalogTable:
        """Change the table as it is now, unless another process changes it meanwhile: then once more."""
        with self._errors(f"change the table {table}"):
            for attempt in range(_ATTEMPTS):
                raw = self._raw(table.database, table.name)
                if raw is None:
                    raise CatalogError(f"{self.uri}: another process has dropped {table}; sync again", catalog=self.uri)
                version = {"VersionId": raw["VersionId"]} if "VersionId" in raw else {}
                try:
                    self._client.update_table(
                        DatabaseName=table.database,
                        TableInput=_with_table({key: raw[key] for key in _OF_INPUT if key in raw}, table),
                        SkipArchive=self._options.skip_archive,
                        **version,
                        **self._of_account,
                    )
                    break
                except self._client.exceptions.ClientError as error:
                    if _code_of(error) not in _CHANGED or attempt == _ATTEMPTS - 1:
                        raise
                    self._pause(2**attempt / 10)
        if cascade:  # Glue has no such thing
            self.alter_partitions(table, self.partitions(table))
        return table

    def drop_table(self, table: CatalogTable) -> None:
        with self._errors(f"drop the table {table}"):
            self._client.delete_table(DatabaseName=table.database, Name=table.name, **self._of_account)

    def partitions(self, table: CatalogTable) -> list[CatalogPartition]:
        segments = self._options.read_all_at_once

        def read(number: int) -> list[CatalogPartition]:
            part = {"Segment": {"SegmentNumber": number, "TotalSegments": segments}} if segments > 1 else {}
            asked = {**_of(table), "ExcludeColumnSchema": True, **part, **self._of_account}
            pages = self._client.get_paginator("get_partitions").paginate(**asked)
            return [_partition_of(one) for page in pages for one in page["Partitions"]]

        with self._errors(f"list the partitions of {table}"):
            return [one for found in _side_by_side(read, range(segments), segments) for one in found]

    def partitions_of(self, table: CatalogTable, values: Sequence[Values]) -> list[CatalogPartition]:
        def read(some: list[Values]) -> list[CatalogPartition]:
            found: list[CatalogPartition] = []
            keys = [{"Values": list(one)} for one in some]
            for attempt in range(_ATTEMPTS):
                answer = self._client.batch_get_partition(**_of(table), PartitionsToGet=keys, **self._of_account)
                found += map(_partition_of, answer.get("Partitions", ()))
                keys = answer.get("UnprocessedKeys") or []
                if not keys:
                    return found
                self._pause(2**attempt / 10)
            raise CatalogError(f"{self.uri}: {len(keys)} partitions of {table} were not looked for", catalog=self.uri)

        with self._errors(f"look for partitions of {table}"):
            asked = list(batches(values, _LOOKED_FOR_AT_ONCE))
            return [one for found in _side_by_side(read, asked, self._options.read_at_once) for one in found]

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        def add(some: list[CatalogPartition]) -> Any:
            listed = [_partition_input(table, one) for one in some]
            return self._client.batch_create_partition(**_of(table), PartitionInputList=listed, **self._of_account)

        self._change(f"add partitions to {table}", add, partitions, _CREATED_AT_ONCE, fine=_THERE)

    def alter_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        def alter(some: list[CatalogPartition]) -> Any:
            listed = [
                {"PartitionValueList": list(one.values), "PartitionInput": _partition_input(table, one)} for one in some
            ]
            return self._client.batch_update_partition(**_of(table), Entries=listed, **self._of_account)

        self._change(f"change partitions of {table}", alter, partitions, _CREATED_AT_ONCE, fine="")

    def drop_partitions(self, table: CatalogTable, values: Sequence[Values]) -> None:
        def drop(some: list[CatalogPartition]) -> Any:
            listed = [{"Values": list(one.values)} for one in some]
            return self._client.batch_delete_partition(**_of(table), PartitionsToDelete=listed, **self._of_account)

        gone = [CatalogPartition(one, "") for one in values]
        self._change(f"drop partitions of {table}", drop, gone, _DELETED_AT_ONCE, fine=_GONE)

    def _change(
        self,
        what: str,
        send: Callable[[list[CatalogPartition]], Any],
        partitions: Sequence[CatalogPartition],
        most: int,
        *,
        fine: str,
    ) -> None:
        """Send *partitions* in requests of at most *most*; the error code *fine* says that one is as it should be."""

        def change(some: list[CatalogPartition]) -> None:
            for attempt in range(_ATTEMPTS):
                refused = {
                    tuple(one.get("PartitionValues") or one.get("PartitionValueList") or ()): one["ErrorDetail"]
                    for one in send(some).get("Errors") or ()
                    if one["ErrorDetail"]["ErrorCode"] != fine
                }
                if not refused:
                    return
                some = [one for one in some if one.values in refused]
                if attempt < _ATTEMPTS - 1:
                    self._pause(2**attempt / 10)
            values, detail = next(iter(refused.items()))
            raise CatalogError(
                f"{self.uri}: cannot {what}: {len(refused)} were refused, such as {', '.join(values)}: "
                f"{detail['ErrorCode']}: {detail.get('ErrorMessage', '')}",
                catalog=self.uri,
            )

        with self._errors(what):
            _side_by_side(change, list(batches(partitions, most)), self._options.change_at_once)

    def complete(self, table: CatalogTable) -> None:
        """Create and drop indexes of partitions, as the options say; a failure is a warning, as in Hudi."""
        if not table.partition_keys:
            return
        try:
            with self._errors(f"change the indexes of {table}"):
                self._index(table)
        except CatalogError as error:
            warn(f"{table} is told of, but its indexes of partitions are not as asked for: {error}")

    def _index(self, table: CatalogTable) -> None:
        enabled = self._options.index
        if (table.parameters.get(_FILTERS, "false") == "true") is not enabled:
            flag = {_FILTERS: "true" if enabled else "false"}
            self.alter_table(replace(table, parameters={**table.parameters, **flag}), cascade=False)
        elif not enabled:
            return  # nobody has asked for indexes, nor has
        keys = tuple(one.name for one in table.partition_keys)
        wanted = [tuple(one) for one in (self._options.index_fields or (keys,))[:_MOST_INDEXES]] if enabled else []
        pages = self._client.get_paginator("get_partition_indexes").paginate(**_of(table), **self._of_account)
        there = {
            tuple(key["Name"] for key in one["Keys"]): one["IndexName"]
            for page in pages
            for one in page.get("PartitionIndexDescriptorList", ())
        }
        for one in there.keys() - set(wanted):
            self._client.delete_partition_index(**_of(table), IndexName=there[one], **self._of_account)
        for one in wanted:
            if one not in there:
                index = {"Keys": list(one), "IndexName": f"hudi_managed_{'_'.join(one)}"}
                self._client.create_partition_index(**_of(table), PartitionIndex=index, **self._of_account)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def _unless(self, code: str, ask: Callable[[], _T]) -> _T | None:
        """Return the answer of *ask*; None if it fails with *code*."""
        try:
            return ask()
        except self._client.exceptions.ClientError as error:
            if _code_of(error) != code:
                raise
            return None

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn the errors of boto3 into errors of this package."""
        self._client  # noqa: B018 - it may not be installed
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - of an extra

        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise CatalogError(f"{self.uri}: cannot {what}: {error}", catalog=self.uri) from error


def _open_client(options: GlueOptions) -> Any:
    try:
        import boto3  # noqa: PLC0415 - of an extra
        from botocore.config import Config  # noqa: PLC0415 - it comes with an extra
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - it comes with an extra
    except ImportError as error:
        raise UnsupportedFeatureError(
            "expected boto3, which speaks to AWS Glue, found that it is not installed; run "
            "pip install 'hudiformat[glue]'",
            feature="AWS Glue",
        ) from error
    try:
        return boto3.client(
            "glue",
            region_name=options.region or None,
            endpoint_url=options.endpoint or None,
            config=Config(retries={"mode": "adaptive", "max_attempts": 10}),
            **options.aws.arguments(),
        )
    except BotoCoreError as error:
        raise CatalogError(f"cannot reach AWS Glue: {error}; set AWS_REGION", catalog=GlueCatalog.uri) from error


def _side_by_side(function: Callable[[_T], _R], given: Iterable[_T], threads: int) -> list[_R]:
    if threads <= 1:
        return [function(one) for one in given]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, given))


def _code_of(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _of(table: CatalogTable) -> dict[str, str]:
    return {"DatabaseName": table.database, "TableName": table.name}


def _table_of(database: str, raw: Mapping[str, Any]) -> CatalogTable:
    storage = raw.get("StorageDescriptor") or {}
    serde = storage.get("SerdeInfo") or {}
    return CatalogTable(
        database,
        raw["Name"],
        StorageDescriptor(
            tuple(map(_column_of, storage.get("Columns") or ())),
            storage.get("Location") or "",
            storage.get("InputFormat") or "",
            storage.get("OutputFormat") or "",
            serde.get("SerializationLibrary") or "",
            dict(serde.get("Parameters") or {}),
        ),
        tuple(map(_column_of, raw.get("PartitionKeys") or ())),
        dict(raw.get("Parameters") or {}),
        raw.get("TableType") or "",
        raw.get("Owner") or "",
    )


def _column_of(raw: Mapping[str, Any]) -> CatalogColumn:
    return CatalogColumn(raw["Name"], raw.get("Type") or "", raw.get("Comment") or "")


def _partition_of(raw: Mapping[str, Any]) -> CatalogPartition:
    return CatalogPartition(tuple(raw["Values"]), raw["StorageDescriptor"].get("Location") or "")


def _with_table(described: Mapping[str, Any], table: CatalogTable) -> dict[str, Any]:
    """Return a description of a table with what *table* says; the rest stays."""
    return {
        **{key: value for key, value in described.items() if value not in (None, "")},
        "TableType": table.table_type,
        "PartitionKeys": [_raw_column(one) for one in table.partition_keys],
        "Parameters": {**(described.get("Parameters") or {}), **table.parameters},
        "StorageDescriptor": {
            **(described.get("StorageDescriptor") or {}),
            **_raw_storage(table.storage, table.storage.location),
        },
    }


def _partition_input(table: CatalogTable, partition: CatalogPartition) -> dict[str, Any]:
    return {
        "Values": list(partition.values),
        "StorageDescriptor": _raw_storage(table.storage, partition.location),
    }


def _raw_storage(storage: StorageDescriptor, location: str) -> dict[str, Any]:
    return {
        "Columns": [_raw_column(one) for one in storage.columns],
        "Location": location,
        "InputFormat": storage.input_format,
        "OutputFormat": storage.output_format,
        "SerdeInfo": {"SerializationLibrary": storage.serde, "Parameters": dict(storage.serde_parameters)},
    }


def _raw_column(column: CatalogColumn) -> dict[str, str]:
    return {"Name": column.name, "Type": column.type, "Comment": column.comment}
