"""The lock of Hudi's HiveMetastoreBasedLockProvider: an exclusive lock of a table in the Hive Metastore, by thrift.

A lock request waits in the metastore's queue until it is granted or taken back, and expires without heartbeats, after
five minutes by default.
"""

from __future__ import annotations

import contextlib
import getpass
import socket
import threading
import uuid
from typing import Any
from urllib.parse import urlsplit

from hudiformat.errors import StorageError, UnsupportedFeatureError
from hudiformat.table.options.locks import HiveLockOptions
from hudiformat.write.commit.lock_providers.lock import Lock

_ACQUIRED = 1
_PORT = 9083
_TIMEOUT_MS = 20_000


class HiveMetastoreLock(Lock):
    """The lock of a table in a metastore; neither the table nor its database has to exist.

    *heartbeat* is the number of seconds between two signs of life.
    Source: HiveMetastoreBasedLockProvider, Hudi 1.2.0.
    """

    def __init__(self, options: HiveLockOptions, *, heartbeat: float) -> None:
        self._uris = options.uris
        self._database = options.database
        self._name = options.table
        self._heartbeat = heartbeat
        self._guard = threading.RLock()
        self._client: Any = None
        self._transport: Any = None
        self._lock_id: int | None = None
        self._may_wait = False
        self._problem = ""
        self.token = f"hudiformat-{uuid.uuid4()}"

    @property
    def renew_every(self) -> float:
        """See :attr:`hudiformat.write.commit.lock_providers.lock.Lock.renew_every`."""
        return self._heartbeat

    def try_acquire(self) -> bool:
        """Ask for the lock, or whether the request that waits has been granted; it stays in the queue until then."""
        with self._guard:
            try:
                if self._lock_id is None and self._may_wait:  # the answer to a request was lost
                    self._lock_id = min(self._own_requests(), default=None)
                if self._lock_id is None:
                    self._may_wait = True
                    answer = self._call("lock", self._request())
                    self._lock_id = int(answer.lockid)
                    if answer.state != _ACQUIRED:  # it may wait for itself, if the request was done twice
                        self._lock_id = min(self._own_requests(), default=self._lock_id)
                answer = self._call("check_lock", _ttypes().CheckLockRequest(lockid=self._lock_id))
                if answer is None:  # it has expired in the queue
                    self._lock_id = None
                    return False
                self._problem = ""
                return bool(answer.state == _ACQUIRED)
            except StorageError as error:
                self._problem = str(error)
                return False

    def give_up(self) -> None:
        """Take the request back, so that it does not get the lock when nobody waits for it any more."""
        with contextlib.suppress(StorageError):
            self.release()

    def is_own(self) -> bool:
        """Return whether the metastore still has the lock as this writer's.

        Raises:
            StorageError: the metastore does not answer.
        """
        with self._guard:
            if self._lock_id is None:
                return False
            answer = self._call("check_lock", _ttypes().CheckLockRequest(lockid=self._lock_id))
            return answer is not None and bool(answer.state == _ACQUIRED)

    def renew(self) -> None:
        """Send a heartbeat."""
        with self._guard:
            if self._lock_id is not None:
                self._call("heartbeat", _ttypes().HeartbeatRequest(lockid=self._lock_id))

    def release(self, *, is_sure: bool = False) -> None:  # noqa: ARG002 - of the protocol
        """Give the lock back, or the request that waits for it.

        Raises:
            StorageError: the metastore does not answer.
        """
        with self._guard:
            if not self._may_wait:
                return
            for lock_id in self._own_requests():
                self._call("unlock", _ttypes().UnlockRequest(lockid=lock_id))
            self._lock_id, self._may_wait = None, False
            self._close()

    def describe(self) -> str:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.describe`."""
        named = f"the lock of {self._database}.{self._name} in the metastore at {self._uris}"
        return f"{named} {self._problem}".rstrip()

    def _request(self) -> Any:
        types = _ttypes()
        part = types.LockComponent(
            type=types.LockType.EXCLUSIVE,
            level=types.LockLevel.TABLE,
            dbname=self._database,
            tablename=self._name,
        )
        return types.LockRequest(
            component=[part], user=getpass.getuser(), hostname=socket.gethostname(), agentInfo=self.token
        )

    def _own_requests(self) -> list[int]:
        """Return the requests that the metastore has of this writer: two if one was done twice."""
        asked = _ttypes().ShowLocksRequest(dbname=self._database, tablename=self._name)
        found = self._call("show_locks", asked)
        return [int(one.lockid) for one in (found.locks or ()) if one.agentInfo == self.token]

    def _call(self, name: str, request: Any) -> Any:
        """Call the metastore; return None if it does not know the lock (any more)."""
        types = _ttypes()
        try:
            return getattr(self._connected(), name)(request)
        except (types.NoSuchLockException, types.NoSuchTxnException, types.TxnAbortedException):
            return None
        except Exception as error:  # thrift's errors have no common class
            self._close()
            message = f"cannot {name} at the metastore {self._uris}: {type(error).__name__}: {error}"
            raise StorageError(message, path=self._uris) from error

    def _connected(self) -> Any:
        if self._client is None:
            self._client, self._transport = _connect(self._uris)
        return self._client

    def _close(self) -> None:
        transport, self._client, self._transport = self._transport, None, None
        if transport is not None:
            with contextlib.suppress(Exception):
                transport.close()


def _ttypes() -> Any:
    try:
        from pymetastore.hive_metastore import ttypes  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UnsupportedFeatureError(
            "expected pymetastore, which locks in the Hive Metastore need, found that it is not installed; run "
            "pip install 'hudiformat[hive]'",
            feature="locks in the Hive Metastore",
        ) from error
    return ttypes


def _connect(uris: str) -> tuple[Any, Any]:
    """Connect to the first of *uris* that answers."""
    from pymetastore.hive_metastore import ThriftHiveMetastore  # noqa: PLC0415 - an extra
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: PLC0415 - it comes with an extra
    from thrift.transport import TSocket, TTransport  # noqa: PLC0415 - it comes with an extra

    problem: Exception | None = None
    for uri in uris.split(","):
        parts = urlsplit(uri.strip() if "://" in uri else f"thrift://{uri.strip()}")
        plug = TSocket.TSocket(parts.hostname, parts.port or _PORT)
        plug.setTimeout(_TIMEOUT_MS)
        transport = TTransport.TBufferedTransport(plug)
        try:
            transport.open()
        except TTransport.TTransportException as error:
            problem = error
            continue
        return ThriftHiveMetastore.Client(TBinaryProtocol(transport)), transport
    raise problem or OSError("there is no URI")
