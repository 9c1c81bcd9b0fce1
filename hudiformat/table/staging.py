"""Rows that tasks put aside for the commit to write, as Arrow files among the instant's markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from hudiformat.naming import WriteToken
from hudiformat.storage import open_storage
from hudiformat.table.markers import MARKER_ROOT
from hudiformat.table.plan import WritePlan


def stage(plan: WritePlan, token: WriteToken, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
    """Put *batches* aside; where they are, below the table."""
    path = f"{MARKER_ROOT}/{plan.instant}/staged-{token}.arrow"
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    storage = open_storage(plan.root)
    storage.create(path, sink.getvalue().to_pybytes(), sync=False)
    return path


def read_staged(plan: WritePlan, schema: pa.Schema, paths: Sequence[str]) -> pa.Table:
    """The rows that were put aside in *paths*, mapped and not loaded."""
    storage = open_storage(plan.root)
    tables = [pa.ipc.open_file(pa.py_buffer(storage.map(path))).read_all() for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
