"""docs/options.md: every key of Hudi's, and what becomes of it; ``python -m tests.options.page`` writes it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from hudiformat.options.answers import Answer, HudiKey, current_name, hudi_keys, rule_of
from hudiformat.options.keys import FACT_KEYS, PERSISTED_KEYS, TABLE_KEYS, is_honoured

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
_HEAD = """# Hudi's configuration keys

Every key that Apache Hudi 1.2.0 defines, by the class that defines it, and what hudiformat does with it. A test
compares this page with the keys and with what the code does; `python -m tests.options.page` writes it.

- *honoured*: it does what it does in Hudi, or its value is refused by name.
- *kept*: it makes a table what it is, and stays in its properties.
- *agrees*: it repeats what the table's properties, or the arguments of `create_table`, say; another value is an error.
- *refused*: another value than Hudi's default, or than those in brackets, is an error before anything is written.
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
        return Answer.HONOURED.value
    rule = rule_of(name)
    takes = f" ({', '.join(f'`{value}`' for value in rule.takes)})" if rule.takes else ""
    return f"{rule.answer.value}{takes}: {rule.why}"


def page() -> str:
    """The page."""
    groups: dict[str, list[HudiKey]] = defaultdict(list)
    for key in hudi_keys().values():
        groups[key.group].append(key)
    parts = [_HEAD]
    for group in sorted(groups, key=lambda name: (name == "other", name)):
        parts.append(f"\n## {group}\n\n| key | default | |\n|---|---|---|\n")
        parts += [f"| `{key.name}` | {_default(key)} | {answer(key)} |\n" for key in groups[group]]
    return "".join(parts)


def _default(key: HudiKey) -> str:
    text = key.default.replace("|", "\\|")
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
