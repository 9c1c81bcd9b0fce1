"""The options of locks: which provider all writers of a table share, and what each provider has to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.options.aws import AwsOptions
from hudiformat.table.options.parsers import Keys, one_of, parse_count, parse_integer, parse_text

_LOCK = "hoodie.write.lock."


class LockProvider(Enum):
    """The kinds of locks that writers of a table can share; the values are Hudi's classes.

    ``write/commit/locks.py`` makes the lock of each.
    """

    FILE_SYSTEM = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    IN_PROCESS = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
    STORAGE_BASED = "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"
    ZOOKEEPER = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
    ZOOKEEPER_IMPLICIT = "org.apache.hudi.client.transaction.lock.ZookeeperBasedImplicitBasePathLockProvider"
    DYNAMODB = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"
    HIVE_METASTORE = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"


@dataclass(frozen=True, slots=True)
class FileLockOptions:
    """Where the lock file is, by default in the table, and after how many minutes it expires; 0 means never.

    Source: FileSystemBasedLockProvider, Hudi 1.2.0.
    """

    path: str = ""
    expire_minutes: int = 0


FILE_KEYS: Keys = {
    f"{_LOCK}filesystem.path": ("path", parse_text),
    f"{_LOCK}filesystem.expire": ("expire_minutes", parse_count),
}


@dataclass(frozen=True, slots=True)
class StorageLockOptions:
    """For how long a lock on an object store is valid, and how often its owner renews it, in seconds.

    Source: StorageBasedLockConfig, Hudi 1.2.0.
    """

    validity: int = 300
    renew_every: int = 30

    def check(self) -> None:
        """Raise an OptionError if a lock could expire although its owner renews it."""
        if self.validity < 10 * self.renew_every:
            raise OptionError(
                f"{_VALIDITY}: expected at least ten times {_RENEWAL}, which is {self.renew_every}, "
                f"found {self.validity}; raise it",
                option=_VALIDITY,
            )


_VALIDITY = f"{_LOCK}storage.validity.timeout.secs"
_RENEWAL = f"{_LOCK}storage.renew.interval.secs"
STORAGE_KEYS: Keys = {_VALIDITY: ("validity", parse_integer), _RENEWAL: ("renew_every", parse_integer)}


@dataclass(frozen=True, slots=True)
class ZookeeperLockOptions:
    """Where the lock is in ZooKeeper; ``key`` is by default the table's name.

    Source: HoodieLockConfig, Hudi 1.2.0.
    """

    url: str = ""
    port: str = ""
    base_path: str = ""
    key: str = ""
    session_ms: int = 60_000
    connection_ms: int = 15_000
    retries: int = 15
    retry_wait_ms: int = 1000
    longest_retry_wait_ms: int = 16_000

    @property
    def hosts(self) -> str:
        """The servers with ports; a server without one has ``port``."""
        if not self.port:
            return self.url
        hosts = (one.strip() for one in self.url.split(","))
        return ",".join(one if ":" in one else f"{one}:{self.port}" for one in hosts)


_ZOOKEEPER_URL = f"{_LOCK}zookeeper.url"
_ZOOKEEPER_BASE_PATH = f"{_LOCK}zookeeper.base_path"
ZOOKEEPER_KEYS: Keys = {
    _ZOOKEEPER_URL: ("url", parse_text),
    f"{_LOCK}zookeeper.port": ("port", parse_text),
    _ZOOKEEPER_BASE_PATH: ("base_path", parse_text),
    f"{_LOCK}zookeeper.lock_key": ("key", parse_text),
    f"{_LOCK}zookeeper.session_timeout_ms": ("session_ms", parse_integer),
    f"{_LOCK}zookeeper.connection_timeout_ms": ("connection_ms", parse_integer),
    f"{_LOCK}num_retries": ("retries", parse_count),
    f"{_LOCK}wait_time_ms_between_retry": ("retry_wait_ms", parse_integer),
    f"{_LOCK}max_wait_time_ms_between_retry": ("longest_retry_wait_ms", parse_integer),
}


@dataclass(frozen=True, slots=True)
class DynamoDBLockOptions:
    """The table of DynamoDB with the lock, which is made if it is missing.

    ``key`` is by default the name of the table of Hudi.

    Source: DynamoDbBasedLockConfig, Hudi 1.2.0.
    """

    name: str = "hudi_locks"
    key: str = ""
    region: str = ""
    endpoint: str = ""
    billing_mode: str = "PAY_PER_REQUEST"
    read_capacity: int = 20
    write_capacity: int = 10
    creation_timeout_ms: int = 120_000
    aws: AwsOptions = field(default_factory=AwsOptions)


DYNAMODB_KEYS: Keys = {
    f"{_LOCK}dynamodb.table": ("name", parse_text),
    f"{_LOCK}dynamodb.partition_key": ("key", parse_text),
    f"{_LOCK}dynamodb.region": ("region", parse_text),
    f"{_LOCK}dynamodb.endpoint_url": ("endpoint", parse_text),
    f"{_LOCK}dynamodb.billing_mode": ("billing_mode", one_of("PAY_PER_REQUEST", "PROVISIONED")),
    f"{_LOCK}dynamodb.read_capacity": ("read_capacity", parse_integer),
    f"{_LOCK}dynamodb.write_capacity": ("write_capacity", parse_integer),
    f"{_LOCK}dynamodb.table_creation_timeout": ("creation_timeout_ms", parse_integer),
}


@dataclass(frozen=True, slots=True)
class HiveLockOptions:
    """The table whose lock in a Hive Metastore is taken.

    Source: HoodieLockConfig, Hudi 1.2.0.
    """

    uris: str = ""
    database: str = ""
    table: str = ""


_HIVE_URIS = f"{_LOCK}hivemetastore.uris"
_HIVE_DATABASE = f"{_LOCK}hivemetastore.database"
_HIVE_TABLE = f"{_LOCK}hivemetastore.table"
HIVE_KEYS: Keys = {
    _HIVE_URIS: ("uris", parse_text),
    _HIVE_DATABASE: ("database", parse_text),
    _HIVE_TABLE: ("table", parse_text),
}


@dataclass(frozen=True, slots=True)
class LockOptions:
    """The provider of the lock, how long a writer waits for it, and what each provider has to know.

    Source: HoodieLockConfig, Hudi 1.2.0.
    """

    provider: LockProvider = LockProvider.FILE_SYSTEM
    retries: int = 50
    retry_wait_ms: int = 5000
    wait_ms: int = 60_000
    heartbeat_ms: int = 60_000
    file: FileLockOptions = field(default_factory=FileLockOptions)
    storage: StorageLockOptions = field(default_factory=StorageLockOptions)
    zookeeper: ZookeeperLockOptions = field(default_factory=ZookeeperLockOptions)
    dynamodb: DynamoDBLockOptions = field(default_factory=DynamoDBLockOptions)
    hive: HiveLockOptions = field(default_factory=HiveLockOptions)

    @property
    def longest_wait(self) -> float:
        """The seconds that a writer waits for the lock: between its attempts, and in each if the provider waits there.

        Source: LockManager, RetryHelper, Hudi 1.2.0.
        """
        in_attempts = (self.retries + 1) * self.wait_ms if self.provider in _WAITING else 0
        return (self.retries * self.retry_wait_ms + in_attempts) / 1000

    def check(self) -> None:
        """Raise an OptionError for options that the provider needs and that are missing, or for a renewal too late."""
        needed: Mapping[str, Any] = {
            _ZOOKEEPER_URL: self.zookeeper.url,
            _ZOOKEEPER_BASE_PATH: self.zookeeper.base_path,
            _HIVE_URIS: self.hive.uris,
            _HIVE_DATABASE: self.hive.database,
            _HIVE_TABLE: self.hive.table,
        }
        for key in _NEEDED.get(self.provider, ()):
            if not needed[key]:
                raise OptionError(f"{key}: expected it with {self.provider.value}, found none; set it", option=key)
        self.storage.check()
        self.dynamodb.aws.arguments()  # it checks them


_WAITING = frozenset(LockProvider) - {LockProvider.FILE_SYSTEM, LockProvider.HIVE_METASTORE}
"""The providers whose ``tryLock`` waits; that of a file and that of the metastore answer at once."""
_NEEDED: Mapping[LockProvider, tuple[str, ...]] = {
    LockProvider.ZOOKEEPER: (_ZOOKEEPER_URL, _ZOOKEEPER_BASE_PATH),
    LockProvider.ZOOKEEPER_IMPLICIT: (_ZOOKEEPER_URL,),
    LockProvider.HIVE_METASTORE: (_HIVE_URIS, _HIVE_DATABASE, _HIVE_TABLE),
}


def parse_lock_provider(key: str, value: str) -> LockProvider:
    """Parse the name of one of Hudi's lock providers.

    Raises:
        UnsupportedFeatureError: it is another class.
    """
    try:
        return LockProvider(value)
    except ValueError:
        supported = " or ".join(provider.value for provider in LockProvider)
        raise UnsupportedFeatureError(
            f"{key}: expected {supported}, found {value}; choose one of these", feature=f"lock provider {value}"
        ) from None


LOCK_KEYS: Keys = {
    f"{_LOCK}provider": ("provider", parse_lock_provider),
    f"{_LOCK}client.num_retries": ("retries", parse_count),
    f"{_LOCK}client.wait_time_ms_between_retry": ("retry_wait_ms", parse_integer),
    f"{_LOCK}wait_time_ms": ("wait_ms", parse_integer),
    f"{_LOCK}heartbeat_interval_ms": ("heartbeat_ms", parse_integer),
}
