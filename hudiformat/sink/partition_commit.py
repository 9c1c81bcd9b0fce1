"""When a partition is committed, and what is done then.

Triggers are pure: the clock and the watermark are arguments.  A partition that gets files again after its commit is
committed again.  Rules: spec/sink.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from typing import Protocol

from hudiformat.errors import OptionError
from hudiformat.naming import unescape_path_name
from hudiformat.sink.options import ExtractorKind, Policy, SinkOptions, Trigger
from hudiformat.sink.partition_time import PartitionTime, epoch_milliseconds, parse_time_zone
from hudiformat.storage import Storage

Extractor = Callable[[Mapping[str, str]], datetime]
"""The time, of no zone, that the values of a partition stand for."""


def partition_values(partition: str) -> dict[str, str]:
    """The values of a partition's path, by column: ``day=1/hour=2`` gives ``{"day": "1", "hour": "2"}``."""
    pairs = (folder.partition("=") for folder in partition.split("/"))
    return {unescape_path_name(name): unescape_path_name(value) for name, _, value in pairs}


class CommitTrigger(Protocol):
    """Decides which of the partitions that wait are committed now."""

    def check(self, partition: str) -> None:
        """Raise a DataError for a partition about which nothing can ever be decided."""
        ...

    def committable(self, pending: Mapping[str, int], *, now: int, watermark: int | None) -> list[str]:
        """Those of *pending*, in its order; its values say since when each waits.  All in milliseconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessTimeTrigger:
    """A partition is committed once it waits for longer than *delay*; with no delay at once.

    Source: ProcTimeCommitTrigger, ProcTimeCommitPredicate, Flink 1.20.0.
    """

    delay: int = 0

    def check(self, partition: str) -> None:
        """Any partition will do."""

    def committable(self, pending: Mapping[str, int], *, now: int, watermark: int | None) -> list[str]:  # noqa: ARG002
        """See :class:`CommitTrigger`."""
        return [partition for partition, since in pending.items() if self.delay == 0 or now > since + self.delay]


@dataclass(frozen=True, slots=True)
class PartitionTimeTrigger:
    """A partition is committed once the watermark has passed its time and *delay*.

    Source: PartitionTimeCommitTrigger, PartitionTimeCommitPredicate, Flink 1.20.0.
    """

    extractor: Extractor
    delay: int = 0
    zone: tzinfo = timezone.utc

    def check(self, partition: str) -> None:
        """Raise a DataError when the partition's values give no time."""
        self._time(partition)

    def committable(self, pending: Mapping[str, int], *, now: int, watermark: int | None) -> list[str]:  # noqa: ARG002
        """See :class:`CommitTrigger`."""
        if watermark is None:
            return []
        return [partition for partition in pending if watermark > self._time(partition) + self.delay]

    def _time(self, partition: str) -> int:
        return epoch_milliseconds(self.extractor(partition_values(partition)), self.zone)


def commit_trigger(options: SinkOptions, extractor: Extractor | None = None) -> CommitTrigger:
    """The trigger that *options* asks for; *extractor* is the user's own.

    Raises:
        OptionError: a custom extractor is asked for and not there, or the other way round.
    """
    if (extractor is not None) != (options.extractor_kind is ExtractorKind.CUSTOM):
        key = "partition.time-extractor.kind"
        raise OptionError(f"option {key}: 'custom' and the argument extractor= go together", option=key)
    if options.trigger is Trigger.PROCESS_TIME:
        return ProcessTimeTrigger(options.delay)
    by_pattern = PartitionTime(options.timestamp_pattern, options.timestamp_formatter)
    return PartitionTimeTrigger(extractor or by_pattern, options.delay, parse_time_zone(options.watermark_time_zone))


class Metastore(Protocol):
    """What the policy ``metastore`` needs of a metastore."""

    def create_or_alter_partition(self, values: Mapping[str, str], path: str) -> None:
        """Make the partition known, or known again; *path* is its folder, in full."""
        ...


class CommitPolicy(Protocol):
    """What is done to commit a partition.  After a crash it is done again, so twice has to be as good as once."""

    def commit(self, partition: str, storage: Storage) -> None:
        """Commit the partition at the path *partition* of *storage*."""
        ...


@dataclass(frozen=True, slots=True)
class MetastorePolicy:
    """Makes the partition known to a metastore."""

    metastore: Metastore

    def commit(self, partition: str, storage: Storage) -> None:
        """See :class:`CommitPolicy`."""
        self.metastore.create_or_alter_partition(partition_values(partition), f"{storage.root}/{partition}")


@dataclass(frozen=True, slots=True)
class SuccessFilePolicy:
    """Writes an empty file into the partition, anew at each commit."""

    name: str

    def commit(self, partition: str, storage: Storage) -> None:
        """See :class:`CommitPolicy`."""
        path = f"{partition}/{self.name}"
        storage.delete(path)  # not overwritten, for which a storage may need a second file that a crash would leave
        storage.open_new(path).close()


def commit_policies(
    options: SinkOptions, *, metastore: Metastore | None = None, custom: CommitPolicy | None = None
) -> Sequence[CommitPolicy]:
    """The policies that *options* asks for, in the order in which they are carried out.

    Raises:
        OptionError: a metastore or custom policy is asked for and not there, or is there and not asked for.
    """
    given: dict[Policy, CommitPolicy | None] = {
        Policy.METASTORE: MetastorePolicy(metastore) if metastore else None,
        Policy.CUSTOM: custom,
        Policy.SUCCESS_FILE: SuccessFilePolicy(options.success_file_name),
    }
    key = "sink.partition-commit.policy.kind"
    for kind, policy in given.items():
        if (policy is not None) != (kind in options.policies) and kind is not Policy.SUCCESS_FILE:
            raise OptionError(f"option {key}: {kind.value!r} and the argument {kind.value}= go together", option=key)
    return [policy for kind in options.policies if (policy := given[kind]) is not None]
