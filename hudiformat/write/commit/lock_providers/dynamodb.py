"""The lock of Hudi's DynamoDBBasedLockProvider: an item of a table in DynamoDB, by botocore.

The item names its owner, a lease in milliseconds, and a random version that its owner changes to stay alive.  Another
writer may take the lock once it has seen one version for as long as the lease: no clocks are compared.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

from hudiformat.errors import StorageError, UnsupportedFeatureError
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.locks import DynamoDBLockOptions
from hudiformat.timeline.config_files import load_table_config
from hudiformat.write.commit.lock_providers.lock import Lock

_KEY = "key"
_SURE_SECONDS = 1.0


class DynamoDBLock(Lock):
    """The lock *key* in *table*, with a lease of so many milliseconds.

    Source: AcquireLockOptions and LockItem of AWS's DynamoDBLockClient 1.2, DynamoDBBasedLockProvider, Hudi 1.2.0.
    """

    def __init__(self, table: DynamoDBLockOptions, key: str, *, lease_ms: int, client: Any = None) -> None:
        self._table = table
        self._key = key
        self._lease_ms = lease_ms
        self._client = client
        self._guard = threading.RLock()
        self._version: str | None = None
        self._renewed = 0.0
        self._seen: tuple[str, float] | None = None
        self._problem = ""
        self.token = f"hudiformat-{uuid.uuid4()}"

    @property
    def renew_every(self) -> float:
        """See :attr:`hudiformat.write.commit.lock_providers.lock.Lock.renew_every`."""
        return self._lease_ms / 3000

    def try_acquire(self) -> bool:
        """Take the lock if it is free or its lease has been over for a while; a service that is away is asked again."""
        with self._guard:
            try:
                found = self._get()
                self._problem = ""
                if found is None:
                    return self._put("attribute_not_exists(#key)", {})
                version = found.get("recordVersionNumber", {}).get("S", "")
                if found.get("ownerName", {}).get("S") == self.token:  # the answer to a request was lost
                    return self._take(version)
                if found.get("isReleased", {}).get("S") == "1" or self._is_over(found, version):
                    return self._put("attribute_exists(#key) AND recordVersionNumber = :seen", {":seen": version})
            except StorageError as error:
                self._problem = str(error)
            return False

    def is_own(self) -> bool:
        """Return whether the item names this owner; a lease that is nearly over is renewed first.

        Raises:
            StorageError: the service does not answer.
        """
        with self._guard:
            if self._version is None:
                return False
            found = self._get()
            if found is None or found.get("ownerName", {}).get("S") != self.token:
                return False
            self._version = found["recordVersionNumber"]["S"]
            if time.time() - self._renewed < self._lease_ms / 1000 - 2 * _SURE_SECONDS:
                return True
            return self._renew()

    def renew(self) -> None:
        """Give the item another version, unless another writer has taken it."""
        with self._guard:
            self._renew()

    def release(self, *, is_sure: bool = False) -> None:  # noqa: ARG002 - the deletion is conditional
        """Delete the item, unless another writer has taken it.

        Raises:
            StorageError: the service does not answer.
        """
        with self._guard:
            if self._version is None:
                return
            self._call(
                "delete_item",
                Key={_KEY: {"S": self._key}},
                ConditionExpression="ownerName = :owner",
                ExpressionAttributeValues={":owner": {"S": self.token}},
            )
            self._version = None

    def describe(self) -> str:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.describe`."""
        try:
            found = self._get()
        except StorageError as error:
            return str(error)
        owner = "" if found is None else f" of {found.get('ownerName', {}).get('S')}"
        return f"{self._named}{owner} {self._problem}".rstrip()

    @property
    def _named(self) -> str:
        return f"the lock {self._key} in the table {self._table.name} of DynamoDB ({_region(self._table)})"

    def _is_over(self, found: Mapping[str, Any], version: str) -> bool:
        """Return whether one version has been seen for as long as the lease of the item, which its owner chose."""
        if self._seen is None or self._seen[0] != version:
            self._seen = version, time.monotonic()
            return False
        lease = found.get("leaseDuration", {}).get("S", "")
        return lease.isdigit() and time.monotonic() - self._seen[1] > int(lease) / 1000

    def _renew(self) -> bool:
        if self._version is None:
            return False
        condition = "ownerName = :owner AND recordVersionNumber = :seen"
        return self._put(condition, {":owner": self.token, ":seen": self._version})

    def _put(self, condition: str, values: Mapping[str, str]) -> bool:
        version, began = str(uuid.uuid4()), time.time()
        item = {
            _KEY: self._key,
            "ownerName": self.token,
            "leaseDuration": str(self._lease_ms),
            "recordVersionNumber": version,
        }
        more: dict[str, Any] = {"ExpressionAttributeNames": {"#key": _KEY}} if "#key" in condition else {}
        if values:
            more["ExpressionAttributeValues"] = {name: {"S": value} for name, value in values.items()}
        texts = {name: {"S": value} for name, value in item.items()}
        try:
            done = self._call("put_item", Item=texts, ConditionExpression=condition, **more)
        except StorageError:
            found = self._get()  # the answer to a request that succeeded may have been lost
            if found is None or found.get("recordVersionNumber", {}).get("S") != version:
                raise
            done = found
        return done is not None and self._take(version, began)

    def _take(self, version: str, began: float | None = None) -> bool:
        self._version = version
        self._renewed = began or 0.0
        return True

    def _get(self) -> Mapping[str, Any] | None:
        answer = self._call("get_item", Key={_KEY: {"S": self._key}}, ConsistentRead=True)
        found: Mapping[str, Any] | None = (answer or {}).get("Item")
        return found

    def _call(self, name: str, **arguments: Any) -> Mapping[str, Any] | None:
        """Call DynamoDB; return None if the condition of the call does not hold."""
        if self._client is None:
            self._client = _new_client(self._table)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        try:
            answer: Mapping[str, Any] = getattr(self._client, name)(TableName=self._table.name, **arguments)
        except (BotoCoreError, ClientError) as error:
            code = (getattr(error, "response", None) or {}).get("Error", {}).get("Code")
            if code == "ConditionalCheckFailedException":
                return None
            if code == "ResourceNotFoundException":
                self._create_table()
                return self._call(name, **arguments)
            raise StorageError(f"cannot ask for {self._named}: {error}", path=self._table.name) from error
        return answer

    def _create_table(self) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, WaiterError  # noqa: PLC0415 - an extra

        table = self._table
        capacity = {"ReadCapacityUnits": table.read_capacity, "WriteCapacityUnits": table.write_capacity}
        try:
            self._client.create_table(
                TableName=table.name,
                KeySchema=[{"AttributeName": _KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": _KEY, "AttributeType": "S"}],
                BillingMode=table.billing_mode,
                **({"ProvisionedThroughput": capacity} if table.billing_mode == "PROVISIONED" else {}),
            )
        except (BotoCoreError, ClientError) as error:
            code = (getattr(error, "response", None) or {}).get("Error", {}).get("Code")
            if code != "ResourceInUseException":  # another writer creates it
                raise StorageError(
                    f"cannot create the table {table.name} in DynamoDB: {error}", path=table.name
                ) from error
        try:
            attempts = max(table.creation_timeout_ms // 1000, 1)
            waiter = self._client.get_waiter("table_exists")
            waiter.wait(TableName=table.name, WaiterConfig={"Delay": 1, "MaxAttempts": attempts})
        except (BotoCoreError, ClientError, WaiterError) as error:
            raise StorageError(f"the table {table.name} in DynamoDB does not come: {error}", path=table.name) from error


def dynamodb_lock(storage: Storage, options: DynamoDBLockOptions, *, lease_ms: int) -> DynamoDBLock:
    """Return the lock of the table at the root of *storage*, in the table of *options*."""
    return DynamoDBLock(options, options.key or load_table_config(storage).name, lease_ms=lease_ms)


def _region(options: DynamoDBLockOptions) -> str:
    return options.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _new_client(table: DynamoDBLockOptions) -> Any:
    try:
        import botocore.session  # noqa: PLC0415 - an extra
        from botocore.config import Config  # noqa: PLC0415 - it comes with an extra
    except ImportError as error:
        raise UnsupportedFeatureError(
            "expected botocore, which locks in DynamoDB need, found that it is not installed; run "
            "pip install 'hudiformat[dynamodb]'",
            feature="locks in DynamoDB",
        ) from error
    config = Config(connect_timeout=10, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
    session = botocore.session.get_session()
    return session.create_client(
        "dynamodb",
        **table.aws.arguments(),
        region_name=_region(table),
        endpoint_url=table.endpoint or None,
        config=config,
    )
