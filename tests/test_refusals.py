"""A refusal says what was expected, what was found, and what to do.

The messages are read from the source, wherever an UnsupportedFeatureError or an OptionError is made; some of them are
also asked for, to see what stands in their places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from tests.tables import SCHEMA, create, new_table, rows
from tools.refusals_page import ANY, PAGE, REASONS, page

ROOT = Path(hf.__file__).parent
REFUSALS = ("UnsupportedFeatureError", "OptionError")
UNKNOWN = re.compile(r"unknown option \{\}.*\{\}$|unknown option \{\}; did you mean")
"""The end of such a message, from ``did_you_mean``, names what is known, and asks whether it was meant."""
TO_DO = re.compile(
    r"(?:[;:,]|, or|, and) (?:then |first |all |with [^;]*?, )*"
    r"(?:add|build|call|choose|compact|copy|create|decode|delete|drop|give|hand|install|leave|let|list|make|name|open|pass|"
    r"put|read|run|set|stay|upgrade|update|upsert|use|write) |[;:] \{\}$|; if yours does, pass"
)
ENOUGH = re.compile(r"expected .*found \{\}")
"""An option whose message ends so needs no advice: to do is what was expected."""


def text_of(node: ast.expr, of: dict[str, ast.expr]) -> str:
    """The message that an expression makes, with ``{}`` for what is known only when it is made."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(one, of) for one in node.values)
    if isinstance(node, ast.Name) and node.id in of:
        return text_of(of[node.id], {})
    return "{}"


def refusals() -> Iterator[tuple[str, str, str]]:
    """Of every refusal in the package the place, the error and the message."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text("utf-8")
        if not any(name in text for name in REFUSALS):
            continue
        tree = ast.parse(text)
        functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        for function in functions:
            inner = {id(one) for part in ast.walk(function) for one in inner_functions(part, function)}
            named = {one.targets[0].id: one.value for one in ast.walk(function) if is_simple(one)}  # type: ignore[attr-defined]  # names alone
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and id(call) not in inner and name_of(call) in REFUSALS:
                    place = f"{path.relative_to(ROOT)}:{call.lineno}"
                    yield place, name_of(call), text_of(call.args[0], named)


def inner_functions(part: ast.AST, function: ast.FunctionDef) -> Iterator[ast.AST]:
    return ast.walk(part) if isinstance(part, ast.FunctionDef) and part is not function else iter(())


def is_simple(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


PARTS = "{}: {}"
"""A message whose second half is given by the callers of a function."""


@pytest.mark.unmeasured
def test_every_refusal_says_what_was_expected_what_was_found_and_what_to_do() -> None:
    found = list(refusals())
    made = re.compile(rf"(?:raise|return) (?:{'|'.join(REFUSALS)})\(")
    assert len(found) == sum(len(made.findall(path.read_text("utf-8"))) for path in ROOT.rglob("*.py"))
    messages = [one for one in found if one[2] != PARTS and not UNKNOWN.search(one[2])]
    assert len(messages) > 100
    assert [one for one in messages if not re.search(r"expected .*\bfound\b", one[2], re.DOTALL)] == []
    assert [one for one in messages if not says_what_to_do(*one[1:])] == []


def says_what_to_do(error: str, message: str) -> bool:
    return bool(TO_DO.search(message) or (error == "OptionError" and ENOUGH.search(message)))


def features() -> Iterator[str]:
    """The features of all UnsupportedFeatureErrors, with ``ANY`` for what is known only when one is made.

    Where a function chooses one of several, the keys of its dicts are the features.
    """
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text("utf-8")
        if "UnsupportedFeatureError(" not in text:
            continue
        tree = ast.parse(text)
        for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)):
            nodes = list(ast.walk(function))
            named = {one.targets[0].id: one.value for one in (*tree.body, *nodes) if is_simple(one)}  # type: ignore[attr-defined]  # names alone
            for call in nodes:
                if isinstance(call, ast.Call) and name_of(call) == "UnsupportedFeatureError":
                    yield from (text_of(one.value, named) for one in call.keywords if one.arg == "feature")
                if isinstance(call, ast.DictComp) and path.name in CHOOSING:
                    yield text_of(call.key, named)
                if isinstance(call, ast.Dict) and path.name in CHOOSING:
                    yield from (text_of(key, named) for key in call.keys if key is not None)


CHOOSING = ("support.py", "registered.py", "partial_updates.py")


def test_each_refusal_is_on_the_page_with_its_reason() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.refusals_page"
    found = {
        re.sub(r"(\{\})+", ANY, one) for one in features() if re.search(r"[a-zA-Z]", one) and not IN_OPTIONS.match(one)
    }
    named = [feature for reasons in REASONS.values() for feature in reasons]
    assert sorted(found - set(named)) == []
    assert sorted(set(named) - found) == []
    assert len(named) == len(set(named))


IN_OPTIONS = re.compile(r"hoodie\.(?!table\.format)|index$|record_index$|bloom_filters$|path$")
"""What docs/options.md has, and names in dicts that are no features."""

SHARED = "hoodie.write.concurrency.mode"
Refused = Callable[[Path], Any]


def table(path: Path, **options: str) -> hf.Table:
    """A table with two writes, opened with *options*, whose dots are given as double underscores."""
    made = new_table(path / "t", table_type="COPY_ON_WRITE")
    made.insert(rows(("a", 1, "x", 1)))
    return hf.open_table(made.path, options={key.replace("__", "."): value for key, value in options.items()})


def merged(path: Path, **options: Any) -> hf.Table:
    made = new_table(path / "t", **options)
    made.insert(rows(("a", 1, "x", 1)))
    return made


CALLS: dict[str, tuple[Refused, str]] = {
    "a moment that is a word": (
        lambda path: table(path).snapshot("yesterday"),
        (
            r"expected an instant \(of digits, an Instant or a Commit\), a date or a datetime \(also as text, such as "
            r"2024-02-29 or .*\), or seconds or milliseconds since 1970 .*, found 'yesterday'"
        ),
    ),
    "a moment that is a number": (
        lambda path: table(path).snapshot(7),  # type: ignore[arg-type]  # wrong on purpose
        "expected an instant .*, found int 7",
    ),
    "a version as text": (
        lambda path: table(path).change_version("8"),  # type: ignore[arg-type]  # wrong on purpose
        "to: expected one of 6, 8, 9, an int, found str '8'; write 8 without quotes",
    ),
    "a version that there is not": (lambda path: table(path).change_version(7), "to: expected one of .*, found int 7"),
    "non-blocking writers without buckets": (
        lambda path: table(path, hoodie__write__concurrency__mode="NON_BLOCKING_CONCURRENCY_CONTROL").insert(rows()),
        (
            "expected a table and options with which hudiformat can write, found non-blocking writers of a table "
            f"without log files or without a bucket index; set {SHARED}=OPTIMISTIC_CONCURRENCY_CONTROL, or make a "
            "MERGE_ON_READ table with hoodie.index.type=BUCKET"
        ),
    ),
    "change data that is not kept": (
        lambda path: table(path).cdc("0"),
        (
            "expected a table that keeps change data, found one without hoodie.table.cdc.enabled=true; create the "
            "table with this option, or read the rows as they are now by incremental"
        ),
    ),
    "a compaction without log files": (
        lambda path: table(path).compact(),
        "expected a merge-on-read table, found a copy-on-write table, .*; leave the compaction out",
    ),
    "a log compaction without log files": (
        lambda path: table(path).log_compact(),
        "expected a merge-on-read table .*, found a COPY_ON_WRITE table; leave",
    ),
    "a clustering of buckets": (
        lambda path: merged(path, options={"hoodie.index.type": "BUCKET"}).cluster(),
        r"cannot cluster: expected no simple bucket index, found one, .*; use compact\(\)",
    ),
    "a plan of buckets": (
        lambda path: merged(path, options={"hoodie.index.type": "BUCKET"}).plan_inserts({"x": 1}),
        "expected an index without buckets, found a bucket index, .*; leave the plan out",
    ),
    "neither keys nor a condition": (
        lambda path: table(path).delete(),
        'delete: expected keys, or where= with a condition, found neither; give where="true" for all rows',
    ),
    "both keys and a condition": (
        lambda path: table(path).delete(rows(), where="true"),
        "delete: expected either keys or where=, found both; leave one out",
    ),
    "a number of rows": (lambda path: table(path).head(-1), "n: expected 0 or more rows, found -1"),
    "an index that there is not": (
        lambda path: table(path).create_index("stats"),
        "index: expected one of files, .*, found 'stats'",
    ),
    "columns of an index without": (
        lambda path: table(path).create_index("files", columns="v"),
        "columns: expected columns for column_stats alone, found some for files; leave them out",
    ),
    "an index without the metadata table": (
        lambda path: table(path, hoodie__metadata__enable="false").create_index("files"),
        "hoodie.metadata.enable: expected true, .*, found false; leave the option out",
    ),
    "an index that others need": (
        lambda path: hf.open_table(create(path / "u", partition_by=[]).path).create_index("partition_stats"),
        "expected a table with partitions, .* for partition_stats, found a table without partitions; build",
    ),
    "a service that there is not": (
        lambda path: table(path).maintain(only="cleaning"),
        r"only: expected names of services \(rollback, .*\), found 'cleaning'",
    ),
    "renaming without the option": (
        lambda path: table(path).evolve(rename={"v": "w"}),
        (
            "expected a table that keeps an internal schema, .*, found one that does not; open the table with "
            "hoodie.schema.on.read.enable=true"
        ),
    ),
    "a clause that is none": (
        lambda path: table(path).merge(rows(), when_matched=["delete"]),  # type: ignore[list-item]  # wrong on purpose
        "merge: expected clauses Update, Delete and Insert, found str 'delete'",
    ),
    "an unknown option": (
        lambda path: table(path, hoodie__index__tipe="BLOOM"),
        "unknown option 'hoodie.index.tipe'; did you mean 'hoodie.index.type'",
    ),
    "an option of Hudi's that is refused": (
        lambda path: table(path, hoodie__compact__schedule__inline="true"),
        (
            r"hoodie.compact.schedule.inline: expected no such option or 'false', found 'true', which is refused: call "
            r"table.schedule_compaction\(\); leave it out"
        ),
    ),
    "an index that is not supported": (
        lambda path: table(path, hoodie__index__type="HBASE"),
        "hoodie.index.type: expected one of .*, found HBASE; choose another value",
    ),
    "a lock that is not supported": (
        lambda path: table(path, hoodie__write__lock__provider="my.Lock"),
        "hoodie.write.lock.provider: expected .* or .*, found my.Lock; choose one of these",
    ),
    "an option that is no number": (
        lambda path: table(path, hoodie__parquet__max__file__size="big"),
        "hoodie.parquet.max.file.size: expected .*, found 'big'",
    ),
    "an option that is no flag": (
        lambda path: table(path, hoodie__metadata__enable="yes"),
        "hoodie.metadata.enable: expected true or false, found 'yes'",
    ),
    "a policy that contradicts the mode": (
        lambda path: table(
            path,
            hoodie__write__concurrency__mode="OPTIMISTIC_CONCURRENCY_CONTROL",
            hoodie__clean__failed__writes__policy="EAGER",
        ),
        "hoodie.clean.failed.writes.policy: expected LAZY with .*, found EAGER, .*; set it to LAZY, or leave it out",
    ),
    "an option that contradicts the table": (
        lambda path: table(path, hoodie__table__ordering__fields="v"),
        "hoodie.table.ordering.fields: expected 'ts', as in the table's properties, found 'v'; leave the option out",
    ),
    "a merge mode that contradicts the table": (
        lambda path: table(path, hoodie__record__merge__mode="COMMIT_TIME_ORDERING"),
        "hoodie.record.merge.mode: expected EVENT_TIME_ORDERING, .*, found 'COMMIT_TIME_ORDERING'; leave the",
    ),
    "a merge mode of Java": (
        lambda path: table(path, hoodie__record__merge__mode="CUSTOM"),
        "hoodie.record.merge.mode: expected one of .*, found CUSTOM; hand open_table a merger",
    ),
    "a table type that there is not": (
        lambda path: hf.create_table(path / "n", name="n", schema=SCHEMA, record_key="k", table_type="MOR"),
        "table_type: expected one of COPY_ON_WRITE, MERGE_ON_READ, found 'MOR'",
    ),
    "a version to create": (
        lambda path: hf.create_table(path / "n", name="n", schema=SCHEMA, record_key="k", version=5),
        "version: expected one of 6, 8, 9, found 5; choose one of these",
    ),
    "a name with a blank": (
        lambda path: hf.create_table(path / "n", name="a b", schema=SCHEMA, record_key="k"),
        "name: expected letters, digits and _, with no digit first, found 'a b'",
    ),
    "a column twice": (
        lambda path: hf.create_table(path / "n", name="n", schema=SCHEMA, record_key=["k", "k"]),
        "expected each column once, found k, k; leave out what is named again",
    ),
    "ordering columns of an old table": (
        lambda path: create(path / "n", ordering=["ts", "v"], version=6),
        "ordering: expected one column in table version 6, found ts, v; name one, or create a table of version 9",
    ),
    "a merge mode without ordering": (
        lambda path: create(path / "n", ordering=[], options={"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}),
        "hoodie.record.merge.mode: expected ordering columns beside EVENT_TIME_ORDERING, found none; name them",
    ),
    "buckets without a key": (
        lambda path: create(path / "n", record_key=[], options={"hoodie.index.type": "BUCKET"}),
        "hoodie.index.type=BUCKET: expected a record key, .*, found none; name its columns with record_key=, or choose",
    ),
    "options of a storage without a URI": (
        lambda path: hf.open_table(path, storage_options={"region": "eu"}),
        "storage_options: expected them beside a URI, found .*; leave them out",
    ),
    "a format of blocks": (
        lambda _path: hf.data_block(rows(("a", 1)), schema="{}", instant="1", format="orc"),
        "format: expected one of avro, .*, found 'orc'; pass one of these",
    ),
    "a block that is read as another": (
        lambda _path: hf.delete_block(["k"], instant="1").to_arrow(),
        r"to_arrow\(\): expected a block of type .*, found DELETE; call deletes\(\)",
    ),
    "a size of log files": (
        lambda path: hf.LogWriter(path, ".f_1.log.1_0-0-0", max_size=0),
        "max_size: expected a positive number of bytes, found 0",
    ),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_a_refusal_reads_as_a_plain_sentence(call: Refused, message: str, tmp_path: Path) -> None:
    with pytest.raises(hf.HudiFormatError) as caught:
        call(tmp_path)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    assert isinstance(caught.value, hf.UnsupportedFeatureError | hf.OptionError | hf.NameFormatError)
