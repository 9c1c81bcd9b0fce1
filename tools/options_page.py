"""docs/options.md: hudiformat's own keys, and every key of Hudi's and what becomes of it.

``python -m tools.options_page`` writes it.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from pathlib import Path
from typing import Any

from hudiformat.sink.options import _KEYS as SINK_KEYS
from hudiformat.sink.options import SinkOptions
from hudiformat.sink.options import _parse_duration as duration
from hudiformat.sink.options import _parse_size as size
from hudiformat.table.options.answers import Answer, HudiKey, current_name, hudi_keys, rule_of
from hudiformat.table.options.keys import FACT_KEYS, OPTION_KEYS, PERSISTED_KEYS, TABLE_KEYS, is_honoured
from hudiformat.table.options.values import WriteOptions

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
OWN = {
    "hudiformat.damage": "what reads do about damaged or missing files: `hudi`, as Hudi; `fail`; `skip` it and warn",
    "hudiformat.sizing": "whose rules say which file groups take new rows: `spark` or `flink`",
    "hudiformat.sizing.tasks": "among how many tasks Flink's rules divide new rows",
    "hudiformat.logfile.append": "whether log files of table version 6 are appended to where that is possible",
    "hudiformat.spark.driver.rows": "the most rows that Spark's driver writes by itself",
    "hudiformat.spark.driver.bytes": "the most bytes of rows and their files that Spark's driver writes",
    "hudiformat.decimals.widen": "whether rows whose decimals have more digits widen the column, with a warning",
    "hudiformat.metrics.textfile": "a file for Prometheus' textfile collector, which metrics replace after each commit",
    "hudiformat.sync": "whether the data files of a write are synced to disk before it commits",
}
"""hudiformat's own keys among those of a table, and what each means."""
OTHER_DEFAULTS = {
    "hoodie.parquet.compression.codec": "; without it `zstd`, which Hudi reads too, in a "
    "quarter of the time; many files of few rows are not compressed"
}
"""What is said of keys whose default is not Hudi's."""
_HEAD = """# Options

Options are texts: `hf.open_table(path, options={"hoodie.index.type": "BUCKET"})`, `-o KEY=VALUE` on the command line,
`.option(key, value)` on Spark. An unknown key is an error that names the closest one.

## hudiformat's own keys

| key | default | |
|---|---|---|
OWN
## The file sink

Options of `parse_sink_options` and of `writeStream.format("hudiformat-files")`, as in Flink but for those that begin
with `hudiformat`; [the sink](../spec/sink.md) says what they mean.

| key | default |
|---|---|
SINK
## Hudi's configuration keys

Every key that Apache Hudi 1.2.0 defines, by the class that defines it, and what hudiformat does with it. A test
compares this page with the keys and with what the code does; `python -m tools.options_page` writes it.

- *honoured*: it does what it does in Hudi, or its value is refused by name.
- *kept*: it makes a table what it is, and stays in its properties.
- *agrees*: it repeats what the table's properties, or the arguments of `create_table`, say; another value is an error.
- *refused*: another value than Hudi's default, or than those in brackets, is an error before anything is written.
- *the same*: what comes out is what Hudi makes, whatever the value.
- *no effect*: it cannot change what a query answers; another value than Hudi's default is a warning, once.
"""


def answer(key: HudiKey) -> str:
    """What the page says of a key."""
    name = key.name if is_honoured(key.name) else current_name(key.name)
    if name != key.name:
        return f"as `{name}`"
    if name in FACT_KEYS:
        return "agrees"
    if name in TABLE_KEYS or name in PERSISTED_KEYS:
        return "kept"
    if is_honoured(name):
        return Answer.HONOURED.value + OTHER_DEFAULTS.get(name, "")
    rule = rule_of(name)
    takes = f" ({', '.join(f'`{value}`' for value in rule.takes)})" if rule.takes else ""
    return f"{rule.answer.value}{takes}: {rule.why}"


def page() -> str:
    """The page."""
    groups: dict[str, list[HudiKey]] = defaultdict(list)
    for key in hudi_keys().values():
        groups[key.group].append(key)
    own = "".join(f"| `{key}` | {_own_default(key)} | {OWN[key]} |\n" for key in sorted(OWN))
    sink = "".join(f"| `{key}` | {_value(SinkOptions(), name, by)} |\n" for key, (name, by) in SINK_KEYS.items())
    parts = [_HEAD.replace("OWN\n", f"{own}\n").replace("SINK\n", f"{sink}\n")]
    for group in sorted(groups, key=lambda name: (name == "other", name)):
        parts.append(f"\n### {group}\n\n| key | default | |\n|---|---|---|\n")
        parts += [f"| `{key.name}` | {_default(key)} | {answer(key)} |\n" for key in groups[group]]
    return "".join(parts)


def _own_default(key: str) -> str:
    [(path, keys)] = [(path, keys) for path, keys in OPTION_KEYS.items() if key in keys]
    options: Any = WriteOptions()
    for name in path:
        options = getattr(options, name)
    return _value(options, keys[key][0])


def _value(options: Any, name: str, parser: Any = None) -> str:
    """A default as one would write it; *parser* says in which unit."""
    value = getattr(options, name)
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    if isinstance(value, bool):
        value = str(value).lower()
    if parser is duration and value is not None:
        value = f"{value // 60_000} min" if value else "0 s"
    if parser is size and value is not None:
        value = f"{value >> 20} mb"
    return f"`{value}`" if value not in ("", None) else ""


def _default(key: HudiKey) -> str:
    text = key.default.replace("|", "\\|")
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
