"""Stores and locks on real servers: all checks of a storage, a table with two writers, and who has the lock."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable

import pyarrow as pa
import pytest

from hudiformat import create_table, open_storage, open_table
from hudiformat.storage.checks import STORE_CHECKS
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.locks import DynamoDBLockOptions, StorageLockOptions
from hudiformat.write.commit.lock_providers.dynamodb import DynamoDBLock
from hudiformat.write.commit.lock_providers.lock import Lock
from hudiformat.write.commit.lock_providers.storage_based import storage_based_lock
from hudiformat.write.commit.lock_providers.zookeeper import ZookeeperLock
from hudiformat.write.commit.locks import hold_lock
from tests.effort import LONG, only_long, steps
from tests.fire.stores import try_faults
from tests.model.on_stores import on_store
from tests.model.run import run
from tests.stores import STORES

pytestmark = [
    pytest.mark.servers,
    pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning"),  # by aiohttp, of gcsfs and adlfs
]
TOGETHER = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.num.retries.on.conflict.failures": "5",
}
STORAGE_BASED = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"}


Service = Callable[[pytest.FixtureRequest], Callable[[], Lock]]
SHORT = [pytest.param("gs"), *(pytest.param(name, marks=only_long) for name in STORES if name != "gs")]


def opened(name: str, request: pytest.FixtureRequest) -> Storage:
    """A new folder of a store."""
    store = STORES[name]
    if store.fixture == "s3":
        request.getfixturevalue("bucket")  # it sets the environment back after the test
    return store.open(request.getfixturevalue(store.fixture))


@pytest.fixture
def storage(request: pytest.FixtureRequest) -> Storage:
    return opened(request.param, request)


@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_every_store_passes_every_check(storage: Storage) -> None:
    for number, check in enumerate(STORE_CHECKS):
        if "several pages" not in str(check):  # a thousand requests
            check(FolderStorage(storage, f"check-{number}"))


@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_an_object_is_replaced_only_in_the_version_that_was_read(storage: Storage) -> None:
    found = getattr(storage, "versions", None)
    if found is None:
        assert storage.capabilities.rename  # HDFS, whose files have no versions
        return
    assert found.get("lock") is None
    first = found.put("lock", b"one", None)
    assert found.put("lock", b"two", None) is None
    assert found.get("lock") == (b"one", first)
    second = found.put("lock", b"two", first)
    assert found.put("lock", b"three", first) is None
    assert found.get("lock") == (b"two", second)


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
    return lambda: ZookeeperLock(hosts, [path], session_timeout=5, connection_timeout=10)


def of_dynamodb(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    endpoint = request.getfixturevalue("moto")
    patch = request.getfixturevalue("monkeypatch")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "tests")
    table = DynamoDBLockOptions(region="us-east-1", endpoint=endpoint)
    return lambda: DynamoDBLock(table, "t", lease_ms=9000)


def of_gcs(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    storage = opened("gs", request)
    return lambda: storage_based_lock(storage, StorageLockOptions(validity=10, renew_every=1))


def of_azure(request: pytest.FixtureRequest) -> Callable[[], Lock]:
    storage = opened("azure", request)
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
            with hold_lock(make(), longest_wait=60) as held:
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


@pytest.mark.filterwarnings("ignore::hudiformat.HudiFormatWarning")
@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_a_fault_at_any_request_loses_and_doubles_nothing(storage: Storage) -> None:
    count = 60 if LONG else 10
    assert try_faults(storage, count, say=print) == count


@pytest.mark.filterwarnings("ignore::hudiformat.HudiFormatWarning")
@pytest.mark.parametrize("storage", SHORT, indirect=True)
def test_whatever_is_done_to_a_table_on_a_store_it_has_the_rows_that_it_should_have(storage: Storage) -> None:
    run(steps=steps(long=40, short=5), number=1, shrinks=False, machine=on_store(storage))
