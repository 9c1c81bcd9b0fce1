"""Small tables that real Hudi made, each for one property that others' tables have, with what the same Hudi answered.

A zip holds ``table/`` and ``answers/``: a Parquet file of the rows for each query, or a text with Hudi's error.  The
modules ``make_*`` beside it make the zips again: ``python -m tests.foreign.make_dates`` and so on.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conformance.hudi import RealHudi, RealHudiError

FOLDER = Path(__file__).parent
OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.upsert.shuffle.parallelism": "1",
}
"""What Hudi's writer is told for all of them: small files, and one task."""
UNPARTITIONED = {
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
_LEFT_OUT = (".temp", ".aux", ".heartbeat")


@dataclass(frozen=True)
class ForeignTable:
    """An unpacked zip."""

    root: Path

    @property
    def path(self) -> Path:
        return self.root / "table"

    @property
    def answers(self) -> dict[str, pa.Table | str]:
        """Hudi's rows by query, without meta fields; a text where Hudi raised an error."""
        files = sorted((self.root / "answers").iterdir())
        return {one.stem: pq.read_table(one) if one.suffix == ".parquet" else one.read_text() for one in files}

    def rows(self, query: str) -> pa.Table:
        answer = self.answers[query]
        assert isinstance(answer, pa.Table)
        return answer


def names(prefix: str) -> list[str]:
    return sorted(one.stem for one in FOLDER.glob(f"{prefix}*.zip"))


def unpack(name: str, root: Path) -> ForeignTable:
    """The table *name*, unpacked in a folder of its own below *root*."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        archive.extractall(root / name)
    return ForeignTable(root / name)


def pack(hudi: RealHudi, path: Path, name: str, queries: Mapping[str, Mapping[str, Any]]) -> None:
    """Ask Hudi each of *queries*, by their options, and zip the table at *path* with the answers."""
    with tempfile.TemporaryDirectory() as folder:
        for query, options in queries.items():
            target = Path(folder, query)
            try:
                rows = hudi.read(path, dict(options))
            except (RealHudiError, OSError) as error:  # Spark wrote a file that Arrow cannot read
                target.with_suffix(".txt").write_text(str(error))
            else:
                own = [name for name in rows.column_names if not name.startswith("_hoodie")]
                pq.write_table(rows.select(own), target.with_suffix(".parquet"))
        with zipfile.ZipFile(FOLDER / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path.rglob("*")):
                inside = file.relative_to(path)
                if file.is_file() and file.suffix != ".crc" and not set(_LEFT_OUT) & set(inside.parts):
                    archive.writestr(zipfile.ZipInfo(f"table/{inside}"), file.read_bytes(), zipfile.ZIP_DEFLATED)
            for file in sorted(Path(folder).iterdir()):
                archive.writestr(zipfile.ZipInfo(f"answers/{file.name}"), file.read_bytes(), zipfile.ZIP_DEFLATED)
    shutil.rmtree(path)
