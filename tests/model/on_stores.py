"""The state machine on a real store: the slow reader reads a copy of what the store has after each step.

python -m tests.model.on_stores --store hdfs --steps 200
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import uuid
import warnings
from pathlib import Path

from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from tests.model.machine import STEPS, Everything
from tests.model.run import run
from tests.stores import STORES


def on_store(store: Storage) -> type[Everything]:
    """The machine, with its tables in folders of *store*."""

    class OnStore(Everything):
        def new_place(self) -> Storage:
            return FolderStorage(store, str(uuid.uuid4()))

        def look(self) -> None:
            there = _fetch(self.place, "", self.folder / "t")
            for path in (self.folder / "t").rglob("*"):
                if path.is_file() and path not in there:
                    path.unlink()
            if self.kind.version > 6:
                (self.folder / "t/.hoodie/timeline").mkdir(exist_ok=True)
            super().look()

    return OnStore


def _fetch(storage: Storage, folder: str, copy: Path) -> set[Path]:
    """Copy the files below *folder* that are new, or that may be replaced; return the paths of all copies."""
    copy.mkdir(parents=True, exist_ok=True)
    found: set[Path] = set()
    for entry in storage.list(folder):
        path, here = f"{folder}/{entry.name}".lstrip("/"), copy / entry.name
        if entry.is_dir:
            found |= _fetch(storage, path, here)
            continue
        found.add(here)
        if not here.exists() or here.stat().st_size != entry.size or entry.name.endswith((".properties", ".json")):
            here.write_bytes(storage.read(path))
    return found


def main() -> int:
    """Run it by hand."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.on_stores", description=__doc__)
    parser.add_argument("--store", choices=[*STORES, "all"], default="all")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in STORES if chosen.store == "all" else [chosen.store]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, STORES[name].opened(Path(folder)) as it:
            began = time.monotonic()
            STEPS.clear()
            try:
                run(steps=chosen.steps, number=chosen.seed, shrinks=False, machine=on_store(it))
            finally:
                seconds = time.monotonic() - began
                print(f"{name}: {STEPS.total()} steps in {seconds:.0f} s: {dict(STEPS.most_common())}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
