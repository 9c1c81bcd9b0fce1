"""What reads a hostile file: the parser of its kind, or the operations of a whole table with the file in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random

import pyarrow as pa

import hudiformat as hf
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.log.block import LogBlock, decode_positions
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.base_file.read import read_file_keys, scan_base_file
from hudiformat.metadata_table.bloom_filters import decode_bloom_filter
from hudiformat.metadata_table.column_stats import decode_column_stats
from hudiformat.metadata_table.records import decode_file_entries
from hudiformat.sink import FileSink, SinkOptions
from hudiformat.sink.options import Codec, Format
from hudiformat.spark.write.staging import read_staged
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.config_files import load_table_config, parse_table_config
from hudiformat.timeline.contents import decode_content, read_content
from hudiformat.timeline.table_config import TableConfig
from tests.hostile.corpus import SINK, Source, later
from tests.tables import SCHEMA

_MOST_BATCHES = 20
_MOST_BLOCKS = 200


class Attempts:
    """The errors of steps that are tried one after the other."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []

    def __call__(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - which ones come is the question
            self.errors.append(error)


def _with_history(source: Source, data: bytes, scratch: Path) -> None:
    """Make a table of an archived timeline alone, one file of which is *data*."""
    table, file = scratch / "t", source.root / source.path
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(file.parent, table / Path(source.path).parent)
    (table / source.path).write_bytes(data)


@cache
def _config_of(source: Source) -> TableConfig:
    return load_table_config(LocalStorage(source.root / source.path.partition(".hoodie/")[0]))


def parse(source: Source, data: bytes, scratch: Path, attempt: Attempts) -> None:
    """Let the parser of its kind read *data*."""
    kind = source.kind
    if source.instant is not None:
        instant = source.instant
        attempt(lambda: decode_content(data, instant, path="f"))
    elif kind == "properties":
        attempt(lambda: parse_table_config(data, path="f"))
    elif kind in ("log file", "metadata table log"):
        read_log(data, scratch, attempt)
    elif kind == "metadata table hfile":
        attempt(lambda: read_hfile(data, attempt))
    elif kind == "base file":
        (scratch / "f.parquet").write_bytes(data)
        read_base_file(LocalStorage(scratch), "f.parquet", attempt)
    elif kind.startswith("archive "):
        _with_history(source, data, scratch)
        attempt(lambda: read_archived(LocalStorage(scratch / "t"), _config_of(source)))
    elif kind == "positions":
        attempt(lambda: decode_positions(data.decode(), most=10_000))
    elif kind == "stored rows":
        (scratch / "stored").write_bytes(data)
        attempt(lambda: read_staged(LocalStorage(scratch), SCHEMA, ["stored"]))
    else:
        raise LookupError(kind)


def has_parser(source: Source) -> bool:
    """Whether a file of this kind can be read by itself."""
    return source.instant is not None or source.kind in _PARSED


_PARSED = (
    "properties",
    "log file",
    "metadata table log",
    "metadata table hfile",
    "base file",
    "archive log",
    "archive parquet",
    "archive manifest",
    "archive version",
    "positions",
    "stored rows",
)


def read_log(data: bytes, scratch: Path, attempt: Attempts) -> None:
    """Read a log file in all ways."""
    path = scratch / ".f-0_20240101000000000.log.1_0-0-0"
    path.write_bytes(data)

    def forward() -> None:
        with hf.LogReader(path) as reader:
            for block in islice(reader, _MOST_BLOCKS):
                read_block(block, attempt)

    def backward() -> None:
        with hf.LogReader(path) as reader:
            for _ in islice(reversed(reader), _MOST_BLOCKS):
                pass

    (scratch / "out").unlink(missing_ok=True)
    for step in (forward, backward, lambda: hf.verify_log(path), lambda: hf.salvage(path, scratch / "out")):
        attempt(step)


def read_block(block: LogBlock, attempt: Attempts) -> None:
    """Read all of a block; each part may be damaged."""
    attempt(block.to_arrow)
    attempt(lambda: block.to_arrow(SCHEMA))
    attempt(block.deletes)
    attempt(block.positions)
    attempt(lambda: hf.encode_block(block))
    attempt(lambda: (block.instant, block.compacted_instants, block.is_partial, block.target_instant, block.identifier))
    attempt(lambda: (block.num_records, block.schema))


def read_hfile(data: bytes, attempt: Attempts) -> None:
    """Read an HFile in all ways, and its values as records of each partition of the metadata table."""
    reader = HFileReader(memoryview(data))
    for name in reader.meta_block_names:
        attempt(partial(reader.meta_block, name))
    schema = reader.file_info.get("schema", b"").decode(errors="replace")
    first = None
    for key, value in islice(reader, 1000):
        first = key if first is None else first
        for decode in (decode_file_entries, decode_bloom_filter, decode_column_stats):
            attempt(partial(decode, value, schema))
    if first is not None:
        attempt(partial(reader.get, first))
        attempt(lambda: list(reader.prefix_scan(first[:1])))


def read_base_file(storage: LocalStorage, path: str, attempt: Attempts) -> None:
    """Read a base file by the schema of the tables of the corpus."""
    attempt(lambda: read_file_keys(storage, path).might_contain(pa.array(["1"])))
    attempt(lambda: list(islice(scan_base_file(storage, path, SCHEMA), _MOST_BATCHES)))


@dataclass(frozen=True)
class Place:
    """Where the table lies that has the hostile file, and whose folder has a canary."""

    table: Path
    pristine: Path

    def renew(self) -> None:
        """Make the table the sound one again."""
        if self.table.exists():
            shutil.rmtree(self.table)
        shutil.copytree(self.pristine, self.table)


def operate(place: Place, random: Random, attempt: Attempts) -> None:
    """Read the table, and change it in several ways."""
    storage = LocalStorage(place.table)
    if place.pristine.name == SINK:
        options = SinkOptions(auto_compaction=True, format=Format.AVRO, avro_codec=Codec.NULL)
        attempt(lambda: FileSink(storage, options).recover())
        return
    attempt(lambda: read_archived(storage, load_table_config(storage)))
    attempt(lambda: _operate(place, random, attempt))


def _operate(place: Place, random: Random, attempt: Attempts) -> None:
    table = hf.open_table(place.table, options=_OPTIONS, clock=later())
    reads: list[Callable[[], object]] = [
        table.snapshot,
        table.read_optimized,
        table.file_slices,
        lambda: table.incremental("0"),
        lambda: table.cdc("0"),
        table.verify,
        lambda: [read_content(LocalStorage(place.table), table.config, instant) for instant in table.timeline.instants],
    ]
    newest = max((one.time for one in table.timeline.completed_writes), default="0")
    earlier = min((one.time for one in table.timeline.completed_writes), default="0")
    row = sound_rows(place.pristine)
    changes: list[Callable[[], object]] = [
        lambda: table.upsert(row),
        table.clean,
        table.compact,
        table.log_compact,
        lambda: table.rollback(newest),
        lambda: table.restore(earlier),
        lambda: table.savepoint(newest),
        lambda: table.insert_overwrite(row),
        lambda: table.delete(row),
    ]
    for step in [*random.sample(reads, 2), *random.sample(changes, 2), random.choice(reads)]:
        attempt(step)


_OPTIONS = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hudiformat.sync": "false",
}


@cache
def sound_rows(pristine: Path) -> pa.Table:
    """A row of the sound table, to be written again."""
    try:
        return hf.open_table(pristine).snapshot().slice(0, 2)
    except HudiFormatError:
        return pa.table({"k": ["1"], "ts": [1], "p": ["p1"], "v": [1]}, SCHEMA)
