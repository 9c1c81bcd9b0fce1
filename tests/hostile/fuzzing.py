"""Fuzzing with coverage: mutants that reach new lines of the library are kept, and mutated further.

``python -m tests.hostile.fuzzing --seconds 600`` fuzzes every parser for its share of the time and adds what it found
to ``kept/``: a few small files for each kind, which a test reads again in every run.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import hudiformat
from hudiformat.errors import HudiFormatError
from tests.hostile.corpus import GOLDEN, MADE, Source, build, sources
from tests.hostile.jobs import SECONDS
from tests.hostile.mutants import mutant
from tests.hostile.reading import Attempts, has_parser, parse

KEPT = Path(__file__).with_name("kept")
_PACKAGE = str(Path(hudiformat.__file__).parent)
_LARGEST = 4096
"""Bytes of a file that is kept."""
_MOST_KEPT = 12


class Coverage:
    """Collects the steps from line to line in the library's modules while it is entered."""

    def __init__(self) -> None:
        self.steps: set[tuple[str, int, int]] = set()
        self._last = 0
        self._before = sys.gettrace()

    def __enter__(self) -> None:
        self._before = sys.gettrace()  # that of a run that measures coverage, for instance
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(_PACKAGE) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.steps.add((frame.f_code.co_filename, self._last, frame.f_lineno))
            self._last = frame.f_lineno
        return self._line


@dataclass
class Fuzzer:
    """Fuzzes the parser of one kind of file, beginning with the files in *waiting*."""

    waiting: list[Source]
    scratch: Path
    random: Random
    seen: set[tuple[str, int, int]] = field(default_factory=set)
    found: list[Source] = field(default_factory=list)
    tried: int = 0

    def begin(self) -> None:
        """Read the sound files: what they reach is nothing new."""
        for source in self.waiting:
            self._reaches_more(source)

    def step(self) -> None:
        """Try one mutant; it is kept if it reaches something new.

        Raises:
            AssertionError: it gave an error that is not the library's, or took too long.
        """
        source = self.random.choice(self.waiting)
        data = mutant(source, self.random, self.random.choice(self.waiting).data)
        self.tried += 1
        made = replace(source, data=data)
        if self._reaches_more(made):
            self.waiting.append(made)
            self.found.append(made)

    def _reaches_more(self, source: Source) -> bool:
        coverage, attempt, began = Coverage(), Attempts(), time.process_time()
        with coverage:
            parse(source, source.data, self.scratch, attempt)
        foreign = [error for error in attempt.errors if not isinstance(error, HudiFormatError)]
        if foreign or time.process_time() - began > 4 * SECONDS:  # tracing is slow
            path = Path(tempfile.gettempdir()) / f"hostile-{hashlib.sha256(source.data).hexdigest()[:12]}"
            path.write_bytes(source.data)
            raise AssertionError(f"{source.kind}, kept as {path}: {foreign!r}") from next(iter(foreign), None)
        is_new = not coverage.steps <= self.seen
        self.seen |= coverage.steps
        return is_new


def kept(root: Path) -> Iterator[Source]:
    """The files in ``kept/``, as sources of the corpus in *root*, which has a sound file of each kind."""
    by_name = {_name(source): source for source in sources(root) if has_parser(source)}
    for path in sorted(KEPT.glob("*.zip")):
        source = by_name.get(path.stem, Source(root, "", path.stem, b""))
        if has_parser(source):
            with zipfile.ZipFile(path) as archive:
                yield from (replace(source, data=archive.read(name)) for name in archive.namelist())


def _name(source: Source) -> str:
    return source.kind.replace(" ", "-")


def _keep(found: list[Source]) -> None:
    """Write the smallest of the files that reached something new, with those that are there already."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{_name(found[0])}.zip"
    data = {source.data for source in found if len(source.data) <= _LARGEST}
    if not data:
        return
    if path.exists():
        with zipfile.ZipFile(path) as archive:
            data |= {archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in sorted(data, key=lambda one: (len(one), one))[-_MOST_KEPT:]:
            entry = zipfile.ZipInfo(hashlib.sha256(one).hexdigest()[:16])
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, one)


def main() -> None:
    """Fuzz each kind in turn."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzzing")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzzing-") as folder:
        root, scratch = Path(folder) / "corpus", Path(folder) / "scratch"
        root.mkdir()
        scratch.mkdir()
        build(root, golden=GOLDEN, made=MADE)
        by_kind: dict[str, list[Source]] = defaultdict(list)
        for source in sources(root):
            if has_parser(source):
                by_kind[source.kind].append(source)
        for kind, sound in sorted(by_kind.items()):
            fuzzer = Fuzzer(sound[:20], scratch, Random(f"{given.seed}-{kind}"))
            fuzzer.begin()
            sound_steps, end = len(fuzzer.seen), time.monotonic() + given.seconds / len(by_kind)
            while time.monotonic() < end:
                fuzzer.step()
            if fuzzer.found:
                _keep(fuzzer.found)
            more = len(fuzzer.seen) - sound_steps
            print(f"{kind}: {fuzzer.tried} files, {sound_steps} steps and {more} new ones")


if __name__ == "__main__":
    main()
