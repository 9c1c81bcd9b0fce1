"""The Avro schemas of what the timeline's files hold, in the text that Hudi puts into them.

``schemas.json`` has the fields of every record, where other records stand by their names alone.  A schema's text
spells each record out where it comes first, and adds ``avro.java.string``, Java's note to itself about the class of
its strings.  Readers take the schema from the file, so the text need not be Hudi's; it is but for the comments, so that
a file of ours differs from Hudi's in nothing but its values.

Source: hudi-common/src/main/avro, as Hudi 1.2.0 writes them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import fastavro

_NAMESPACE = "org.apache.hudi.avro.model"
_JAVA_STRING = {"avro.java.string": "String"}


@cache
def schema_text(name: str) -> str:
    """The schema of the record *name*, such as ``HoodieRollbackPlan``, as JSON."""
    schema = _spelled(name, set())
    head = {"type": "record", "name": name, "namespace": _NAMESPACE}
    return json.dumps({**head, "fields": schema["fields"]}, separators=(",", ":"))


@cache
def parsed_schema(name: str) -> Any:
    """The schema of the record *name*, as fastavro takes it."""
    return fastavro.parse_schema(json.loads(schema_text(name)))


@cache
def _records() -> dict[str, Any]:
    return dict(json.loads(files("hudiformat.timeline").joinpath("schemas.json").read_text("utf-8")))


def _spelled(kind: Any, known: set[str]) -> Any:
    """*kind* as Avro's JSON has it; records that are in *known* by their names."""
    if isinstance(kind, list):
        return [_spelled(branch, known) for branch in kind]
    if isinstance(kind, dict):
        inner = "values" if kind["type"] == "map" else "items"
        java = _JAVA_STRING if kind["type"] == "map" else {}
        default = {"default": kind["default"]} if "default" in kind else {}
        return {"type": kind["type"], inner: _spelled(kind[inner], known), **java, **default}
    if kind == "string":
        return {"type": "string", **_JAVA_STRING}
    if kind not in _records() or kind in known:
        return kind
    known.add(kind)
    fields = [{**field, "type": _spelled(field["type"], known)} for field in _records()[kind]]
    return {"type": "record", "name": kind, "fields": fields}
