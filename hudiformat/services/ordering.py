"""The order in which a clustering writes rows: by columns, or along a curve through them; in bounded memory.

Source: RowCustomColumnsSortPartitioner, RDDSpatialCurveSortPartitioner, SpaceCurveSortingHelper, Hudi 1.2.0;
spec/services.md.

A curve numbers the cells of a grid of several dimensions: neighbours on the curve are neighbours in the grid.  Source
of the Hilbert curve: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import SchemaError
from hudiformat.storage.spill_folders import convert_spill_errors, spill_folder
from hudiformat.table.options.clustering import Layout
from hudiformat.write.metadata.indexes import column_type

Cells = npt.NDArray[np.uint64]
"""The coordinates of cells in one dimension."""


def z_order(dimensions: Sequence[Cells], bits: int) -> Cells:
    """Return the number of each cell on the z-order curve: the bits of its coordinates in turn, the highest bits first.

    Coordinates have *bits* bits; all dimensions together have at most 64.  For example, the cell (2, 3), in bits (10,
    11), has the number 13, in bits 1 1 0 1: the high bits of both coordinates, then the low ones.
    """
    number = np.zeros(len(dimensions[0]), np.uint64)
    for bit in range(bits - 1, -1, -1):
        for cells in dimensions:
            number = (number << np.uint64(1)) | ((cells >> np.uint64(bit)) & np.uint64(1))
    return number


def hilbert(dimensions: Sequence[Cells], bits: int) -> Cells:
    """Return the number of each cell on the Hilbert curve, on which consecutive cells are always neighbours."""
    axes = [cells.copy() for cells in dimensions]
    for bit in range(bits - 1, 0, -1):
        chosen, below = np.uint64(1 << bit), np.uint64((1 << bit) - 1)
        for at, axis in enumerate(axes):
            is_set = (axis & chosen) != 0
            swapped = np.where(is_set, np.uint64(0), (axes[0] ^ axis) & below)
            axes[0] ^= np.where(is_set, below, swapped)
            if at:
                axes[at] ^= swapped
    for at in range(1, len(axes)):
        axes[at] ^= axes[at - 1]
    turned = np.zeros(len(axes[0]), np.uint64)
    for bit in range(bits - 1, 0, -1):
        is_set = (axes[-1] & np.uint64(1 << bit)) != 0
        turned ^= np.where(is_set, np.uint64((1 << bit) - 1), np.uint64(0))
    return z_order([axis ^ turned for axis in axes], bits)


_MEMORY = 256 * 1024 * 1024
"""The most bytes of rows that are sorted in memory."""
_SAMPLED = 100_000
"""The approximate number of rows in the sample from which the distribution of values is estimated."""
_MOST_PARTS = 128
_ALL = "all"
_CELL_BITS, _CURVE_BITS = 12, 63
_CURVES: Mapping[Layout, Callable[[Sequence[Cells], int], Cells]] = {Layout.Z_ORDER: z_order, Layout.HILBERT: hilbert}


class Keys(Protocol):
    """Makes the columns by which rows are sorted."""

    def __call__(self, columns: pa.Table) -> pa.Table:
        """Return the sort columns of rows that have the *columns* of an order."""


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Rows by the values of *columns*, dotted paths, ascending with nulls first; or along a curve through them.

    If there are more than *memory* bytes of rows, they are put into temporary files, each with a range of the values.
    """

    columns: tuple[str, ...]
    layout: Layout = Layout.LINEAR
    memory: int = _MEMORY

    def sort(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the rows of *batches* in this order; the sort is stable.

        Raises:
            StorageError: there is no room for the temporary files.
        """
        waiting = iter(batches)
        first, size = _take_batches(waiting, self.memory)
        if size <= self.memory:
            if first:
                yield self._in_memory(pa.Table.from_batches(first), None)
            return
        with spill_folder() as folder:
            files = _Files(Path(folder), first[0].schema, self._columns)
            for batch in chain(first, waiting):
                files.add(_ALL, batch)
            del first
            yield from self._of_file(files, _ALL, self._keys_for(files.sample(_ALL)))

    def _in_memory(self, rows: pa.Table, keys: Keys | None) -> pa.Table:
        columns = self._columns(rows)
        return rows.take(_sort_indices((keys or self._keys_for(columns))(columns)))

    def _of_file(self, files: _Files, name: str, keys: Keys) -> Iterator[pa.Table]:
        """Yield the sorted rows of a file, which is deleted; a large file is first divided into further files."""
        if files.bytes_of(name) <= self.memory:
            batches = list(files.batches(name))
            if batches:
                yield self._in_memory(pa.Table.from_batches(batches), keys)
            return
        parts = min(2 * files.bytes_of(name) // self.memory + 2, _MOST_PARTS)
        bounds = _distinct(_quantiles(keys(files.sample(name)), parts))
        for batch in files.batches(name):
            found = keys(self._columns(batch))
            # With the bounds 3 and 7 the parts 0 to 4 have the values < 3, = 3, between, = 7 and > 7.  The odd parts
            # have one value each and need no sorting; the others have fewer values than the file: the recursion ends.
            numbers = _count_bounds(bounds, found, or_equal=True) + _count_bounds(bounds, found, or_equal=False)
            for part in np.unique(numbers):
                files.add(f"{name}-{part}", batch.filter(pa.array(numbers == part)))
        for part in range(2 * len(bounds) + 1):
            if part % 2:
                yield from map(_as_table, files.batches(f"{name}-{part}"))
            else:
                yield from self._of_file(files, f"{name}-{part}", keys)

    def _columns(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        arrays = [_column(rows, path) for path in self.columns]
        return pa.table(arrays, names=[str(at) for at in range(len(arrays))])

    def _keys_for(self, sample: pa.Table) -> Keys:
        """Return the function that makes the sort columns; *sample* is a sample of the rows, or all of them."""
        if self.layout is Layout.LINEAR or len(self.columns) == 1:
            return _keep_columns
        return _Curve.of(sample, self.layout)


def row_order(schema: pa.Schema, columns: Sequence[str], layout: Layout) -> RowOrder | None:
    """Return the order of rows by *columns*; None without columns.

    Raises:
        SchemaError: a column does not exist, or its values have no order.
    """
    for path in columns:
        kind = column_type(schema, path)
        if kind is None or pa.types.is_nested(kind):
            why = "there is none" if kind is None else f"values of type {kind} have no order"
            raise SchemaError(
                f"hoodie.clustering.plan.strategy.sort.columns: cannot sort by the column {path}: {why}; the columns "
                f"are {', '.join(schema.names)}",
                column=path,
            )
    return RowOrder(tuple(columns), layout) if columns else None


@dataclass(frozen=True, slots=True)
class _Curve:
    """Makes one number from the values of several columns: the number of a cell on a curve.

    All cells of a column have about as many rows, so that no column counts for more because its values are larger.
    (Hudi takes the bits of the values themselves, or also the quantiles of a sample.)
    """

    bounds: tuple[pa.Table, ...]
    layout: Layout
    bits: int

    @classmethod
    def of(cls, sample: pa.Table, layout: Layout) -> _Curve:
        bits = min(_CELL_BITS, _CURVE_BITS // sample.num_columns)
        bounds = tuple(_quantiles(sample.select([name]), 1 << bits) for name in sample.column_names)
        return cls(bounds, layout, bits)

    def __call__(self, columns: pa.Table) -> pa.Table:
        found = zip(self.bounds, columns.column_names, strict=True)
        cells = [_count_bounds(bounds, columns.select([name]), or_equal=True) for bounds, name in found]
        return pa.table({"0": _CURVES[self.layout]([one.astype(np.uint64) for one in cells], self.bits)})


class _Sample:
    """A sample of evenly spaced rows, whose size stays about the same however many rows come."""

    def __init__(self) -> None:
        self._parts: list[pa.Table] = []
        self._step = 1
        self._seen = 0

    def add(self, rows: pa.Table) -> None:
        """Add *rows* to what is sampled, after the rows before them."""
        at = np.arange(-self._seen % self._step, rows.num_rows, self._step)
        self._seen += rows.num_rows
        self._parts.append(rows.take(pa.array(at)))
        if sum(map(len, self._parts)) > 2 * _SAMPLED:
            kept = self.table
            self._parts = [kept.take(pa.array(np.arange(0, len(kept), 2)))]
            self._step *= 2

    @property
    def table(self) -> pa.Table:
        """The sampled rows."""
        return pa.concat_tables(self._parts)


class _Files:
    """Rows in files of a temporary folder, with a sample of the sort *columns* of each file."""

    def __init__(self, folder: Path, schema: pa.Schema, columns: Callable[[pa.RecordBatch], pa.Table]) -> None:
        self._folder, self._schema, self._columns = folder, schema, columns
        self._writers: dict[str, pa.ipc.RecordBatchStreamWriter] = {}
        self._bytes: dict[str, int] = {}
        self._samples: dict[str, _Sample] = {}

    @convert_spill_errors()
    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Add *batch* to the file *name*."""
        if name not in self._writers:
            self._writers[name] = pa.ipc.new_stream(str(self._folder / name), self._schema)
            self._samples[name] = _Sample()
        self._writers[name].write_batch(batch)
        self._bytes[name] = self.bytes_of(name) + batch.nbytes
        self._samples[name].add(self._columns(batch))

    def bytes_of(self, name: str) -> int:
        """Return the bytes that the rows of a file take in memory."""
        return self._bytes.get(name, 0)

    def sample(self, name: str) -> pa.Table:
        """Return a sample of the rows of a file."""
        return self._samples[name].table

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, and delete it afterwards."""
        writer = self._writers.pop(name, None)
        if writer is None:
            return
        path = self._folder / name
        with convert_spill_errors():
            writer.close()
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
                yield from reader
            path.unlink()


def _take_batches(batches: Iterator[pa.RecordBatch], memory: int) -> tuple[list[pa.RecordBatch], int]:
    """Return the first of *batches*, until they have more than *memory* bytes, and how many bytes they have."""
    taken: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        taken.append(batch)
        size += batch.nbytes
        if size > memory:
            break
    return taken, size


def _keep_columns(columns: pa.Table) -> pa.Table:
    return columns


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _sort_indices(keys: pa.Table) -> pa.Array:
    """Return the order of rows, nulls first; the sort is stable."""
    for at in range(keys.num_columns - 1, -1, -1):
        if keys.column(at).null_count:  # of booleans, false is first
            keys = keys.add_column(at, f"{keys.column_names[at]} is there", keys.column(at).is_valid())
    return pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])


def _quantiles(sample: pa.Table, parts: int) -> pa.Table:
    """Return the values that divide *sample* into equal *parts*, ascending; a value that fills several is repeated."""
    ordered = sample.take(_sort_indices(sample))
    return ordered.take(pa.array(len(sample) * np.arange(1, parts) // parts))


def _distinct(ordered: pa.Table) -> pa.Table:
    """Return the distinct values, ascending."""
    found = ordered.group_by(ordered.column_names).aggregate([])
    return found.take(_sort_indices(found))


def _count_bounds(bounds: pa.Table, keys: pa.Table, *, or_equal: bool) -> npt.NDArray[np.int64]:
    """Return for each row of *keys* how many of *bounds* are below it, or with *or_equal* not above it.

    For example, the bounds 3 and 7, the keys 7, 1 and 5, with *or_equal*:

        all        3  7 | 7  1  5      bounds, then keys
        order      3  0  4  1  2       their stable order: 1  3  5  7  7
        is_bound   0  1  0  1  0
        cumsum     0  1  1  2  2       bounds so far
        result     2  0  1             of the keys, in their own order
    """
    tables = [bounds, keys] if or_equal else [keys, bounds]
    order = np.asarray(_sort_indices(pa.concat_tables(tables)))  # rows with equal values stay in their order
    first = 0 if or_equal else len(keys)
    is_bound = (order >= first) & (order < first + len(bounds))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_bound)
    return numbers[~_between(len(order), first, len(bounds))]


def _between(count: int, first: int, length: int) -> npt.NDArray[np.bool_]:
    at = np.arange(count)
    return (at >= first) & (at < first + length)


def _column(rows: pa.Table | pa.RecordBatch, path: str) -> pa.Array | pa.ChunkedArray:
    name, *inner = path.split(".")
    column = rows[name]
    return pc.struct_field(column, inner) if inner else column
