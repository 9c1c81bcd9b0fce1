"""Locks of other services: one holder whatever answers are lost or given twice, and who loses a lock finds out."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hudiformat import LockError, OptionError, StorageError, UnsupportedFeatureError, open_storage
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.keys import parse_write_options
from hudiformat.table.options.locks import DynamoDBLockOptions, HiveLockOptions, LockProvider, StorageLockOptions
from hudiformat.timeline.config_files import load_table_config
from hudiformat.write.commit.lock_providers import dynamodb, hive_metastore, storage_based, zookeeper
from hudiformat.write.commit.lock_providers.dynamodb import DynamoDBLock
from hudiformat.write.commit.lock_providers.hive_metastore import HiveMetastoreLock
from hudiformat.write.commit.lock_providers.lock import Lock
from hudiformat.write.commit.lock_providers.storage_based import LOCK_FILE, LockState, StorageBasedLock
from hudiformat.write.commit.lock_providers.zookeeper import Retries, ZookeeperLock, implicit_base_path, spellings_of
from hudiformat.write.commit.locks import hold_lock, lock_of
from tests.tables import new_table
from tests.write.commit.fake_services import (
    FakeDynamoDB,
    FakeMetastore,
    FakeSession,
    FakeVersions,
    FakeZookeeper,
    Faults,
    NoSuchLockError,
)


@dataclass
class Service:
    """A lock service in memory: its faults, what makes the lock of another writer, and what takes the lock from one."""

    faults: Faults
    make: Callable[[], Lock]
    lose: Callable[[Lock], None]


class Clock:
    """The clocks of the locks, which can be set."""

    def __init__(self) -> None:
        self.passed = 0.0

    def time(self) -> float:
        return time.time() + self.passed

    def monotonic(self) -> float:
        return time.monotonic() + self.passed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (storage_based, dynamodb):
        monkeypatch.setattr(module, "time", made)
    return made


def of_storage(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Service:
    versions = FakeVersions()
    storage = LocalStorage(tmp_path)

    def lose(_lock: Lock) -> None:
        clock.passed += 20
        assert make().try_acquire()

    def make() -> Lock:
        return StorageBasedLock(storage, versions, StorageLockOptions(validity=10, renew_every=1))

    return Service(versions.faults, make, lose)


def of_dynamodb(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Service:
    client = FakeDynamoDB()
    table = DynamoDBLockOptions(region="us-east-1")

    def lose(_lock: Lock) -> None:
        other = make()
        assert not other.try_acquire()
        clock.passed += 20
        assert other.try_acquire()

    def make() -> Lock:
        return DynamoDBLock(table, "t", lease_ms=10_000, client=client)

    return Service(client.faults, make, lose)


def of_zookeeper(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, paths: Sequence[str] = ("/locks/t",)
) -> Service:
    pytest.importorskip("kazoo")
    from kazoo.exceptions import ConnectionLoss

    server = FakeZookeeper()
    apply = server.faults.apply

    def ask(request: Callable[[], Any]) -> Any:
        try:
            return apply(request)
        except ConnectionError as error:
            raise ConnectionLoss from error

    monkeypatch.setattr(server.faults, "apply", ask)
    monkeypatch.setattr(zookeeper, "_new_client", lambda *_arguments: FakeSession(server))

    def lose(lock: Lock) -> None:
        lock._client.lose()  # type: ignore[attr-defined]  # the fake of the service
        assert make().try_acquire()

    def make() -> Lock:
        return ZookeeperLock("nowhere:2181", paths, session_timeout=1, connection_timeout=1)

    return Service(server.faults, make, lose)


def of_zookeeper_paths(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Service:
    return of_zookeeper(tmp_path, clock, monkeypatch, ["/locks/t", "/locks/u", "/locks/v"])


def of_metastore(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Service:
    server = FakeMetastore()
    kinds = (
        "CheckLockRequest",
        "UnlockRequest",
        "HeartbeatRequest",
        "ShowLocksRequest",
        "LockRequest",
        "LockComponent",
    )
    types = dict.fromkeys(kinds, SimpleNamespace)
    errors = dict.fromkeys(("NoSuchLockException", "NoSuchTxnException", "TxnAbortedException"), NoSuchLockError)
    enums = {"LockType": SimpleNamespace(EXCLUSIVE=3), "LockLevel": SimpleNamespace(TABLE=2)}
    monkeypatch.setattr(hive_metastore, "_ttypes", lambda: SimpleNamespace(**types, **errors, **enums))
    monkeypatch.setattr(hive_metastore, "_connect", lambda _uris: (server, SimpleNamespace(close=lambda: None)))

    def lose(_lock: Lock) -> None:
        server.expire()
        assert make().try_acquire()

    def make() -> Lock:
        return HiveMetastoreLock(HiveLockOptions("thrift://nowhere:9083", "db", "t"), heartbeat=60)

    return Service(server.faults, make, lose)


SERVICES = {
    "storage": of_storage,
    "dynamodb": of_dynamodb,
    "zookeeper": of_zookeeper,
    "zookeeper, by several paths": of_zookeeper_paths,
    "metastore": of_metastore,
}


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Service:
    made: Service = SERVICES[request.param](tmp_path, clock, monkeypatch)
    return made


@pytest.mark.all_sets
def test_one_at_a_time(service: Service) -> None:
    first, second = service.make(), service.make()
    assert first.try_acquire()
    assert not second.try_acquire()
    assert first.is_own()
    assert not second.is_own()
    first.renew()
    assert first.is_own()
    assert not second.try_acquire()
    first.release()
    first.release()
    assert not first.is_own()
    assert second.try_acquire()
    assert second.is_own()
    second.release()


@pytest.mark.all_sets
def test_who_waits_gets_the_lock_and_who_gives_up_does_not(service: Service) -> None:
    first = service.make()
    assert first.try_acquire()
    with pytest.raises(LockError, match="the lock was not free for 0.02 seconds: .*"):
        hold_lock(service.make(), longest_wait=0.02).__enter__()
    threading.Timer(0.05, first.release).start()
    with hold_lock(service.make(), longest_wait=10) as held:
        held.confirm()


@pytest.mark.all_sets
@pytest.mark.parametrize("lost", range(1, 6))
def test_a_lock_whose_answers_are_lost_is_taken_once(service: Service, lost: int) -> None:
    first, second = service.make(), service.make()
    service.faults.lost = lost
    while not first.try_acquire():
        pass
    service.faults.lost = 0
    assert first.is_own()
    assert not second.try_acquire()
    first.release()
    while not second.try_acquire():
        pass
    assert second.is_own()


@pytest.mark.all_sets
def test_a_request_that_is_done_twice_gives_the_lock_to_one(service: Service) -> None:
    first, second = service.make(), service.make()
    for _ in range(8):
        service.faults.twice = 1
        if first.try_acquire():
            break
    service.faults.twice = 0
    assert first.is_own()
    assert not second.try_acquire()


@pytest.mark.all_sets
def test_a_service_that_is_away_is_waited_for(service: Service) -> None:
    lock = service.make()
    service.faults.away = 3
    with hold_lock(lock, longest_wait=10) as held:
        held.confirm()
        service.faults.away = 1
        held._looked = None
        with pytest.raises(StorageError):
            held.confirm()
        held.confirm()


@pytest.mark.all_sets
def test_a_service_that_never_answers_is_named(service: Service) -> None:
    service.faults.away = 1_000_000
    with pytest.raises(LockError, match=r"the lock was not free for 0 seconds: .*(nobody answers|Connection|nowhere)"):
        hold_lock(service.make(), longest_wait=0).__enter__()


@pytest.mark.all_sets
def test_who_was_paused_too_long_finds_out_and_leaves_the_lock_to_the_next(service: Service) -> None:
    first = service.make()
    assert first.try_acquire()
    service.lose(first)
    assert not first.is_own()
    first.renew()
    assert not first.is_own()
    first.release()
    assert not service.make().try_acquire()


@pytest.mark.parametrize("name", ["storage", "dynamodb"])
def test_a_lease_that_ran_out_is_renewed_before_it_counts_if_nobody_has_taken_it(
    name: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = SERVICES[name](tmp_path, clock, monkeypatch)
    first, second = service.make(), service.make()
    assert first.try_acquire()
    clock.passed += 15
    assert first.is_own()
    assert not second.try_acquire()


def test_the_lock_file_has_hudis_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = FakeVersions()
    lock = StorageBasedLock(LocalStorage(tmp_path), versions, StorageLockOptions())
    monkeypatch.setattr(storage_based, "_now", lambda: 1_700_000_000_000)
    assert lock.try_acquire()
    content = b'{"expired":false,"validUntil":1700000300000,"owner":"%s"}' % lock.token.encode()
    assert versions.objects[".hoodie/.locks/table_lock.json"][0] == content
    assert LOCK_FILE in lock.describe()
    lock.release()
    assert versions.objects[LOCK_FILE][0] == content.replace(b"false", b"true")


@pytest.mark.parametrize(("late", "free"), [(0, False), (500, False), (501, True)])
def test_clocks_may_differ_by_half_a_second(late: int, free: bool) -> None:
    assert LockState(expired=False, valid_until=1000, owner="other").is_free(1000 + late) is free
    assert LockState(expired=True, valid_until=10_000, owner="other").is_free(0)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"expired":null,"validUntil":1,"owner":"a"}', b"\xff"])
def test_a_lock_file_that_is_none_is_named_and_never_replaced(tmp_path: Path, content: bytes) -> None:
    versions = FakeVersions(objects={LOCK_FILE: (content, "7")})
    lock = StorageBasedLock(LocalStorage(tmp_path), versions, StorageLockOptions(validity=10, renew_every=1))
    assert not lock.try_acquire()
    assert "expected the lock file of StorageBasedLockProvider" in lock.describe()
    assert versions.objects[LOCK_FILE] == (content, "7")


def test_a_lock_file_with_further_fields_is_understood() -> None:
    found = LockState.parse(b'{"expired":false,"validUntil":5,"owner":"a","more":1}')
    assert found == LockState(expired=False, valid_until=5, owner="a")


@pytest.mark.parametrize("switch", ['{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED":true}', "{}", "[", None])
def test_what_an_owner_does_is_recorded_if_the_table_wants_it(
    tmp_path: Path, switch: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".hoodie" / ".locks"
    folder.mkdir(parents=True)
    if switch is not None:
        (folder / "audit_enabled.json").write_text(switch)
    monkeypatch.setattr(storage_based, "_now", lambda: 1_700_000_000_000)
    lock = StorageBasedLock(LocalStorage(tmp_path), FakeVersions(), StorageLockOptions())
    assert lock.try_acquire()
    lock.renew()
    lock.release()
    files = list((folder / "audit").glob("*")) if (folder / "audit").exists() else []
    if switch is None or "true" not in switch:
        assert files == []
        return
    assert [file.name for file in files] == [f"1700000000000_{lock.token}.jsonl"]
    lines = files[0].read_text().splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["START", "RENEW", "END"]
    assert lines[0] == (
        '{"transactionStartTime":1700000000000,"lockHeld":true,"state":"START","lockExpiration":1700000300000,'
        f'"ownerId":"{lock.token}","timestamp":1700000000000}}'
    )


def test_a_lock_that_another_has_taken_meanwhile_is_not_recorded_as_given_back(tmp_path: Path) -> None:
    folder = tmp_path / ".hoodie" / ".locks"
    folder.mkdir(parents=True)
    (folder / "audit_enabled.json").write_text('{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED":true}')
    versions = FakeVersions()
    lock = StorageBasedLock(LocalStorage(tmp_path), versions, StorageLockOptions())
    assert lock.try_acquire()
    versions.objects[LOCK_FILE] = (LockState(expired=False, valid_until=9, owner="another").to_json(), "another")
    lock.release()
    (file,) = (folder / "audit").glob("*")
    assert [json.loads(line)["state"] for line in file.read_text().splitlines()] == ["START"]


def test_a_table_of_locks_is_made_if_it_is_missing() -> None:
    client = FakeDynamoDB()
    client.exists = False
    lock = DynamoDBLock(DynamoDBLockOptions(region="us-east-1"), "t", lease_ms=9000, client=client)
    assert lock.try_acquire()
    assert client.items["t"]["leaseDuration"] == {"S": "9000"}
    assert lock.renew_every == 3
    assert "the lock t in the table hudi_locks of DynamoDB (us-east-1) of hudiformat-" in lock.describe()


def test_an_item_that_java_has_released_is_free() -> None:
    client = FakeDynamoDB()
    item = {"key": "t", "ownerName": "java", "leaseDuration": "6000", "recordVersionNumber": "1", "isReleased": "1"}
    client.items["t"] = {name: {"S": value} for name, value in item.items()}
    assert DynamoDBLock(DynamoDBLockOptions("x", region="y"), "t", lease_ms=9000, client=client).try_acquire()


def test_contenders_are_named_and_sorted_as_curators(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = of_zookeeper(tmp_path, clock, monkeypatch)
    lock = service.make()
    assert lock.try_acquire()
    server = lock._client.server  # type: ignore[attr-defined]  # the fake of the service
    (name,) = server.nodes
    assert name == f"/locks/t/_c_{lock.token}-lock-0000000001"  # type: ignore[attr-defined]  # the fake of the service
    server.nodes["/locks/t/_c_another-lock-0000000000"] = lock._client  # type: ignore[attr-defined]  # the fake of the service
    assert not lock.is_own()


def test_a_zookeeper_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kazoo")
    few = Retries(0, 0.01, 0.01)
    lock = ZookeeperLock("127.0.0.1:1", ["/locks/t"], session_timeout=1, connection_timeout=0.2, retries=few)
    with pytest.raises(LockError, match=r"the lock /locks/t in ZooKeeper at 127.0.0.1:1 TimeoutError: no answer after"):
        hold_lock(lock, longest_wait=0).__enter__()


def test_retries_of_zookeepers_lock_are_those_of_the_options(tmp_path: Path) -> None:
    more = {"num_retries": "3", "wait_time_ms_between_retry": "50", "max_wait_time_ms_between_retry": "200"}
    given = options_of(LockProvider.ZOOKEEPER, **GIVEN[LockProvider.ZOOKEEPER], **more)
    lock = lock_of(LocalStorage(tmp_path), parse_write_options(given).concurrency.lock)
    assert lock._retries == Retries(3, 0.05, 0.2)  # type: ignore[attr-defined]  # the fake of the service


def test_the_key_in_zookeeper_is_the_tables_name_if_none_is_given(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    given = {name: value for name, value in GIVEN[LockProvider.ZOOKEEPER].items() if name != "zookeeper.lock_key"}
    storage = open_storage(tmp_path / "t")
    lock = lock_of(storage, parse_write_options(options_of(LockProvider.ZOOKEEPER, **given)).concurrency.lock)
    assert f"the lock /hudi/{load_table_config(storage).name} in ZooKeeper" in lock.describe()


def answer_late(first: Lock, second: Lock, clock: Clock, monkeypatch: pytest.MonkeyPatch, *, is_done: bool) -> None:
    """Let *second* take the lock during the next request of *first*, which is done before (*is_done*) or after."""
    versions: FakeVersions = first._versions  # type: ignore[attr-defined]  # the fake of the service
    put = versions.put

    def late(path: str, data: bytes, version: str | None) -> str | None:
        monkeypatch.setattr(versions, "put", put)
        found = put(path, data, version) if is_done else None
        clock.passed += 20
        assert second.try_acquire()
        return found if is_done else put(path, data, version)

    monkeypatch.setattr(versions, "put", late)


@pytest.mark.parametrize("is_done", [True, False])
def test_an_answer_that_comes_after_the_lease_counts_for_nothing(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    """The request to renew comes, or its answer, when another writer may have taken the lock already."""
    service = of_storage(tmp_path, clock, monkeypatch)
    first, second = service.make(), service.make()
    assert first.try_acquire()
    answer_late(first, second, clock, monkeypatch, is_done=is_done)
    first.renew()
    assert not first.is_own()
    assert second.is_own()
    first.release()
    assert second.is_own()


@pytest.mark.parametrize("is_done", [True, False])
def test_a_lock_that_is_given_after_its_lease_is_not_held(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    service = of_storage(tmp_path, clock, monkeypatch)
    first, second = service.make(), service.make()
    answer_late(first, second, clock, monkeypatch, is_done=is_done)
    first.try_acquire()
    assert not first.is_own()
    assert second.is_own()


def test_the_implicit_path_is_a_hash_of_the_tables() -> None:
    path = implicit_base_path("s3a://bucket/tables/trips")
    assert path == implicit_base_path("s3://bucket/tables/trips")
    assert path.startswith("/tmp/")
    assert len(path) == len("/tmp/") + 16


def test_a_lock_by_the_tables_path_is_at_the_path_of_each_spelling() -> None:
    assert spellings_of("s3://bucket/t") == ["s3://bucket/t", "s3://bucket/t/"]
    assert spellings_of("/t") == ["/t", "/t/", "file:/t", "file:/t/", "file:///t", "file:///t/"]


def test_a_lock_of_several_paths_waits_for_each_and_leaves_none(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = of_zookeeper(tmp_path, clock, monkeypatch, ["/locks/a", "/locks/b"])
    session: dict[str, Any] = {"session_timeout": 1, "connection_timeout": 1}
    for path in ("/locks/a", "/locks/b"):
        of_another_spelling = ZookeeperLock("nowhere:2181", [path], **session)
        assert of_another_spelling.try_acquire()
        lock = service.make()
        assert not lock.try_acquire()
        assert not lock.is_own()
        assert f"the lock {path} in ZooKeeper" in lock.describe()
        of_another_spelling.release()
        assert lock.try_acquire()
        assert lock.is_own()
        assert not of_another_spelling.try_acquire()
        lock.give_up()
        assert of_another_spelling.try_acquire()
        of_another_spelling.release()


_LOCK = "hoodie.write.lock"


def options_of(provider: LockProvider, **more: str) -> dict[str, str]:
    shared = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL", f"{_LOCK}.provider": provider.value}
    return shared | {f"{_LOCK}.{name}": value for name, value in more.items()}


GIVEN: dict[LockProvider, dict[str, str]] = {
    LockProvider.ZOOKEEPER: {
        "zookeeper.url": "a,b:1",
        "zookeeper.port": "2181",
        "zookeeper.base_path": "/hudi/",
        "zookeeper.lock_key": "t",
    },
    LockProvider.ZOOKEEPER_IMPLICIT: {"zookeeper.url": "a:1"},
    LockProvider.DYNAMODB: {"dynamodb.partition_key": "t", "dynamodb.region": "eu-central-1"},
    LockProvider.HIVE_METASTORE: {
        "hivemetastore.uris": "thrift://a:1",
        "hivemetastore.database": "db",
        "hivemetastore.table": "t",
    },
}
SAID = {
    LockProvider.ZOOKEEPER: "the lock /hudi/t in ZooKeeper at a:2181,b:1",
    LockProvider.ZOOKEEPER_IMPLICIT: "the lock /tmp/",
    LockProvider.HIVE_METASTORE: "the lock of db.t in the metastore at thrift://a:1",
}


@pytest.mark.parametrize("provider", GIVEN)
def test_the_options_of_a_provider_make_its_lock(tmp_path: Path, provider: LockProvider) -> None:
    options = parse_write_options(options_of(provider, **GIVEN[provider])).concurrency.lock
    lock = lock_of(LocalStorage(tmp_path), options)
    assert provider is LockProvider.DYNAMODB or lock.describe().startswith(SAID[provider])
    if provider is LockProvider.DYNAMODB:
        assert lock.renew_every == 20


@pytest.mark.parametrize(
    ("provider", "missing"),
    [
        (LockProvider.ZOOKEEPER, "zookeeper.url"),
        (LockProvider.ZOOKEEPER, "zookeeper.base_path"),
        (LockProvider.ZOOKEEPER_IMPLICIT, "zookeeper.url"),
        (LockProvider.HIVE_METASTORE, "hivemetastore.uris"),
        (LockProvider.HIVE_METASTORE, "hivemetastore.table"),
    ],
)
def test_what_a_provider_needs_is_named(provider: LockProvider, missing: str) -> None:
    given = {name: value for name, value in GIVEN[provider].items() if name != missing}
    with pytest.raises(OptionError, match=f"{_LOCK}.{missing}: expected it with {provider.value}, found none; set it"):
        parse_write_options(options_of(provider, **given))


def test_a_lease_is_ten_times_as_long_as_the_time_between_renewals() -> None:
    more = {"storage.validity.timeout.secs": "50", "storage.renew.interval.secs": "6"}
    with pytest.raises(OptionError, match="expected at least ten times"):
        parse_write_options(options_of(LockProvider.STORAGE_BASED, **more))


def test_a_lock_file_needs_a_store_with_versions(tmp_path: Path) -> None:
    options = parse_write_options(options_of(LockProvider.STORAGE_BASED)).concurrency.lock
    with pytest.raises(UnsupportedFeatureError, match="expected a table on S3, Google Cloud Storage or Azure"):
        lock_of(open_storage(tmp_path), options)


@pytest.mark.parametrize(
    ("module", "call", "said"),
    [
        ("kazoo.client", lambda: zookeeper._new_client("a", 1, Retries()), r"hudiformat\[zookeeper\]"),
        (
            "botocore.session",
            lambda: dynamodb._new_client(DynamoDBLockOptions("a", region="b")),
            r"hudiformat\[dynamodb\]",
        ),
        ("pymetastore.hive_metastore", hive_metastore._ttypes, r"hudiformat\[hive\]"),
    ],
)
def test_what_is_not_installed_is_named(
    module: str, call: Callable[[], Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(UnsupportedFeatureError, match=said):
        call()
