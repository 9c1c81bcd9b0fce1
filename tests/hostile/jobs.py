"""One hostile file: which one it is follows from a number; what it did is measured."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from hudiformat.errors import HudiFormatError
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from tests.hostile.avro import mutant as avro_mutant
from tests.hostile.corpus import MADE, Source, sources
from tests.hostile.mutants import mutant, positions
from tests.hostile.reading import Attempts, Place, has_parser, operate, parse
from tests.hostile.values import CANARY, TEXTS, damage
from tests.tables import SCHEMA

SECONDS = 5.0
TIMES_THE_FILE, MORE_BYTES = 10, 200_000_000
_PLANNED = (Action.ROLLBACK, Action.CLEAN, Action.COMPACTION, Action.RESTORE, Action.LOG_COMPACTION)


@dataclass
class Result:
    """What came of a hostile file; ``foreign`` are errors not of the library, ``violations`` are other findings."""

    number: int
    kind: str
    size: int = 0
    seconds: float = 0.0
    memory: int = 0
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The result as values of JSON."""
        return asdict(self)


class Jobs:
    """Does jobs by number with the corpus in *root*, in the folder *scratch* that belongs to this process.

    Of the files, the share *in_tables* is read by operations of a whole table, the others by the parser of their kind.
    """

    def __init__(self, root: Path, scratch: Path, seed: int, in_tables: float) -> None:
        self._sources = sources(root)
        self._kinds = sorted({source.kind for source in self._sources if source.kind != "other"})
        self._parsed = sorted({source.kind for source in self._sources if has_parser(source)})
        self._parsed += ["positions", "stored rows"]
        self._kinds += 6 * ["pending plan", "marker"]
        self._made = [name for name in MADE if (root / name).is_dir()]
        self._in_a_table = False
        self._root = root
        self._seed = seed
        self._in_tables = in_tables
        self._scratch = scratch / "scratch"
        self._scratch.mkdir(parents=True)
        self._tables = scratch / "tables"
        self._canary = scratch / CANARY
        _make_canary(self._canary)
        _make_canary(self._tables / CANARY)
        self._guard = Guard(scratch, (self._scratch, self._tables / "t"))

    def run(self, number: int) -> Result:
        """Make the hostile file of this number, read it, and measure."""
        random = Random(f"{self._seed}-{number}")
        self._in_a_table = random.random() < self._in_tables
        kind = random.choice(self._kinds if self._in_a_table else self._parsed)
        result = Result(number, kind)
        attempt = Attempts()
        prepared = self._prepare(kind, random, result)
        _forget_peak()
        # The time of the processor: on a busy machine a job waits for others.  One that hangs is ended by the runner.
        before, began = _memory("VmRSS"), time.process_time()
        with warnings.catch_warnings(), self._guard:
            warnings.simplefilter("ignore")
            prepared(attempt)
        result.seconds = time.process_time() - began
        result.memory = max(_memory("VmHWM") - before, 0)
        self._judge(result, attempt.errors)
        return result

    def _prepare(self, kind: str, random: Random, result: Result) -> Any:
        if kind == "pending plan":
            return self._pending_plan(random, result)
        if kind == "marker":
            return self._marker(random, result)
        if kind in ("positions", "stored rows"):
            data = positions(random).encode() if kind == "positions" else damage(_stored(), random)
            source = Source(self._root, "", kind, b"")
        else:
            source = random.choice([one for one in self._sources if one.kind == kind])
            data = mutant(source, random, random.choice(self._sources).data)
        result.size = len(data)
        if not self._in_a_table:
            return lambda attempt: parse(source, data, self._scratch, attempt)
        place = self._place(source.root)
        (place.table / source.path).write_bytes(data)
        return lambda attempt: operate(place, random, attempt)

    def _place(self, table: Path) -> Place:
        place = Place(self._tables / "t", table)
        place.renew()
        return place

    def _pending_plan(self, random: Random, result: Result) -> Any:
        """A table with a plan that another writer seems to have left."""
        place = self._place(self._root / random.choice(self._made))
        action = random.choice(_PLANNED)
        plans = [
            one.data
            for one in self._sources
            if one.instant is not None and one.instant.action is action and one.instant.state is State.REQUESTED
        ]
        data = avro_mutant(random.choice(plans), random, b"") if plans else b""
        config = load_table_config(LocalStorage(place.table))
        time = random.choice(("20300101000000000", "20240229120000005"))
        for state in (State.REQUESTED, State.INFLIGHT)[: random.choice((1, 2))]:
            path = place.table / instant_path(config, Instant(time, action, state))
            path.write_bytes(data if state is State.REQUESTED else b"")
        result.size = len(data)
        return lambda attempt: operate(place, random, attempt)

    def _marker(self, random: Random, result: Result) -> Any:
        """A table with a write that seems to be unfinished, whose markers have hostile names."""
        place = self._place(self._root / random.choice(self._made))
        config = load_table_config(LocalStorage(place.table))
        time = "20300101000000000"
        for state in (State.REQUESTED, State.INFLIGHT):
            (place.table / instant_path(config, Instant(time, Action.DELTA_COMMIT, state))).write_bytes(b"")
        folder = place.table / ".hoodie" / ".temp" / time
        names = [name for name in TEXTS if _is_name(name)] + ["p0", "p1", ".hoodie", "hoodie.properties"]
        for _ in range(3):
            name = random.choice(names)
            marker = folder / random.choice(("", "p0", ".hoodie", "x/y")) / f"{name}.marker.{random.choice(_MARKERS)}"
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.write_bytes(random.choice((b"", random.choice(TEXTS).encode("utf-8", "replace"))))
        (folder / "MARKERS.type").write_bytes(b"TIMELINE_SERVER_BASED")
        (folder / "MARKERS0").write_bytes("\n".join(TEXTS).encode("utf-8", "replace"))
        result.size = 1
        return lambda attempt: operate(place, random, attempt)

    def _judge(self, result: Result, errors: Sequence[BaseException]) -> None:
        for error in errors:
            result.errors.append(type(error).__name__)
            if not isinstance(error, HudiFormatError):
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = [
                    frame for frame in traceback.extract_tb(error.__traceback__) if "hudiformat/" in frame.filename
                ]
                place = where[-1] if where else last
                short = place.filename.rpartition("hudiformat/")[2]
                result.foreign.append(f"{type(error).__name__} in {short}:{place.lineno}: {str(error)[:200]!r}")
        if result.seconds > SECONDS:
            result.violations.append(f"took {result.seconds:.1f} s")
        if result.memory > TIMES_THE_FILE * result.size + MORE_BYTES:
            result.violations.append(f"took {result.memory >> 20} MB for {result.size} bytes")
        result.violations += [f"outside the table: {what}" for what in self._guard.seen]
        self._guard.seen.clear()
        for canary in (self._canary, self._tables / CANARY):
            if _content(canary) != _CANARY_FILES:
                result.violations.append(f"{canary.parent.name}/{CANARY} was changed")
                _make_canary(canary)
        there = {path.name for path in self._tables.iterdir()} - {"t", CANARY}
        if there:
            result.violations.append(f"made beside the table: {sorted(there)}")


_MARKERS = ("CREATE", "APPEND", "MERGE")


def _is_name(text: str) -> bool:
    return (
        bool(text) and len(text) < 200 and not set(text) & set("/\0") and text not in (".", "..") and text.isprintable()
    )


def _stored() -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, SCHEMA) as writer:
        for number in range(3):
            row = pa.Table.from_pylist([{"k": str(number), "ts": 1, "p": "p0", "v": None}], SCHEMA)
            writer.write_table(row)
    return bytes(sink.getvalue().to_pybytes())


_CANARY_FILES = {
    "f-0_0-0-0_20240101000000000.parquet": b"canary",
    ".f-0_20240101000000000.log.1_0-0-0": b"canary",
    "hoodie.properties": b"canary",
}


def _make_canary(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, data in _CANARY_FILES.items():
        (folder / name).write_bytes(data)


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


_EVENTS = {
    "open",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.listdir",
    "os.scandir",
    "os.link",
    "os.symlink",
}


class Guard:
    """Notes which paths Python opens, lists, makes or removes that are beside the *allowed* ones in *folder*.

    Others, such as /etc, are noted too, but for those that Python itself needs.

    For a process of its own: its hook cannot be taken away again, and Python runs it in ``sys.settrace`` too.  Where
    coverage traces threads, one that begins at this moment then ends with an error.
    """

    def __init__(self, folder: Path, allowed: Sequence[Path]) -> None:
        self.seen: list[str] = []
        self._folder = str(folder)
        self._allowed = tuple(str(path) for path in allowed)
        self._is_on = False
        tempfile.gettempdir()  # the first time Python tries to write there, in a file of any name
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_on or event not in _EVENTS:
            return
        for argument in arguments[:2]:
            if isinstance(argument, (str, bytes, os.PathLike)):
                path = os.path.normpath(os.fsdecode(argument))
                is_below = any(path == one or path.startswith(f"{one}/") for one in self._allowed)
                if path.startswith((self._folder, "/etc/passwd", "/tmp/x")) and not is_below:
                    self.seen.append(f"{event} {path}")

    def __enter__(self) -> None:
        self._is_on = True

    def __exit__(self, *_: object) -> None:
        self._is_on = False


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    """A number of bytes from what Linux tells of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
