"""What real Hudi does with changes of a table's schema, and what hudiformat does: see ``tests/schema_changes.py``.

python -m tests.conformance.schema_oracle            # asks Hudi everything anew, and writes schema_answers.json
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.schema_answers import ANSWERS, NAME, Answer, columns_of, key_of, rows_of, written
from tests.schema_changes import CHANGES, VARIANTS, Change, first_rows

_WRITER = """
import json
from pyspark.sql import DataFrame

def write_as(source, required, path, options, mode):
    frame = spark.read.parquet(source)
    schema = json.loads(frame.schema.json())
    def fit(kind, names):
        for field in kind["fields"]:
            field["nullable"] = ".".join([*names, field["name"]]) not in required
            if isinstance(field["type"], dict) and field["type"]["type"] == "struct":
                fit(field["type"], [*names, field["name"]])
    fit(schema, [])
    made = jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(schema))
    frame = DataFrame(spark._jsparkSession.createDataFrame(frame._jdf.javaRDD(), made), spark)
    frame.coalesce(1).write.format("hudi").mode(mode).options(**options).save(path)
"""


def hudi_options(kind: str, version: int) -> dict[str, str]:
    """The options of every write by Hudi."""
    return {
        "hoodie.table.name": NAME,
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.parquet.small.file.limit": "0",
        **(
            {"hoodie.datasource.write.precombine.field": "ts"}
            if version < 9
            else {"hoodie.table.ordering.fields": "ts"}
        ),
    }


class Asking:
    """Real Hudi, asked about changes; tables are made below *root*."""

    def __init__(self, hudi: RealHudi, root: Path) -> None:
        self._hudi, self._root = hudi, root
        self._bases: dict[tuple[str, int], Path] = {}
        hudi.eval_(_WRITER)

    def base(self, kind: str, version: int) -> Path:
        """The table before the change, written by Hudi."""
        if (kind, version) not in self._bases:
            path = self._root / f"base-{kind}-{version}"
            self._write(first_rows(), path, hudi_options(kind, version), "overwrite")
            self._bases[kind, version] = path
        return self._bases[kind, version]

    def answer(self, change: Change, kind: str, version: int) -> Answer:
        """What Hudi does with a change of its own table."""
        path = self._root / "changed"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.base(kind, version), path)
        try:
            self._write(change.batch(), path, {**hudi_options(kind, version), **change.options}, "append")
        except RealHudiError as error:
            return Answer(refused=_short(str(error)))
        columns = columns_of(hf.open_table(path).schema)
        return self.read(path, change, columns)

    def read(self, path: Path, change: Change, columns: list[str]) -> Answer:
        """The rows that Hudi reads of a table."""
        try:
            return Answer(columns=columns, rows=rows_of(self._hudi.read(path), change))
        except RealHudiError as error:
            return Answer(columns=columns, unreadable=_short(str(error)))

    def _write(self, rows: pa.Table, path: Path, options: dict[str, str], mode: str) -> None:
        source = self._root / "rows.parquet"
        pq.write_table(rows, source, coerce_timestamps="us", store_schema=False)
        required = sorted(_required(rows.schema, ""))
        self._hudi.eval_(f"write_as({str(source)!r}, {required!r}, {str(path)!r}, {options!r}, {mode!r})")


def _required(fields: Any, above: str) -> Iterator[str]:
    for one in fields:
        if not one.nullable:
            yield f"{above}{one.name}"
        if pa.types.is_struct(one.type):
            yield from _required(one.type.fields, f"{above}{one.name}.")


def _short(message: str) -> str:
    """An error of Hudi's without what differs from run to run."""
    last = message.splitlines()[-1].removeprefix("Caused by: ")
    last = re.sub(r"\borg\.apache\.[\w.]*\.(\w+)", r"\1", re.sub(r"/\S+", "…", last))
    return last[:160]


def main() -> None:
    """Ask Hudi; arguments are kinds of tables such as "MOR 9", or none for all, and parts of names after ``--only``."""
    kinds = [one for one in VARIANTS if key_of(*one) in sys.argv] or list(VARIANTS)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    out = Path(sys.argv[sys.argv.index("--out") + 1]) if "--out" in sys.argv else ANSWERS
    answers: dict[str, dict[str, Answer]] = {}
    with RealHudi() as hudi, tempfile.TemporaryDirectory() as root:
        asking = Asking(hudi, Path(root))
        for kind, version in kinds:
            for change in CHANGES:
                if only in change.name:
                    answer = asking.answer(change, kind, version)
                    answers.setdefault(change.name, {})[key_of(kind, version)] = answer
                    sys.stdout.write(f"{key_of(kind, version)} {change.name}\n")
            out.write_text(written(answers))


if __name__ == "__main__":
    main()
