"""A Hive Metastore as a catalog, by its Thrift calls.

All calls are in Hive 3.1 and in Hive 4: a metastore of Hive 4 no longer knows ``get_table``.

Source: hive_metastore.thrift; HMSDDLExecutor, HoodieHiveSyncClient, Hudi 1.2.0.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any
from urllib.parse import urlsplit

from hudiformat.catalogs.objects import CatalogColumn, CatalogPartition, CatalogTable, StorageDescriptor
from hudiformat.catalogs.protocol import Values
from hudiformat.errors import CatalogError, OptionError, UnsupportedFeatureError
from hudiformat.naming.keys import escape_path_name
from hudiformat.table.options.sync import METASTORE_URIS

_TIMEOUT = 60_000  # milliseconds without an answer
_PORT = 9083
_AT_ONCE = 1000
"""Partitions whose descriptions, each with all columns, are in one answer."""
_CREATED_BY = "automatically created by hoodie"


class HiveCatalog:
    """A Hive Metastore; *uris* are the addresses of its servers, of which the first one that answers is asked.

    It connects when it is asked for the first time, and is for one thread.
    """

    def __init__(self, uris: Sequence[str]) -> None:
        self._addresses = [_parse_address(uri) for uri in uris]
        self.uri = ",".join(f"thrift://{host}:{port}" for host, port in self._addresses)
        self._client: Any = None
        self._transport: Any = None

    def adapt(self, table: CatalogTable) -> CatalogTable:
        return table

    def databases(self) -> list[str]:
        with self._errors("list databases"):
            return sorted(self._connected().get_all_databases())

    def tables(self, database: str) -> list[CatalogTable]:
        with self._errors(f"list the tables of {database}"):
            client, types = self._connected(), _types()
            names = sorted(client.get_all_tables(database))
            request = types.GetTablesRequest(dbName=database, tblNames=names)
            found = client.get_table_objects_by_name_req(request).tables if names else []
        return sorted(map(_table_of, found), key=lambda one: one.name)

    def has_database(self, name: str) -> bool:
        with self._errors(f"look for the database {name}"):
            try:
                self._connected().get_database(name)
            except _types().NoSuchObjectException:
                return False
            return True

    def create_database(self, name: str) -> None:
        types = _types()
        with self._errors(f"create the database {name}"), suppress(types.AlreadyExistsException):
            self._connected().create_database(types.Database(name=name, description=_CREATED_BY, parameters={}))

    def table(self, database: str, name: str) -> CatalogTable | None:
        found = self._raw(database, name)
        return None if found is None else _table_of(found)

    def _raw(self, database: str, name: str) -> Any:
        types = _types()
        with self._errors(f"look for the table {database}.{name}"):
            try:
                return self._connected().get_table_req(types.GetTableRequest(dbName=database, tblName=name)).table
            except types.NoSuchObjectException:
                return None

    def create_table(self, table: CatalogTable) -> CatalogTable:
        types = _types()
        with self._errors(f"create the table {table}"):
            raw = types.Table(dbName=table.database, tableName=table.name, owner=table.owner, sd=_new_storage())
            _set(raw, table)
            with suppress(types.AlreadyExistsException):
                self._connected().create_table(raw)
        return table

    def alter_table(self, table: CatalogTable, *, cascade: bool) -> CatalogTable:
        """Change the table as it is now: what this client does not know of it stays."""
        raw = self._raw(table.database, table.name)
        if raw is None:
            raise CatalogError(f"{self.uri}: another process has dropped {table}; sync again", catalog=self.uri)
        with self._errors(f"change the table {table}"):
            _set(raw, table)
            context = _types().EnvironmentContext(properties={"CASCADE": "true"} if cascade else {})
            self._connected().alter_table_with_environment_context(table.database, table.name, raw, context)
        return table

    def drop_table(self, table: CatalogTable) -> None:
        with self._errors(f"drop the table {table}"):
            self._connected().drop_table(table.database, table.name, False)

    def partitions(self, table: CatalogTable) -> list[CatalogPartition]:
        with self._errors(f"list the partitions of {table}"):
            names = self._connected().get_partition_names(table.database, table.name, -1)
        return self._by_names(table, names)

    def partitions_of(self, table: CatalogTable, values: Sequence[Values]) -> list[CatalogPartition]:
        return self._by_names(table, [_name(table, one) for one in values])

    def _by_names(self, table: CatalogTable, names: Sequence[str]) -> list[CatalogPartition]:
        found: list[CatalogPartition] = []
        with self._errors(f"look for partitions of {table}"):
            for start in range(0, len(names), _AT_ONCE):
                some = list(names[start : start + _AT_ONCE])
                answer = self._connected().get_partitions_by_names(table.database, table.name, some)
                found += [CatalogPartition(tuple(one.values), one.sd.location) for one in answer]
        return found

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        with self._errors(f"add partitions to {table}"):
            request = _types().AddPartitionsRequest(
                dbName=table.database,
                tblName=table.name,
                parts=[_raw_partition(table, one) for one in partitions],
                ifNotExists=True,
                needResult=False,
            )
            self._connected().add_partitions_req(request)

    def alter_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        with self._errors(f"change partitions of {table}"):
            raw = [_raw_partition(table, one) for one in partitions]
            self._connected().alter_partitions(table.database, table.name, raw)

    def drop_partitions(self, table: CatalogTable, values: Sequence[Values]) -> None:
        types = _types()
        with self._errors(f"drop partitions of {table}"):
            names = [_name(table, one) for one in values]
            request = types.DropPartitionsRequest(
                dbName=table.database,
                tblName=table.name,
                parts=types.RequestPartsSpec(names=names),
                deleteData=False,
                ifExists=True,
                needResult=False,
            )
            self._connected().drop_partitions_req(request)

    def complete(self, table: CatalogTable) -> None:
        pass

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._client = self._transport = None

    def _connected(self) -> Any:
        if self._client is None:
            self._transport, self._client = self._connect()
        return self._client

    def _connect(self) -> tuple[Any, Any]:
        """Connect to the first server that answers.

        Raises:
            CatalogError: none does.
        """
        from pymetastore.hive_metastore import ThriftHiveMetastore  # noqa: PLC0415 - of an extra, see _types
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: PLC0415 - it comes with an extra
        from thrift.Thrift import TException  # noqa: PLC0415 - it comes with an extra
        from thrift.transport import TSocket, TTransport  # noqa: PLC0415 - it comes with an extra

        failures = []
        for host, port in self._addresses:
            socket = TSocket.TSocket(host, port)
            socket.setTimeout(_TIMEOUT)
            transport = TTransport.TBufferedTransport(socket)
            client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
            try:
                transport.open()
                client.set_ugi(os.environ.get("HADOOP_USER_NAME") or getpass.getuser(), [])
            except (TException, OSError) as error:
                transport.close()
                failures.append(f"thrift://{host}:{port}: {_text_of(error)}")
            else:
                return transport, client
        raise CatalogError(
            f"cannot reach the Hive Metastore: {'; '.join(failures)}; name its address with {METASTORE_URIS}, and note "
            "that one that asks for Kerberos or TLS is not supported",
            catalog=self.uri,
        )

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn the errors of Thrift into errors of this package.  After one, the next call connects anew."""
        _types()
        from thrift.Thrift import TException  # noqa: PLC0415 - of an extra

        try:
            yield
        except (TException, OSError) as error:
            self.close()
            raise CatalogError(f"{self.uri}: cannot {what}: {_text_of(error)}", catalog=self.uri) from error


def _types() -> Any:
    """Return the module of the metastore's types.

    Raises:
        UnsupportedFeatureError: it is not installed.
    """
    try:
        from pymetastore.hive_metastore import ttypes  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise UnsupportedFeatureError(
            "expected pymetastore, which speaks to a Hive Metastore, found that it is not installed; run "
            "pip install 'hudiformat[hive]'",
            feature="Hive Metastore",
        ) from error
    return ttypes


def _parse_address(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri if "://" in uri else f"thrift://{uri}")
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        host = None
    if not host or parts.scheme not in ("thrift", "hive"):
        raise OptionError(f"{METASTORE_URIS}: expected thrift://<host>:<port>, found {uri!r}", option=METASTORE_URIS)
    return host, port


def _text_of(error: BaseException) -> str:
    return str(getattr(error, "message", None) or error) or type(error).__name__


def _name(table: CatalogTable, values: Values) -> str:
    """Return the name that a metastore gives a partition.  Source: Warehouse.makePartName."""
    pairs = zip(table.partition_keys, values, strict=True)
    return "/".join(f"{escape_path_name(key.name)}={escape_path_name(value)}" for key, value in pairs)


def _table_of(raw: Any) -> CatalogTable:
    storage = raw.sd
    serde = storage.serdeInfo
    return CatalogTable(
        raw.dbName,
        raw.tableName,
        StorageDescriptor(
            tuple(map(_column_of, storage.cols or ())),
            storage.location or "",
            storage.inputFormat or "",
            storage.outputFormat or "",
            (serde.serializationLib if serde else "") or "",
            dict((serde.parameters if serde else None) or {}),
        ),
        tuple(map(_column_of, raw.partitionKeys or ())),
        dict(raw.parameters or {}),
        raw.tableType or "",
        raw.owner or "",
    )


def _column_of(raw: Any) -> CatalogColumn:
    return CatalogColumn(raw.name, raw.type, raw.comment or "")


def _new_storage() -> Any:
    types = _types()
    return types.StorageDescriptor(serdeInfo=types.SerDeInfo(), bucketCols=[], sortCols=[], numBuckets=0, parameters={})


def _set(raw: Any, table: CatalogTable) -> None:
    """Set what *table* says in *raw*, an object of Thrift."""
    raw.partitionKeys = [_raw_column(one) for one in table.partition_keys]
    raw.parameters = {**(raw.parameters or {}), **table.parameters}  # the metastore adds some of its own
    raw.tableType = table.table_type
    _set_storage(raw.sd, table.storage, table.storage.location)


def _set_storage(raw: Any, storage: StorageDescriptor, location: str) -> None:
    raw.cols = [_raw_column(one) for one in storage.columns]
    raw.location = location
    raw.inputFormat, raw.outputFormat = storage.input_format, storage.output_format
    if raw.serdeInfo is None:
        raw.serdeInfo = _types().SerDeInfo()
    raw.serdeInfo = copy(raw.serdeInfo)
    raw.serdeInfo.serializationLib = storage.serde
    raw.serdeInfo.parameters = dict(storage.serde_parameters)


def _raw_column(column: CatalogColumn) -> Any:
    return _types().FieldSchema(column.name, column.type, column.comment)


def _raw_partition(table: CatalogTable, partition: CatalogPartition) -> Any:
    storage = _new_storage()
    _set_storage(storage, table.storage, partition.location)
    return _types().Partition(
        values=list(partition.values),
        dbName=table.database,
        tableName=table.name,
        createTime=0,
        lastAccessTime=0,
        sd=storage,
        parameters={},
    )
