"""What sizing goes by: Hudi's options under short names, with Hudi's defaults.  Sizes are bytes."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SizingOptions:
    """The limits of files and the numbers that record sizes are estimated with; the keys stand in spec/sizing.md.

    ``small_file_limit`` 0 or less turns small files off.  ``metadata_size`` is what a base file is taken to hold beside
    its records.

    Source: HoodieStorageConfig, HoodieCompactionConfig, HoodieWriteConfig, Hudi 1.2.0.
    """

    max_file_size: int = 120 * _MIB
    small_file_limit: int = 100 * _MIB
    candidates_limit: int = 1
    log_ratio: float = 0.35
    insert_split_size: int = 500_000
    auto_split: bool = True
    record_size_estimate: int = 1024
    estimation_threshold: float = 1.0
    estimation_commits: int = 5
    metadata_size: int = 0

    @property
    def smallest_measured_commit(self) -> int:
        """A commit of no more bytes than this says nothing about the size of records."""
        return int(self.estimation_threshold * self.small_file_limit)
