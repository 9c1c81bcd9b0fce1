"""The sound files that hostile ones are made of: those of tables that real Hudi and hudiformat wrote, by kind."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path

import hudiformat as hf
from hudiformat.errors import HudiFormatError
from hudiformat.sink import FileSink, Layout, SinkOptions
from hudiformat.sink.options import Codec, Format
from hudiformat.sink.plan import plan_batch
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.timeline import Instant, parse_instant_name
from tests.sink.support import rows as sink_rows
from tests.sink.support import write
from tests.tables import Clock, new_table, rows, unpack

GOLDEN = (
    "v6-mor-archived-h0150",
    "v6-mor-restore-h0150",
    "v6-mor-replaced-h0150",
    "v6-cow-metadata-table-h0150",
    "v6-cow-cdc-h0150",
    "v6-mor-compaction-pending-h120",
    "v8-mor-rollback-call-h102",
    "v9-mor-archived-h120",
    "v9-mor-metadata-table-h120",
    "v9-mor-compaction-pending-h120",
    "v9-mor-clustered-h120",
    "v9-mor-positions-h120",
    "v9-mor-parquetlog-h120",
    "v9-mor-hfilelog-plain-h120",
    "v9-mor-cdc-h120",
    "v9-mor-failed-write-h120",
)
MADE = tuple(f"made-{version}-{kind}" for version in (6, 8, 9) for kind in ("MERGE_ON_READ", "COPY_ON_WRITE"))
SINK = "sink"

_ARCHIVE_LOG = re.compile(r"\.commits_\.archive\..*")


@dataclass(frozen=True)
class Source:
    """A sound file: the folder of its table, its path there, its kind, and the instant if it is one's."""

    root: Path
    path: str
    kind: str
    data: bytes = field(repr=False)
    instant: Instant | None = None


def build(root: Path, *, golden: Sequence[str] = GOLDEN, made: Sequence[str] = MADE) -> None:
    """Make the tables of the corpus in *root*, each in a folder of its name."""
    for name in golden:
        shutil.copytree(unpack(name, root / "golden").table, root / name)
    for name in made:
        _, version, kind = name.split("-")
        _make(root / name, int(version), kind)
    _make_sink(root / SINK)


def _make(path: Path, version: int, kind: str) -> None:
    """A table with updates and deletes, a cleaned and a compacted slice, a savepoint, a rollback and a restore."""
    options = {
        "hoodie.clean.commits.retained": "2",
        "hoodie.keep.min.commits": "3",
        "hoodie.keep.max.commits": "4",
        "hoodie.clean.automatic": "true",
    }
    options = {} if kind == "COPY_ON_WRITE" else {"hoodie.logfile.data.block.format": "avro"}
    table = new_table(path, table_type=kind, version=version, options=options, clock=Clock())
    for number in range(4):
        table.upsert(rows(*((str(key), number, f"p{key % 2}", key) for key in range(6 + number))))
    table.delete(rows(("0", 99, "p0")))
    kept = table.upsert(rows(("1", 9, "p1", 9))).instant
    if kind == "MERGE_ON_READ":
        table.compact()
        kept = table.upsert(rows(("2", 9, "p0", 9))).instant
    table.savepoint(kept, user="u", comment="c")
    table.upsert(rows(("3", 10, "p1", 10)))
    table.restore(kept)
    bad = table.upsert(rows(("4", 11, "p0", 11))).instant
    table.rollback(bad)
    table.delete_savepoint(kept)
    hf.open_table(path, options={"hoodie.clean.commits.retained": "1"}, clock=later()).clean()
    if kind == "MERGE_ON_READ":
        table.upsert(rows(("5", 12, "p1", 12)))
        table.schedule_compaction()


def later() -> Clock:
    """A clock that is ahead of all instants of the corpus."""
    clock = Clock()
    clock.now = datetime(2036, 1, 1)
    return clock


def _make_sink(path: Path) -> None:
    """The output of a file sink, with its journal and a file that is not visible yet."""
    storage = LocalStorage(path)
    options = SinkOptions(auto_compaction=True, format=Format.AVRO, avro_codec=Codec.NULL)
    FileSink(storage, options).commit(write(storage, 0, [sink_rows([1, 2])], options=options))
    messages = write(storage, 1, [sink_rows([3]), sink_rows([4], "2")], [sink_rows([5])], options=options)
    storage.create(Layout().plan(1), plan_batch(messages, options).to_json())


@cache
def sources(root: Path) -> tuple[Source, ...]:
    """All files of the corpus in *root*."""
    return tuple(
        _source(folder, path)
        for folder in sorted(one for one in root.iterdir() if one.is_dir() and one.name != "golden")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".crc")
    )


def _source(table: Path, path: Path) -> Source:
    relative, data = str(path.relative_to(table)), path.read_bytes()
    instant = None
    inner = relative.removeprefix(".hoodie/metadata/")
    folder, _, name = inner.rpartition("/")
    if folder in (".hoodie", ".hoodie/timeline"):
        try:
            instant = parse_instant_name(name, layout=2 if folder.endswith("timeline") else 1)
        except HudiFormatError:
            instant = None
    kind = _kind(folder, name, data, instant)
    return Source(table, relative, kind, data, instant)


def _kind(folder: str, name: str, data: bytes, instant: Instant | None) -> str:  # noqa: PLR0911 - one for each kind
    if instant is not None:
        form = "avro" if data.startswith(b"Obj") else "json" if data else "empty"
        return f"instant {instant.action.value}.{instant.state.name.lower()} {form}"
    exact = {
        "hoodie.properties": "properties",
        ".hoodie_partition_metadata": "partition metadata",
        "_version_": "archive version",
    }
    if name in exact:
        return exact[name]
    if name.startswith("manifest_"):
        return "archive manifest"
    if _ARCHIVE_LOG.fullmatch(name):
        return "archive log"
    if "/.temp/" in f"/{folder}/":
        return "marker"
    if folder.endswith(("history", "archived")):
        return "archive parquet"
    if folder.startswith(".hudiformat-sink"):
        return "sink journal"
    if ".log." in name:
        return "metadata table log" if folder == "files" or "stats" in folder or "index" in folder else "log file"
    suffix = name.rpartition(".")[2]
    return {"parquet": "base file", "hfile": "metadata table hfile", "avro": "sink avro file"}.get(suffix, "other")
