"""Commit partitions: triggers decide when a partition is committed, policies commit it.

Triggers are pure: the clock and the watermark are arguments.  A partition that gets more files after its commit is
committed again.  Rules: spec/sink.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from typing import Protocol

from hudiformat.errors import OptionError
from hudiformat.naming.keys import unescape_path_name
from hudiformat.sink.options import ExtractorKind, Policy, SinkOptions, Trigger
from hudiformat.sink.partition_time import PartitionTime, epoch_milliseconds, parse_time_zone
from hudiformat.storage.protocol import Storage

Extractor = Callable[[Mapping[str, str]], datetime]
"""Returns the time of a partition, without a time zone, for its values by column."""


def partition_values(partition: str) -> dict[str, str]:
    """Return the values of a partition path by column: ``day=1/hour=2`` gives ``{"day": "1", "hour": "2"}``."""
    pairs = (folder.partition("=") for folder in partition.split("/"))
    return {unescape_path_name(name): unescape_path_name(value) for name, _, value in pairs}


class CommitTrigger(Protocol):
    """Decides which of the pending partitions are committed now."""

    def check(self, partition: str) -> None:
        """Refuse a partition about which the trigger can never decide.

        Raises:
            DataError: the trigger can never decide about the partition.
        """
        ...

    def committable(self, pending: Mapping[str, int], *, now: int, watermark: int | None) -> list[str]:
        """Return the partitions to commit, in the order of *pending*.

        The values of *pending* are the times since which partitions are pending, in milliseconds since 1970, as *now*
        and *watermark*.
        """
        ...


@dataclass(frozen=True, slots=True)
class ProcessTimeTrigger:
    """Commits a partition when it has been pending for more than *delay* milliseconds; without a delay at once.

    Source: ProcTimeCommitTrigger, ProcTimeCommitPredicate, Flink 1.20.0.
    """

    delay: int = 0

    def check(self, partition: str) -> None:
        """Accept any partition."""

    def committable(self, pending: Mapping[str, int], *, now: int, watermark: int | None) -> list[str]:  # noqa: ARG002 - one protocol for all triggers
        """Return the partitions that have been pending for longer than the delay: see :class:`CommitTrigger`."""
        return [partition for partition, since in pending.items() if self.delay == 0 or now > since + self.delay]


@dataclass(frozen=True, slots=True)
class PartitionTimeTrigger:
    """Commits a partition when the watermark has passed its time plus *delay* milliseconds.

    Source: PartitionTimeCommitTrigger, PartitionTimeCommitPredicate, Flink 1.20.0.
    """

    extractor: Extractor
    delay: int = 0
    zone: tzinfo = timezone.utc

    def check(self, partition: str) -> None:
        """Refuse a partition whose values give no time.

        Raises:
            DataError: the values of the partition give no time.
        """
        self._time(partition)

    def committable(self, pending: Mapping[str, int], *, now: int, watermark: int | None) -> list[str]:  # noqa: ARG002 - one protocol for all triggers
        """Return the partitions whose time, plus the delay, the watermark has passed: see :class:`CommitTrigger`."""
        if watermark is None:
            return []
        return [partition for partition in pending if watermark > self._time(partition) + self.delay]

    def _time(self, partition: str) -> int:
        return epoch_milliseconds(self.extractor(partition_values(partition)), self.zone)


def commit_trigger(options: SinkOptions, extractor: Extractor | None = None) -> CommitTrigger:
    """Return the trigger of *options*; *extractor* is a function of the user.

    Raises:
        OptionError: the options require an extractor and there is none, or the other way round.
    """
    if (extractor is not None) != (options.extractor_kind is ExtractorKind.CUSTOM):
        key = "partition.time-extractor.kind"
        raise OptionError(
            f"option {key}: expected 'custom' and the argument extractor= together, found one of them; pass both",
            option=key,
        )
    if options.trigger is Trigger.PROCESS_TIME:
        return ProcessTimeTrigger(options.delay)
    by_pattern = PartitionTime(options.timestamp_pattern, options.timestamp_formatter)
    return PartitionTimeTrigger(extractor or by_pattern, options.delay, parse_time_zone(options.watermark_time_zone))


def due_partitions(
    options: SinkOptions, trigger: CommitTrigger, pending: Mapping[str, int], *, now: int, watermark: int | None
) -> list[str]:
    """Return the *pending* partitions whose files become visible now, with the policy ``merge``.

    An output without partitions has no time, only a delay.  Times are in milliseconds since 1970.
    """
    named = {name: since for name, since in pending.items() if name}
    due = list(trigger.committable(named, now=now, watermark=watermark))
    if "" in pending:
        whole = {"": pending[""]}
        due += ProcessTimeTrigger(options.delay).committable(whole, now=now, watermark=watermark)
    return [name for name in due if now >= pending[name] + options.merge_wait]


class Metastore(Protocol):
    """The part of a metastore that the policy ``metastore`` uses."""

    def create_or_alter_partition(self, values: Mapping[str, str], path: str) -> None:
        """Create or update the entry of a partition; *path* is the full path of its folder."""
        ...


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """The partition that a policy commits.

    ``partition`` is the path of its folder in ``storage``, ``day=1/hour=2``, and ``path`` the full path with the
    storage's root.  ``values`` are its values by column, in the order of the path: ``{"day": "1", "hour": "2"}``.

    Source: PartitionCommitPolicy.Context, Flink 1.20.0.
    """

    partition: str
    storage: Storage

    @property
    def values(self) -> dict[str, str]:
        """The values of the partition by column."""
        return partition_values(self.partition)

    @property
    def path(self) -> str:
        """The full path of the partition's folder."""
        return f"{self.storage.root}/{self.partition}"

    def files(self) -> list[str]:
        """List the partition's visible files of rows, as paths in ``storage``, sorted."""
        entries = [entry for entry in self.storage.list(self.partition) if not entry.is_dir]
        return [f"{self.partition}/{entry.name}" for entry in entries if entry.name[0] not in "._"]


class CommitPolicy(Protocol):
    """An action that commits a partition.  It is repeated after a crash, so it must be idempotent."""

    def commit(self, context: PolicyContext) -> None:
        """Commit the partition of *context*."""
        ...


@dataclass(frozen=True, slots=True)
class MetastorePolicy:
    """Creates or updates the entry of the partition in a metastore."""

    metastore: Metastore

    def commit(self, context: PolicyContext) -> None:
        """Create or update the entry of the partition: see :class:`CommitPolicy`."""
        self.metastore.create_or_alter_partition(context.values, context.path)


@dataclass(frozen=True, slots=True)
class SuccessFilePolicy:
    """Writes an empty file into the partition, and replaces it at each commit."""

    name: str

    def commit(self, context: PolicyContext) -> None:
        """Write the empty file: see :class:`CommitPolicy`."""
        storage, path = context.storage, f"{context.partition}/{self.name}"
        storage.delete(path)  # to overwrite it, a storage may need a second file, which a crash would leave behind
        storage.open_new(path).close()


def commit_policies(
    options: SinkOptions, *, metastore: Metastore | None = None, custom: CommitPolicy | None = None
) -> Sequence[CommitPolicy]:
    """Return the policies of *options* in their order, without ``merge``, which the coordinator does before the others.

    Raises:
        OptionError: the options require a metastore or custom policy and there is none, or the other way round.
    """
    given: dict[Policy, CommitPolicy | None] = {
        Policy.METASTORE: MetastorePolicy(metastore) if metastore else None,
        Policy.CUSTOM: custom,
        Policy.SUCCESS_FILE: SuccessFilePolicy(options.success_file_name),
    }
    key = "sink.partition-commit.policy.kind"
    for kind, policy in given.items():
        if (policy is not None) != (kind in options.policies) and kind is not Policy.SUCCESS_FILE:
            message = (
                f"option {key}: expected {kind.value!r} and the argument {kind.value}= together, "
                "found one of them; pass both"
            )
            raise OptionError(message, option=key)
    return [policy for kind in options.policies if (policy := given.get(kind)) is not None]
