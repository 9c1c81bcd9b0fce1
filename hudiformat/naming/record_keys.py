"""Record keys, a column at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError
from hudiformat.naming.value_text import value_text

NULL_PLACEHOLDER = "__null__"
EMPTY_PLACEHOLDER = "__empty__"


def record_keys(columns: Sequence[pa.Array], fields: Sequence[str], *, complex_form: bool) -> pa.Array:
    """The record key of each row, a string array without nulls.

    In the simple form the key is the text of the only field; in the complex form it is ``a:1,b:2``, with
    ``__null__`` and ``__empty__`` for values that are missing or empty.  Tables of version 9 with the COMPLEX key
    generator have the complex form even for one field (``k:1``); Hudi up to 1.0.2 wrote the plain value there.

    Raises:
        DataError: a row without any key value, or without the only one; the message counts them.
        SchemaError: a column of a type that has no fixed text.

    Source: KeyGenerator.constructRecordKey, KeyGenUtils.getRecordKey and ComplexAvroKeyGenerator, Hudi 1.2.0.
    """
    texts = [value_text(column, field) for column, field in zip(columns, fields, strict=True)]
    _refuse_missing_keys(texts, fields)
    if not complex_form:
        return texts[0]
    pairs = [
        pc.binary_join_element_wise(pa.scalar(f"{field}:"), _with_placeholders(text), "")
        for field, text in zip(fields, texts, strict=True)
    ]
    return pc.binary_join_element_wise(*pairs, ",") if len(pairs) > 1 else pairs[0]


def _with_placeholders(text: pa.Array) -> pa.Array:
    present = pc.fill_null(text, NULL_PLACEHOLDER)
    return pc.if_else(pc.equal(present, ""), EMPTY_PLACEHOLDER, present)


def _refuse_missing_keys(texts: Sequence[pa.Array], fields: Sequence[str]) -> None:
    missing = pa.scalar(value=True)
    for text in texts:
        missing = pc.and_(missing, pc.equal(pc.fill_null(text, ""), ""))
    count = pc.sum(missing).as_py()
    if count:
        names = ", ".join(fields)
        raise DataError(f"record key {names}: null or empty in {count} of {len(texts[0])} rows", column=names)
