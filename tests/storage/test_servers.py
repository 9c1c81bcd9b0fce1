"""Stores and locks on real servers: all checks of a storage, a table with two writers, and who has the lock."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from hudiformat import HudiFormatError, StorageError, Table, create_table, open_storage, open_table
from hudiformat.storage.checks import STORE_CHECKS
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.locks import DynamoDBLockOptions, StorageLockOptions
from hudiformat.write.commit.lock_providers.dynamodb import DynamoDBLock
from hudiformat.write.commit.lock_providers.lock import Lock
from hudiformat.write.commit.lock_providers.storage_based import storage_based_lock
from hudiformat.write.commit.lock_providers.zookeeper import ZookeeperLock
from hudiformat.write.commit.locks import hold_lock
from tests.conftest import started
from tests.effort import every, only_long
from tests.faults import FaultyStorage
from tools.store_servers import (
    AZURE_ACCOUNT,
    AZURE_KEY,
    azure_server,
    gcs_server,
    hdfs_server,
    make_bucket,
    moto_server,
)

T = TypeVar("T")

pytestmark = [
    pytest.mark.servers,
    pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning"),  # by aiohttp, of gcsfs and adlfs
]
TOGETHER = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.num.retries.on.conflict.failures": "5",
}
STORAGE_BASED = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"}


@pytest.fixture(scope="session")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    yield from started(gcs_server(tmp_path_factory.mktemp("gcs")), "gcsfs")


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    yield from started(azure_server(tmp_path_factory.mktemp("azure")), "azure.storage.blob")


@pytest.fixture(scope="session")
def hdfs(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    yield from started(hdfs_server(tmp_path_factory.mktemp("hdfs"), java), "hdfs_native")


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    yield from started(moto_server(tmp_path_factory.mktemp("moto")), "moto")


def on_gcs(request: pytest.FixtureRequest) -> Storage:
    port = request.getfixturevalue("gcs")
    name = f"bucket-{uuid.uuid4()}"
    make_bucket(port, name)
    return open_storage(f"gs://anonymous@{name}/t?scheme=http&endpoint_override=127.0.0.1:{port}")


def on_gcsfs(request: pytest.FixtureRequest) -> Storage:
    port = request.getfixturevalue("gcs")
    from gcsfs.core import GCSFileSystem  # noqa: PLC0415 - it starts a thread

    name = f"bucket-{uuid.uuid4()}"
    make_bucket(port, name)
    files = GCSFileSystem(
        token="anon",  # noqa: S106 - no credentials
        endpoint_url=f"http://127.0.0.1:{port}",
        project="tests",
        skip_instance_cache=True,
    )
    return open_storage(f"{name}/t", filesystem=files)


def _container(port: int) -> str:
    from azure.storage.blob import BlobServiceClient  # noqa: PLC0415 - not everywhere

    name = f"container-{uuid.uuid4()}"
    credential = {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY}
    BlobServiceClient(f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}", credential=credential).create_container(name)
    return name


def on_azure(request: pytest.FixtureRequest) -> Storage:
    port = request.getfixturevalue("azure")
    where = f"127.0.0.1:{port}"
    options = {"blob_storage_authority": where, "dfs_storage_authority": where, "enable_tls": "false"}
    options |= {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY}
    return open_storage(f"abfs://{_container(port)}/t", storage_options=options)


def on_adlfs(request: pytest.FixtureRequest) -> Storage:
    port = request.getfixturevalue("azure")
    adlfs = pytest.importorskip("adlfs")
    text = f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
    text += f"BlobEndpoint=http://127.0.0.1:{port}/{AZURE_ACCOUNT};"
    return open_storage(f"{_container(port)}/t", filesystem=adlfs.AzureBlobFileSystem(connection_string=text))


def on_hdfs(request: pytest.FixtureRequest) -> Storage:
    return open_storage(f"{request.getfixturevalue('hdfs')}/{uuid.uuid4()}")


Service = Callable[[pytest.FixtureRequest], Callable[[], Lock]]
STORES = {"gs": on_gcs, "gcsfs": on_gcsfs, "azure": on_azure, "adlfs": on_adlfs, "hdfs": on_hdfs}
SHORT = [pytest.param("gs"), *(pytest.param(name, marks=only_long) for name in STORES if name != "gs")]


@pytest.fixture
def storage(request: pytest.FixtureRequest) -> Storage:
    return STORES[request.param](request)


@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_every_store_passes_every_check(storage: Storage) -> None:
    for number, check in enumerate(STORE_CHECKS):
        if "several pages" not in str(check):  # a thousand requests
            check(FolderStorage(storage, f"check-{number}"))


@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_two_writers_lose_no_row(storage: Storage) -> None:
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
    create_table(storage, name="t", schema=schema, record_key="id", ordering="ts", partition_by="p")
    has_versions = getattr(storage, "versions", None) is not None
    options = TOGETHER | (STORAGE_BASED if has_versions else {})

    def write(number: int) -> None:
        table = open_table(storage, options=options)
        for step in range(2):
            rows = {"id": [f"{number}-{step}"], "ts": [step], "p": [f"p{number}"]}
            table.upsert(pa.table(rows, schema=schema))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = open_table(storage)
    assert sorted(found.snapshot()["id"].to_pylist()) == ["0-0", "0-1", "1-0", "1-1"]
    assert found.verify() == []


def of_zookeeper(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    hosts, path = request.getfixturevalue("zookeeper"), f"/hudi/{uuid.uuid4()}"
    return lambda: ZookeeperLock(hosts, path, session_timeout=5, connection_timeout=10)


def of_dynamodb(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    endpoint = request.getfixturevalue("moto")
    patch = request.getfixturevalue("monkeypatch")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "tests")
    table = DynamoDBLockOptions(region="us-east-1", endpoint=endpoint)
    return lambda: DynamoDBLock(table, "t", lease_ms=9000)


def of_gcs(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    storage = on_gcs(request)
    return lambda: storage_based_lock(storage, StorageLockOptions(validity=10, renew_every=1))


def of_azure(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    storage = on_azure(request)
    return lambda: storage_based_lock(storage, StorageLockOptions(validity=10, renew_every=1))


def of_s3(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    storage = open_storage(f"{request.getfixturevalue('bucket')}/t")
    return lambda: storage_based_lock(storage, StorageLockOptions(validity=10, renew_every=1))


@pytest.mark.parametrize(
    "service",
    [
        pytest.param(of_zookeeper, id="zookeeper"),
        pytest.param(of_gcs, id="gcs"),
        pytest.param(of_s3, id="s3", marks=pytest.mark.s3),
        pytest.param(of_dynamodb, id="dynamodb", marks=only_long),
        pytest.param(of_azure, id="azure", marks=only_long),
    ],
)
@pytest.mark.all_sets
def test_a_lock_has_one_holder(
    service: Callable[[pytest.FixtureRequest], Callable[[], Lock]], request: pytest.FixtureRequest
) -> None:
    make = service(request)
    inside, most, count = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, count
        for _ in range(3):
            with hold_lock(make(), patience=60) as held:
                held.confirm()
                inside += 1
                most, count = max(most, inside), count + 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (most, count) == (1, 9)


class OneFault:
    """Lets the request of one number fail, before it is done or after, and counts all."""

    def __init__(self, number: int, *, is_done: bool) -> None:
        self.number = number
        self.is_done = is_done
        self.count = 0

    def run(self, what: str, action: Callable[[], T]) -> T:
        self.count += 1
        if self.count != self.number:
            return action()
        if self.is_done:
            action()
        raise StorageError(f"the store fails at request {self.count}: {what}")


FAULT_SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])


def rows_at(ts: int, *ids: str) -> pa.Table:
    return pa.table({"id": ids, "ts": [ts] * len(ids), "p": ["x"] * len(ids)}, FAULT_SCHEMA)


FAULTY: dict[str, tuple[Callable[[Table], object], dict[str, int]]] = {
    "upsert": (lambda table: table.upsert(rows_at(3, "b", "c")), {"a": 1, "b": 3, "c": 3}),
    "delete": (lambda table: table.delete(rows_at(3, "b").select(["id", "p"])), {"a": 1}),
    "compact": (lambda table: table.compact(), {"a": 1, "b": 2}),
    "overwrite": (lambda table: table.insert_overwrite(rows_at(3, "d")), {"d": 3}),
}
BEFORE = {"a": 1, "b": 2}


def content(storage: Storage) -> dict[str, int]:
    found = open_table(storage).snapshot()
    assert len(set(found["id"].to_pylist())) == found.num_rows
    return dict(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True))


def with_one_fault(folder: Storage, operation: str, fault: OneFault) -> None:
    """Run *operation* on a new table in *folder*, and check what is there after *fault*, and after another write."""
    act, after = FAULTY[operation]
    made = create_table(
        folder,
        name="t",
        schema=FAULT_SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by="p",
        table_type="MERGE_ON_READ",
    )
    made.insert(rows_at(1, "a", "b"))
    made.upsert(rows_at(2, "b"))
    try:
        act(open_table(FaultyStorage(folder, fault)))
    except HudiFormatError:
        assert content(folder) in (BEFORE, after), f"{operation}, request {fault.number}"
    else:
        assert content(folder) == after, f"{operation}, request {fault.number}"
    known = content(folder)
    open_table(folder).upsert(rows_at(9, "z"))
    assert content(folder) == known | {"z": 9}, f"{operation}, request {fault.number}"
    assert open_table(folder).verify() == []


@pytest.mark.filterwarnings("ignore::hudiformat.HudiFormatWarning")
@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_a_fault_at_any_request_loses_and_doubles_nothing(storage: Storage) -> None:
    tried = 0
    for operation in FAULTY:
        counting = OneFault(0, is_done=False)
        with_one_fault(FolderStorage(storage, f"{operation}-0"), operation, counting)
        for number in range(1, counting.count + 1, every(60, long=4)):
            for is_done in (False, True):
                folder = FolderStorage(storage, f"{operation}-{number}-{is_done}")
                with_one_fault(folder, operation, OneFault(number, is_done=is_done))
                tried += 1
    print(f"{tried} faults")  # noqa: T201 - shown with -s
