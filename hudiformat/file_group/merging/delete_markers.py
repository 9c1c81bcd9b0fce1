"""Tell the rows that a column marks as deleted: those whose value has the marker as its text in Java.

That is the text of what Spark stores: the number of days of a date, the microseconds of a timestamp, ``1.0E10`` of a
double.

Source: RecordContext.isCustomDeleteRecord, which compares exactly; AWSDmsAvroPayload, AbstractDebeziumAvroPayload.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.statistics import field_of, kind_of
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.naming.java_floats import format_floats


@dataclass(frozen=True, slots=True)
class DeleteMarker:
    """Rows whose *column* has this *text* are deletes; with *ignores_case* also if letters differ in their case.

    *column* may be a nested field ``a.b``.
    """

    column: str
    text: str
    ignores_case: bool = False

    def is_in(self, schema: pa.Schema) -> bool:
        """Return whether *schema* has the column; else no row is a delete by this marker."""
        return kind_of(schema, self.column) is not None

    def matches(self, rows: pa.Table | pa.RecordBatch) -> pa.Array | pa.ChunkedArray:
        """Return for each of *rows* whether it is a delete; null for a null.

        Raises:
            UnsupportedFeatureError: the column has lists, maps or structs.
        """
        found = field_of(rows, self.column)
        assert found is not None  # noqa: S101 - merge_rule has looked it up
        kind = found.type
        if pat.is_nested(kind):
            raise UnsupportedFeatureError(
                f"column {self.column}: expected a column of single values, as the table counts rows as deletes where "
                f"it is {self.text!r}, found {kind}; read the table with Hudi",
                feature="custom delete markers of nested columns",
            )
        if pat.is_floating(kind):
            return self._matches_floats(found)
        if pat.is_binary(kind) or pat.is_fixed_size_binary(kind):
            return pc.and_(pc.is_valid(found), False)  # the text of an array of bytes is its address
        if pat.is_date32(kind):
            found = found.cast(pa.int32())
        elif pat.is_timestamp(kind):
            found = found.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        texts = found.cast(pa.string())
        if self.ignores_case:
            return pc.equal(pc.ascii_lower(texts), self.text.lower())
        return pc.equal(texts, self.text)

    def _matches_floats(self, found: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Compare by value: a number has one text, but some texts depend on the release of Java."""
        none = pc.and_(pc.is_valid(found), False)
        try:
            number = np.array([float(self.text)], np.float64)
        except ValueError:
            return none
        with np.errstate(over="ignore"):  # too large a number is infinity
            value = pa.array(number if pat.is_float64(found.type) else number.astype(np.float32))
        if format_floats(value, self.column)[0].as_py() != self.text:
            return none
        if np.isnan(number[0]):
            return pc.is_nan(found)
        bits = pa.int64() if pat.is_float64(found.type) else pa.int32()  # 0.0 has another text than -0.0
        whole = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        return pc.equal(whole.view(bits), value.view(bits)[0])
