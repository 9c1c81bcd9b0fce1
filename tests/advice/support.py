"""Tables that are made wrong on purpose, and taking an advice as its properties and commands say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import hudiformat as hf
from hudiformat.api.reading import context_of
from hudiformat.cli.app import run

SMALL = {
    "hoodie.parquet.bloom.filter.enabled": "false",
    "hoodie.metadata.enable": "false",
    "hudiformat.sync": "false",
}
"""Base files have nothing but rows and a footer of 2 kB."""
LIMITS = {"hoodie.parquet.max.file.size": "120000", "hoodie.parquet.small.file.limit": "100000"}
SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("v", pa.string())])


def rows_of(first: int, count: int, *, seed: int = 0, partitions: int = 1, width: int = 40) -> pa.Table:
    """The rows with these keys, of so many random letters."""
    return rows_with(np.arange(first, first + count), seed=seed, partitions=partitions, width=width)


def rows_with(keys: npt.NDArray[np.int64], *, seed: int = 0, partitions: int = 1, width: int = 40) -> pa.Table:
    """The rows with these keys, of so many random letters."""
    letters = np.random.default_rng([seed, *keys[:1]]).integers(97, 123, len(keys) * width, dtype=np.uint8)
    text = letters.tobytes().decode()
    texts = [text[at * width : (at + 1) * width] for at in range(len(keys))]
    paths = [f"d{key % partitions:03}" for key in keys]
    return pa.table([[f"{key:08}" for key in keys], paths, texts], schema=SCHEMA)


@dataclass
class Faulty:
    """A table with a fault, and a function that writes one more commit like those before."""

    path: Path
    options: Mapping[str, str]
    write: Callable[[hf.Table, int], object]
    written: int = 0

    def table(self, more: Mapping[str, str] | None = None, path: str = "") -> hf.Table:
        return hf.open_table(path or self.path, options={**self.options, **(more or {})})

    def go_on(self, table: hf.Table, commits: int) -> None:
        for _ in range(commits):
            self.write(table, self.written)
            self.written += 1


def make(
    path: Path,
    write: Callable[[hf.Table, int], object],
    *,
    commits: int,
    options: Mapping[str, str] | None = None,
    table_type: str = "COPY_ON_WRITE",
    record_key: tuple[str, ...] = ("k",),
    partition_by: tuple[str, ...] = (),
    schema: pa.Schema = SCHEMA,
) -> Faulty:
    """A table of so many commits."""
    chosen = {**SMALL, **(options or {})}
    hf.create_table(
        path,
        name="t",
        schema=schema,
        record_key=record_key,
        partition_by=partition_by,
        table_type=table_type,
        options=chosen,
    )
    faulty = Faulty(path, chosen, write)
    faulty.go_on(faulty.table(), commits)
    return faulty


def take(faulty: Faulty, advice: hf.Advice) -> hf.Table:
    """Run the command of an advice, and open the table with the properties that it names."""
    for command in filter(None, advice.command.split(" && ")):
        program, *arguments = shlex.split(command)
        assert program == "hudiformat"
        assert run(arguments) == 0, command
    return faulty.table(advice.properties, advice.into)


def measure(table: hf.Table, name: str) -> int:
    """The number that an effect promises, of a table as it is."""
    slices = table.file_slices()
    sizes = [one.base_file.size for one in slices if one.base_file is not None]
    logs = sum(len(one.log_files) for one in slices)
    root = Path(table.path)
    if name == "stored_bytes":
        files = [one for one in root.rglob("*") if one.is_file() and ".hoodie" not in str(one.relative_to(root))]
        return sum(one.stat().st_size for one in files)
    found = {
        "file_groups": len(slices),
        "files_read": len(sizes) + logs,
        "log_files": logs,
        "median_file_bytes": int(np.median(sizes)) if sizes else 0,
        "largest_file_bytes": max(sizes, default=0),
        "largest_group_bytes": max(one.size for one in slices),
        "active_commits": len(table.timeline.completed_writes),
    }
    return found[name]


def bytes_written_since(table: hf.Table, instant: str) -> int:
    """The bytes of all files that commits and services have written since an instant."""
    state = context_of(table).state()
    writes = [one for one in state.timeline.completed_writes if one.time > instant]
    return sum(stat.total_write_bytes for one in writes for stat in state.metadata(one).write_stats)
