"""The state machine on a real store: the slow reader reads a copy of what the store has after each step.

python -m tests.model.on_stores --store hdfs --steps 200
"""

from __future__ import annotations

import uuid
from pathlib import Path

from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from tests.model.machine import STEPS, Everything
from tests.model.run import run
from tests.stores import run_on_stores


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


def main() -> None:
    """Run it by hand."""

    def work(name: str, store: Storage, count: int, seed: int) -> None:
        STEPS.clear()
        try:
            run(steps=count, number=seed, shrinks=False, machine=on_store(store))
        finally:
            print(f"{name}: {STEPS.total()} steps: {dict(STEPS.most_common())}", flush=True)

    run_on_stores("python -m tests.model.on_stores", __doc__ or "", counted="steps", count=200, work=work)


if __name__ == "__main__":
    main()
