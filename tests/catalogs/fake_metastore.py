"""A Hive Metastore in memory: what a client of Thrift gets from it, and what it was asked for."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hudiformat.catalogs.hive import HiveCatalog
from hudiformat.naming.keys import escape_path_name


class FakeMetastore:
    """The answers of Hive 3.1.3, as far as hudiformat asks."""

    def __init__(self) -> None:
        self.databases = {"default": ttypes.Database(name="default")}
        self.tables: dict[tuple[str, str], Any] = {}
        self.partitions: dict[tuple[str, str], dict[str, Any]] = {}
        self.asked: list[str] = []
        self.failures: dict[str, Exception] = {}
        """For the name of a call, the error that it raises."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or not callable(found):
            return found
        self.asked.append(name)
        if name in self.failures:
            raise self.failures[name]
        return found

    def set_ugi(self, user: str, _groups: list[str]) -> list[str]:
        return [user]

    def get_all_databases(self) -> list[str]:
        return list(self.databases)

    def get_database(self, name: str) -> Any:
        if name.lower() not in self.databases:
            raise ttypes.NoSuchObjectException(message=name)
        return self.databases[name.lower()]

    def create_database(self, database: Any) -> None:
        if database.name.lower() in self.databases:
            raise ttypes.AlreadyExistsException(message=database.name)
        self.databases[database.name.lower()] = database

    def get_all_tables(self, database: str) -> list[str]:
        return [name for of, name in self.tables if of == database]

    def get_table_objects_by_name_req(self, request: Any) -> Any:
        found = [deepcopy(self.tables[request.dbName, name]) for name in request.tblNames]
        return ttypes.GetTablesResult(tables=found)

    def get_table_req(self, request: Any) -> Any:
        key = (request.dbName.lower(), request.tblName.lower())
        if key not in self.tables:
            raise ttypes.NoSuchObjectException(message=f"{request.dbName}.{request.tblName} table not found")
        return ttypes.GetTableResult(table=deepcopy(self.tables[key]))

    def create_table(self, table: Any) -> None:
        key = (table.dbName.lower(), table.tableName.lower())
        if key in self.tables:
            raise ttypes.AlreadyExistsException(message=table.tableName)
        self.get_database(table.dbName)
        table = deepcopy(table)
        table.dbName, table.tableName = key
        table.parameters = {**(table.parameters or {}), "transient_lastDdlTime": "1"}
        _keep(table.sd)
        self.tables[key], self.partitions[key] = table, {}

    def alter_table_with_environment_context(self, database: str, name: str, table: Any, context: Any) -> None:
        key = (database, name)
        self.tables[key] = deepcopy(table)
        _keep(self.tables[key].sd)
        if context.properties.get("CASCADE") == "true":
            for one in self.partitions[key].values():
                one.sd.cols = deepcopy(self.tables[key].sd.cols)

    def drop_table(self, database: str, name: str, deletes: bool) -> None:
        assert not deletes
        del self.tables[database, name]
        del self.partitions[database, name]

    def get_partition_names(self, database: str, name: str, most: int) -> list[str]:
        assert most == -1
        return sorted(self.partitions[database, name])

    def get_partitions_by_names(self, database: str, name: str, names: list[str]) -> list[Any]:
        there = self.partitions[database, name]
        return [deepcopy(there[one]) for one in names if one in there]

    def add_partitions_req(self, request: Any) -> Any:
        for one in request.parts:
            there = self.partitions[request.dbName, request.tblName]
            there.setdefault(self._name_of(one), deepcopy(one))
        return ttypes.AddPartitionsResult()

    def alter_partitions(self, database: str, name: str, partitions: list[Any]) -> None:
        for one in partitions:
            assert self._name_of(one) in self.partitions[database, name]
            self.partitions[database, name][self._name_of(one)] = deepcopy(one)

    def drop_partitions_req(self, request: Any) -> Any:
        assert not request.deleteData
        for name in request.parts.names:
            self.partitions[request.dbName, request.tblName].pop(name, None)
        return ttypes.DropPartitionsResult()

    def _name_of(self, partition: Any) -> str:
        keys = self.tables[partition.dbName, partition.tableName].partitionKeys
        if len(keys) != len(partition.values):
            raise ttypes.MetaException(message="Incorrect number of partition values")
        pairs = zip(keys, partition.values, strict=True)
        return "/".join(f"{escape_path_name(key.name)}={escape_path_name(value)}" for key, value in pairs)

    def _of(self, name: str, database: str = "db") -> Any:
        return self.tables[database, name]


def _keep(storage: Any) -> None:
    for column in storage.cols:
        column.name = column.name.lower()
    if storage.location.startswith("/"):
        storage.location = f"file:{storage.location}"


@pytest.fixture
def metastore_in_memory(monkeypatch: pytest.MonkeyPatch) -> FakeMetastore:
    """A metastore that every HiveCatalog is connected with."""
    fake = FakeMetastore()
    monkeypatch.setattr(HiveCatalog, "_connect", lambda _self: (_Nothing(), fake))
    return fake


@pytest.fixture
def metastore_on_a_port() -> Iterator[tuple[str, FakeMetastore]]:
    """The address of a metastore that other processes reach, and the metastore."""
    fake = FakeMetastore()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening, fake), daemon=True).start()
        yield f"thrift://127.0.0.1:{listening.getsockname()[1]}", fake
        listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket, fake: FakeMetastore) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:  # the test is over
            return
        threading.Thread(target=_answer, args=(client, fake), daemon=True).start()


def _answer(client: socket.socket, fake: FakeMetastore) -> None:
    connection = TSocket()
    connection.setHandle(client)
    protocol = TBinaryProtocol(TBufferedTransport(connection))
    processor = ThriftHiveMetastore.Processor(fake)
    with contextlib.suppress(TTransportException):  # the client has gone
        while True:
            processor.process(protocol, protocol)
    client.close()


class _Nothing:
    def close(self) -> None: ...


def plain(value: Any) -> Any:
    """An object of Thrift as dicts and lists, without what is None."""
    if hasattr(value, "thrift_spec"):
        found = {name: plain(one) for name, one in sorted(vars(value).items())}
        return {name: one for name, one in found.items() if one is not None}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in sorted(value.items())}
    return [plain(one) for one in value] if isinstance(value, list) else value
