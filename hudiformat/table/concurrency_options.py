"""The options of writers that share a table, under Hudi's own keys and with Hudi's defaults."""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.option_parsers import Keys, one_of_upper, parse_count, parse_integer, parse_text

SINGLE_WRITER, OPTIMISTIC, NON_BLOCKING = (
    "SINGLE_WRITER",
    "OPTIMISTIC_CONCURRENCY_CONTROL",
    "NON_BLOCKING_CONCURRENCY_CONTROL",
)
EAGER, LAZY, NEVER = "EAGER", "LAZY", "NEVER"
FILE_SYSTEM_PROVIDER = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
IN_PROCESS_PROVIDER = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"

_POLICY = "hoodie.clean.failed.writes.policy"


@dataclass(frozen=True, slots=True)
class ConcurrencyOptions:
    """Whether there are other writers, and how they keep out of each other's way.

    ``mode`` and ``failed_writes`` are words of Hudi's WriteConcurrencyMode and HoodieFailedWritesCleaningPolicy.

    Source: HoodieWriteConfig, HoodieLockConfig, HoodieCleanConfig, Hudi 1.2.0.
    """

    mode: str = SINGLE_WRITER
    failed_writes: str | None = None
    conflict_retries: int = 0
    lock_provider: str = FILE_SYSTEM_PROVIDER
    lock_path: str = ""
    lock_expire_minutes: int = 0
    lock_retries: int = 50
    lock_retry_wait_ms: int = 5000
    heartbeat_interval_ms: int = 60_000
    heartbeat_misses: int = 2

    @property
    def has_other_writers(self) -> bool:
        """Whether other writers may be at work on the table at the same time."""
        return self.mode != SINGLE_WRITER

    @property
    def failed_writes_policy(self) -> str:
        """When failed writes of others are taken away; beside other writers only those without a heartbeat are."""
        return self.failed_writes or (LAZY if self.has_other_writers else EAGER)

    @property
    def lock_patience(self) -> float:
        """How long a writer waits for the lock, in seconds."""
        return self.lock_retries * self.lock_retry_wait_ms / 1000

    @property
    def heartbeat_tolerance(self) -> float:
        """After how many seconds without a heartbeat a writer is taken for dead."""
        return self.heartbeat_interval_ms * self.heartbeat_misses / 1000

    def check(self) -> None:
        """Raise an OptionError for options that contradict each other."""
        if self.has_other_writers and self.failed_writes == EAGER:
            raise OptionError(
                f"{_POLICY}=EAGER takes away what other writers are writing: with {self.mode} it is LAZY",
                option=_POLICY,
            )


def _lock_provider(key: str, value: str) -> str:
    if value not in (FILE_SYSTEM_PROVIDER, IN_PROCESS_PROVIDER):
        raise UnsupportedFeatureError(
            f"{key}={value}: supported are {FILE_SYSTEM_PROVIDER} and {IN_PROCESS_PROVIDER}",
            feature=f"lock provider {value}",
        )
    return value


CONCURRENCY_KEYS: Keys = {
    "hoodie.write.concurrency.mode": ("mode", one_of_upper(SINGLE_WRITER, OPTIMISTIC, NON_BLOCKING)),
    _POLICY: ("failed_writes", one_of_upper(EAGER, LAZY, NEVER)),
    "hoodie.cleaner.policy.failed.writes": ("failed_writes", one_of_upper(EAGER, LAZY, NEVER)),
    "hoodie.write.num.retries.on.conflict.failures": ("conflict_retries", parse_count),
    "hoodie.write.lock.provider": ("lock_provider", _lock_provider),
    "hoodie.write.lock.filesystem.path": ("lock_path", parse_text),
    "hoodie.write.lock.filesystem.expire": ("lock_expire_minutes", parse_count),
    "hoodie.write.lock.client.num_retries": ("lock_retries", parse_count),
    "hoodie.write.lock.client.wait_time_ms_between_retry": ("lock_retry_wait_ms", parse_integer),
    "hoodie.client.heartbeat.interval_in_ms": ("heartbeat_interval_ms", parse_integer),
    "hoodie.client.heartbeat.tolerable.misses": ("heartbeat_misses", parse_integer),
}
