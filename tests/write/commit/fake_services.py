"""Lock services in memory, whose answers are lost, late, given twice, or not at all."""

from __future__ import annotations

# ruff: noqa: N803 - arguments are those of botocore
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


@dataclass
class Faults:
    """What happens to the next requests: ``lost`` answers, ``away`` requests that never arrive, ``twice``."""

    lost: int = 0
    away: int = 0
    twice: int = 0

    def apply(self, request: Callable[[], Any]) -> Any:
        if self.away:
            self.away -= 1
            raise ConnectionError("nobody answers")
        answer = request()
        if self.twice:
            self.twice -= 1
            answer = request()
        if self.lost:
            self.lost -= 1
            raise ConnectionError("the answer is lost")
        return answer


@dataclass
class FakeVersions:
    """An object store with versions."""

    faults: Faults = field(default_factory=Faults)
    objects: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    guard: Any = field(default_factory=threading.Lock)
    count: int = 0

    def get(self, path: str) -> tuple[bytes, str] | None:
        return self.faults.apply(lambda: self.objects.get(path))  # type: ignore[no-any-return]  # what the request gives

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        def request() -> str | None:
            with self.guard:
                found = self.objects.get(path)
                if (None if found is None else found[1]) != version:
                    return None
                self.count += 1
                self.objects[path] = data, str(self.count)
                return str(self.count)

        return self.faults.apply(request)  # type: ignore[no-any-return]  # what the request gives


class FakeDynamoDB:
    """A table of items with conditions, as far as the lock needs them."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.faults = Faults()
        self.exists = True
        self.guard = threading.Lock()

    def get_item(self, *, Key: Any, **_arguments: Any) -> dict[str, Any]:
        return self._ask(lambda: {"Item": item} if (item := self.items.get(Key["key"]["S"])) else {})

    def put_item(
        self,
        *,
        Item: Any,
        ConditionExpression: str,
        ExpressionAttributeValues: Any = None,
        **_arguments: Any,
    ) -> dict[str, Any]:
        def request() -> dict[str, Any]:
            with self.guard:
                self._check(Item["key"]["S"], ConditionExpression, ExpressionAttributeValues or {})
                self.items[Item["key"]["S"]] = Item
            return {}

        return self._ask(request)

    def delete_item(
        self,
        *,
        Key: Any,
        ConditionExpression: str,
        ExpressionAttributeValues: Any,
        **_arguments: Any,
    ) -> dict[str, Any]:
        def request() -> dict[str, Any]:
            self._check(Key["key"]["S"], ConditionExpression, ExpressionAttributeValues)
            del self.items[Key["key"]["S"]]
            return {}

        return self._ask(request)

    def create_table(self, **_arguments: Any) -> None:
        self.exists = True

    def get_waiter(self, _name: str) -> Any:
        return SimpleNamespace(wait=lambda **_arguments: None)

    def _check(self, key: str, condition: str, values: Any) -> None:
        from botocore.exceptions import ClientError

        item = self.items.get(key)
        for part in condition.split(" AND "):
            if part.startswith("attribute_not_exists"):
                holds = item is None
            elif part.startswith("attribute_exists"):
                holds = item is not None
            else:
                name, _, value = part.partition(" = ")
                holds = item is not None and item.get(name) == values[value]
            if not holds:
                raise ClientError({"Error": {"Code": "ConditionalCheckFailedException"}}, "PutItem")

    def _ask(self, request: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        from botocore.exceptions import ClientError, EndpointConnectionError

        if not self.exists:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetItem")
        try:
            answer: dict[str, Any] = self.faults.apply(request)
        except ConnectionError as error:
            raise EndpointConnectionError(endpoint_url="http://nowhere") from error
        return answer


class FakeZookeeper:
    """The nodes of ZooKeeper, and its sessions."""

    def __init__(self) -> None:
        self.nodes: dict[str, FakeSession] = {}
        self.faults = Faults()
        self.count = 0

    def children(self, path: str) -> list[str]:
        return [name.removeprefix(f"{path}/") for name in self.nodes if name.startswith(f"{path}/")]


class FakeSession:
    """A client of kazoo's."""

    def __init__(self, server: FakeZookeeper) -> None:
        self.server = server
        self.listeners: list[Callable[[str], None]] = []

    def add_listener(self, listener: Callable[[str], None]) -> None:
        self.listeners.append(listener)

    def start(self, *, timeout: float) -> None:
        self.server.faults.apply(lambda: timeout)

    def create(self, path: str, _data: bytes, *, ephemeral: bool, sequence: bool, makepath: bool) -> str:
        assert ephemeral
        assert sequence
        assert makepath

        def request() -> str:
            self.server.count += 1
            name = f"{path}{self.server.count:010}"
            self.server.nodes[name] = self
            return name

        return self.server.faults.apply(request)  # type: ignore[no-any-return]  # what the request gives

    def exists(self, path: str) -> bool:
        return self.server.faults.apply(lambda: bool(self.server.children(path)))  # type: ignore[no-any-return]  # what the request gives

    def get_children(self, path: str) -> list[str]:
        return self.server.faults.apply(lambda: self.server.children(path))  # type: ignore[no-any-return]  # what the request gives

    def delete(self, path: str) -> None:
        self.server.faults.apply(lambda: self.server.nodes.pop(path))

    def stop(self) -> None:
        self.lose()

    def close(self) -> None:
        self.lose()

    def lose(self) -> None:
        """End the session, and with it its nodes."""
        for name in [name for name, owner in self.server.nodes.items() if owner is self]:
            del self.server.nodes[name]
        for listener in self.listeners:
            listener("LOST")


class FakeMetastore:
    """The queue of locks of a Hive Metastore."""

    def __init__(self) -> None:
        self.queue: list[SimpleNamespace] = []
        self.faults = Faults()
        self.count = 0

    def lock(self, request: Any) -> Any:
        return self.faults.apply(lambda: self._add(request))

    def _add(self, request: Any) -> Any:
        self.count += 1
        self.queue.append(SimpleNamespace(lockid=self.count, agentInfo=request.agentInfo))
        return self._state(self.count)

    def check_lock(self, request: Any) -> Any:
        return self.faults.apply(lambda: self._state(request.lockid))

    def heartbeat(self, request: Any) -> None:
        self.faults.apply(lambda: self._state(request.lockid))

    def unlock(self, request: Any) -> None:
        def remove() -> None:
            self._state(request.lockid)
            self.queue = [one for one in self.queue if one.lockid != request.lockid]

        self.faults.apply(remove)

    def show_locks(self, _request: Any) -> Any:
        return self.faults.apply(lambda: SimpleNamespace(locks=list(self.queue)))

    def expire(self) -> None:
        self.queue.pop(0)

    def _state(self, lock_id: int) -> Any:
        ids = [one.lockid for one in self.queue]
        if lock_id not in ids:
            raise NoSuchLockError
        return SimpleNamespace(lockid=lock_id, state=1 if ids[0] == lock_id else 2)


class NoSuchLockError(Exception):
    """The metastore's."""
