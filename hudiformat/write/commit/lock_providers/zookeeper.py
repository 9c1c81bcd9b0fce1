"""The lock of Hudi's ZookeeperBasedLockProvider, by kazoo.

It is Curator's InterProcessMutex: contenders are ephemeral sequential nodes below one path, and the first has the lock.
A node goes with the session of its owner.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hudiformat.errors import StorageError, UnsupportedFeatureError
from hudiformat.metadata_table.index_keys import xxh64
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.locks import ZookeeperLockOptions
from hudiformat.timeline.config_files import load_table_config
from hudiformat.write.commit.lock_providers.lock import Lock

_SEED = 0xDABADABA | 0xFFFFFFFF00000000
_NODE_DATA = b"application_id=hudiformat"
_IMPLICIT_KEY = "lock_key"


def implicit_base_path(base_path: str) -> str:
    """Return the path in ZooKeeper under which the lock of the table at *base_path* is.

    Source: ZookeeperBasedImplicitBasePathLockProvider.getLockBasePath, HashID, Hudi 1.2.0.
    """
    path = f"s3{base_path.removeprefix('s3a')}" if base_path.startswith("s3a:") else base_path
    return f"/tmp/{xxh64(path.encode(), _SEED):016X}"  # noqa: S108 - a path in ZooKeeper


def spellings_of(root: str) -> list[str]:
    """Return the texts by which writers of Hudi may name the table at *root*, each a table of its own to their lock.

    Spark's catalog names a local table by ``file:``, and a path that a program writes may end with a slash.
    """
    prefixes = ("", "file:", "file://") if root.startswith("/") else ("",)
    return [f"{prefix}{root}{slash}" for prefix in prefixes for slash in ("", "/")]


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a lost connection is made again, and the seconds before the first time and at most before each.

    The wait doubles each time, as in Curator's BoundedExponentialBackoffRetry.
    """

    count: int = 15
    first_wait: float = 1.0
    longest_wait: float = 16.0


_RETRIES = Retries()


class ZookeeperLock(Lock):
    """A lock in ZooKeeper at all of *paths*; *hosts* are servers with ports, joined by commas.  Times are in seconds.

    All writers that lock several paths lock them in one order, so that none waits for another that waits for it.  The
    session is kept by its own heartbeats, so the lock needs no renewal.

    Source: BaseZookeeperBasedLockProvider, HoodieInterProcessMutex, Hudi 1.2.0; LockInternals of Curator 5.
    """

    def __init__(
        self,
        hosts: str,
        paths: Sequence[str],
        *,
        session_timeout: float,
        connection_timeout: float,
        retries: Retries = _RETRIES,
    ) -> None:
        self._hosts = hosts
        self._paths = sorted(paths)
        self._session_timeout = session_timeout
        self._connection_timeout = connection_timeout
        self._retries = retries
        self._client: Any = None
        self._nodes: dict[str, str] = {}  # by path, in the order in which they were made
        self._is_lost = threading.Event()
        self._problem = ""
        self.token = str(uuid.uuid4())
        """The id of this writer, by which it finds its node if the answer to its creation was lost."""

    def try_acquire(self) -> bool:
        """Put a node behind all others, and return whether it is the first; it stays in the queue until then.

        The next path has its turn once the node of the path before is the first.
        """
        from kazoo.exceptions import KazooException  # noqa: PLC0415 - an extra

        try:
            client = self._connected()
            for path in self._paths:
                if path not in self._nodes:
                    self._nodes[path] = self._found(client, path) or self._new_node(client, path)
                self._problem = ""
                if self._nodes[path] != _first(client, path):
                    return False
        except (KazooException, OSError) as error:
            self._problem = f"{type(error).__name__}: {error}"
            self._forget()
            return False
        return True

    def give_up(self) -> None:
        """Leave the queue; a node that cannot be deleted goes with the session."""
        with contextlib.suppress(StorageError):
            self.release()

    def is_own(self) -> bool:
        """Return whether the nodes of this writer are still there, and the first.

        Raises:
            StorageError: ZooKeeper does not answer.
        """
        from kazoo.exceptions import KazooException  # noqa: PLC0415 - an extra

        if self._client is None or len(self._nodes) < len(self._paths) or self._is_lost.is_set():
            return False
        try:
            return all(node == _first(self._client, path) for path, node in self._nodes.items())
        except (KazooException, OSError) as error:
            raise self._error("look at", error) from error

    def release(self, *, is_sure: bool = False) -> None:  # noqa: ARG002 - of the protocol
        """Delete the nodes, and end the session, with which a node goes that could not be deleted."""
        from kazoo.exceptions import KazooException  # noqa: PLC0415 - an extra

        try:
            if self._client is not None and not self._is_lost.is_set():
                self._drop(self._client)
        except (KazooException, OSError) as error:
            raise self._error("release", error) from error
        finally:
            self._forget()

    def describe(self) -> str:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.describe`."""
        path = [*self._nodes, self._paths[0]][len(self._nodes) - 1]  # the one that was tried last
        return f"the lock {path} in ZooKeeper at {self._hosts} {self._problem}".rstrip()

    def _connected(self) -> Any:
        if self._client is None or self._is_lost.is_set():
            self._forget()
            self._client = _new_client(self._hosts, self._session_timeout, self._retries)
            self._is_lost.clear()
            self._client.add_listener(self._note_state)
            _start(self._client, self._connection_timeout)
        return self._client

    def _note_state(self, state: str) -> None:
        if state == "LOST":  # the session has ended, and with it the node
            self._is_lost.set()

    def _found(self, client: Any, path: str) -> str | None:
        names = client.get_children(path) if client.exists(path) else []
        return next((name for name in names if self.token in name), None)

    def _new_node(self, client: Any, path: str) -> str:
        # The name is Curator's: a writer in Java sorts contenders by what follows the word "lock".
        prefix = f"{path}/_c_{self.token}-lock-"
        made: str = client.create(prefix, _NODE_DATA, ephemeral=True, sequence=True, makepath=True)
        return made.rpartition("/")[2]

    def _drop(self, client: Any) -> None:
        from kazoo.exceptions import NoNodeError  # noqa: PLC0415 - an extra

        while self._nodes:
            path, node = self._nodes.popitem()
            with contextlib.suppress(NoNodeError):
                client.delete(f"{path}/{node}")

    def _forget(self) -> None:
        client, self._client, self._nodes = self._client, None, {}
        if client is not None:
            client.stop()
            client.close()

    def _error(self, action: str, error: Exception) -> StorageError:
        return StorageError(f"cannot {action} {self.describe()}: {type(error).__name__}: {error}", path=self._paths[0])


def _first(client: Any, path: str) -> str | None:
    names = [name for name in client.get_children(path) if "-lock-" in name]
    return min(names, key=lambda name: name.rpartition("-lock-")[2], default=None)


def zookeeper_lock(storage: Storage, options: ZookeeperLockOptions) -> ZookeeperLock:
    """Return the lock below the path that *options* give."""
    key = options.key or load_table_config(storage).name
    return _lock_at([f"{options.base_path.rstrip('/')}/{key}"], options)


def implicit_zookeeper_lock(storage: Storage, options: ZookeeperLockOptions) -> ZookeeperLock:
    """Return the lock below all paths that follow from the path of the table, however another writer spells it."""
    paths = [f"{implicit_base_path(spelled)}/{_IMPLICIT_KEY}" for spelled in spellings_of(storage.root)]
    return _lock_at(paths, options)


def _lock_at(paths: Sequence[str], options: ZookeeperLockOptions) -> ZookeeperLock:
    return ZookeeperLock(
        options.hosts,
        paths,
        session_timeout=options.session_ms / 1000,
        connection_timeout=options.connection_ms / 1000,
        retries=Retries(options.retries, options.retry_wait_ms / 1000, options.longest_retry_wait_ms / 1000),
    )


def _start(client: Any, longest_wait: float) -> None:
    """Connect *client*; kazoo's error for too long a wait has no class in common with its others."""
    from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415 - an extra

    try:
        client.start(timeout=longest_wait)
    except KazooTimeoutError as error:
        raise TimeoutError(f"no answer after {longest_wait:g} seconds") from error


def _new_client(hosts: str, session_timeout: float, retries: Retries) -> Any:
    try:
        from kazoo.client import KazooClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UnsupportedFeatureError(
            "expected kazoo, which locks in ZooKeeper need, found that it is not installed; run "
            "pip install 'hudiformat[zookeeper]'",
            feature="locks in ZooKeeper",
        ) from error
    policy = {"max_tries": retries.count, "delay": retries.first_wait, "max_delay": retries.longest_wait, "backoff": 2}
    return KazooClient(hosts=hosts, timeout=session_timeout, connection_retry=policy)
