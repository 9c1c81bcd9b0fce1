"""Each lock excludes the same lock of Hudi's Java, both ways."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from hudiformat import LockError
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.keys import parse_write_options
from hudiformat.table.options.locks import LockProvider
from hudiformat.write.commit.lock_providers.lock import Lock
from hudiformat.write.commit.lock_providers.zookeeper import implicit_base_path
from hudiformat.write.commit.locks import hold_lock, lock_of
from tests.conformance.hudi import RealHudi
from tests.conformance.java_locks import JavaLock, options_of
from tests.effort import LONG, only_long

pytestmark = pytest.mark.servers
PROVIDERS = [
    LockProvider.ZOOKEEPER,
    LockProvider.HIVE_METASTORE,
    LockProvider.ZOOKEEPER_IMPLICIT,
    LockProvider.FILE_SYSTEM,
]


def ours_of(path: Path, options: dict[str, str]) -> Lock:
    return lock_of(LocalStorage(path), parse_write_options(options).concurrency.lock)


def theirs_of(hudi: RealHudi, path: Path, options: dict[str, str]) -> JavaLock:
    return JavaLock(hudi, {"hoodie.base.path": str(path), **options})


@pytest.mark.parametrize("provider", PROVIDERS if LONG else PROVIDERS[:1])
@pytest.mark.all_sets
def test_javas_writer_and_ours_exclude_each_other(
    provider: LockProvider, hudi: RealHudi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / ".hoodie").mkdir()
    options = options_of(provider, request)
    theirs = theirs_of(hudi, tmp_path, options)
    try:
        assert theirs.try_acquire(5000)
        with pytest.raises(LockError, match="the lock was not free for 0 seconds"):
            hold_lock(ours_of(tmp_path, options), longest_wait=0).__enter__()
        begun = time.monotonic()
        threading.Timer(0.3, theirs.release).start()
        with hold_lock(ours_of(tmp_path, options), longest_wait=30) as held:
            assert time.monotonic() - begun >= 0.3
            held.confirm()
            assert not theirs.try_acquire(200)
            held._looked = None
            held.confirm()  # Java's attempt has left it alone
        assert theirs.try_acquire(5000)  # nobody who has given up is still in the queue
        ours = ours_of(tmp_path, options)
        assert not ours.try_acquire()
        theirs.release()
        assert ours.try_acquire()
        ours.release()
    finally:
        theirs.close()


def test_who_waits_longest_gets_the_lock_in_zookeeper(
    hudi: RealHudi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options = options_of(LockProvider.ZOOKEEPER, request)
    first, second = ours_of(tmp_path, options), ours_of(tmp_path, options)
    theirs = theirs_of(hudi, tmp_path, options)
    assert first.try_acquire()
    threading.Timer(0.3, first.release).start()
    assert theirs.try_acquire(30_000)  # Java waits in the queue, and wakes up
    assert not second.try_acquire()
    theirs.close()
    assert second.try_acquire()
    second.release()


@only_long
def test_the_lock_of_a_session_that_has_died_is_free(
    hudi: RealHudi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from kazoo.client import KazooClient

    options = options_of(LockProvider.ZOOKEEPER, request)
    ours, theirs = ours_of(tmp_path, options), theirs_of(hudi, tmp_path, options)
    assert theirs.try_acquire(5000)
    assert not ours.try_acquire()
    # ZooKeeper knows a session by its id and password alone: whoever has them ends it, as silence would
    end = KazooClient(hosts=request.getfixturevalue("zookeeper"), client_id=theirs.zookeeper_session())
    end.start()
    end.stop()
    end.close()
    assert ours.try_acquire()
    ours.release()
    theirs.close()


def test_the_implicit_path_is_javas(hudi: RealHudi) -> None:
    paths = ["s3a://bucket/tables/trips", "s3://bucket/tables/trips", "/t", "file:///t/", "hdfs://nöde:1/ü"]
    java = "jvm.org.apache.hudi.client.transaction.lock.ZookeeperBasedImplicitBasePathLockProvider.getLockBasePath"
    assert hudi.eval_(f"result = [{java}(path) for path in {paths!r}]") == [implicit_base_path(one) for one in paths]


@pytest.mark.parametrize("spelling", ["{}", "{}/", "file:{}", "file://{}/"])
@pytest.mark.all_sets
def test_a_lock_by_the_tables_path_excludes_java_whatever_its_spelling(
    spelling: str, hudi: RealHudi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """To Hudi each spelling is another table; Spark's catalog names a local table by ``file:``."""
    options = options_of(LockProvider.ZOOKEEPER_IMPLICIT, request)
    ours = ours_of(tmp_path, options)
    theirs = JavaLock(hudi, {"hoodie.base.path": spelling.format(tmp_path), **options})
    try:
        assert theirs.try_acquire(5000)
        assert not ours.try_acquire()
        theirs.release()
        assert ours.try_acquire()
        assert not theirs.try_acquire(200)
        ours.release()
        assert theirs.try_acquire(5000)
    finally:
        theirs.close()
