"""Hudi's own lock providers, in the JVM of real Hudi, and options by which writers of both kinds share a lock."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping

import pytest

from hudiformat.table.options.locks import LockProvider
from tests.conformance.hudi import RealHudi
from tools.hive_metastore import HiveMetastore

LOCK = "hoodie.write.lock"

_CODE = """
def lock_of(keys):
    properties = jvm.org.apache.hudi.common.config.TypedProperties()
    for key, value in keys.items():
        properties.setProperty(key, value)
    provider = jvm
    for part in keys["hoodie.write.lock.provider"].split("."):
        provider = getattr(provider, part)
    builder = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(keys["hoodie.base.path"])
    properties = builder.withProperties(properties).build().getProps()  # with Hudi's defaults
    conf = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(spark._jsc.hadoopConfiguration())
    return provider(jvm.org.apache.hudi.common.config.LockConfiguration(properties), conf)


def try_lock(lock, milliseconds):
    try:
        return lock.tryLock(milliseconds, jvm.java.util.concurrent.TimeUnit.MILLISECONDS)
    except Exception as error:
        if "HoodieLockException: FAILED_TO_ACQUIRE lock" not in str(error):
            raise
        return False


def session_of(lock):
    field = lock.getClass().getSuperclass().getDeclaredField("curatorFrameworkClient")
    field.setAccessible(True)
    session = field.get(lock).getZookeeperClient().getZooKeeper()
    return [session.getSessionId(), list(session.getSessionPasswd())]
"""
_numbers = itertools.count()


class JavaLock:
    """A lock of Hudi's with the options of a writer; it stands for one writer."""

    def __init__(self, hudi: RealHudi, options: Mapping[str, str]) -> None:
        self._hudi = hudi
        self._name = f"lock{next(_numbers)}"
        hudi.eval_(f"{_CODE}\n{self._name} = lock_of({dict(options)!r})")

    def try_acquire(self, milliseconds: int) -> bool:
        """Whether it is taken after waiting for so long; some providers never wait."""
        return bool(self._hudi.eval_(f"result = try_lock({self._name}, {milliseconds})"))

    def release(self) -> None:
        self._hudi.eval_(f"{self._name}.unlock()")

    def close(self) -> None:
        self._hudi.eval_(f"{self._name}.close()")

    def zookeeper_session(self) -> tuple[int, bytes]:
        """The id and the password of the session in ZooKeeper."""
        number, password = self._hudi.eval_(f"result = session_of({self._name})")
        return number, bytes(password)


def options_of(provider: LockProvider, request: pytest.FixtureRequest) -> dict[str, str]:
    """What both writers of a table are told of their lock; the servers are those of fixtures."""
    shared = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL", f"{LOCK}.provider": provider.value}
    unique = uuid.uuid4().hex[:8]
    if provider in (LockProvider.ZOOKEEPER, LockProvider.ZOOKEEPER_IMPLICIT):
        shared[f"{LOCK}.zookeeper.url"] = request.getfixturevalue("zookeeper")
    if provider is LockProvider.ZOOKEEPER:
        shared |= {f"{LOCK}.zookeeper.base_path": f"/hudi/{unique}", f"{LOCK}.zookeeper.lock_key": "t"}
    if provider is LockProvider.HIVE_METASTORE:
        metastore: HiveMetastore = request.getfixturevalue("metastore")
        shared |= {
            f"{LOCK}.hivemetastore.uris": metastore.uri,
            f"{LOCK}.hivemetastore.database": f"db{unique}",
            f"{LOCK}.hivemetastore.table": "t",
        }
    return shared
