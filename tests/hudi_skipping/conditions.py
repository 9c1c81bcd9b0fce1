"""Random conditions in Spark SQL on the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow.types as pat

from tests.hudi_skipping.values import EDGES, draw, literal

_COMPARISONS = ("=", "<", "<=", ">", ">=", "!=", "<=>", "=", "=")


def conditions(
    columns: Sequence[str], keys: Sequence[str], stored: Mapping[str, Sequence[Any]], chance: Random, count: int
) -> list[str]:
    """Return *count* conditions; literals are often values that *stored* has of the column, and some of the *keys*."""
    return [_condition(columns, keys, stored, chance) for _ in range(count)]


def _condition(columns: Sequence[str], keys: Sequence[str], stored: Mapping[str, Sequence[Any]], chance: Random) -> str:
    some = chance.random()
    if some < 0.15:
        parts = [_simple(columns, keys, stored, chance) for _ in range(2)]
        return f"({parts[0]}) {chance.choice(('and', 'or'))} ({parts[1]})"
    return _simple(columns, keys, stored, chance)


def _simple(columns: Sequence[str], keys: Sequence[str], stored: Mapping[str, Sequence[Any]], chance: Random) -> str:  # noqa: PLR0911 - a form of condition each
    if chance.random() < 0.08:
        chosen = chance.sample(list(keys), min(len(keys), 1 + chance.randrange(3)))
        texts = ", ".join(f"string(X'{key.encode().hex()}')" for key in [*chosen, "nowhere"][: max(len(chosen), 1)])
        return f"k in ({texts})" if len(chosen) > 1 else f"k = {texts}"
    name = chance.choice(list(columns))
    kind = EDGES[name].kind

    def value() -> str:
        known = [one for one in stored[name] if one is not None]
        return literal(kind, chance.choice(known) if known and chance.random() < 0.7 else draw(EDGES[name], chance))

    some = chance.random()
    if some < 0.08:
        return f"{name} is {chance.choice(('', 'not '))}null"
    if some < 0.2:
        return f"{name} {chance.choice(('', 'not '))}in ({value()}, {value()}, {value()})"
    if some < 0.28:
        return f"{name} between {value()} and {value()}"
    if some < 0.36:
        return f"not ({name} {chance.choice(_COMPARISONS)} {value()})"
    if some < 0.42 and pat.is_string(kind):
        return f"startswith({name}, 'b')"
    if some < 0.42 and pat.is_floating(kind):
        return f"{chance.choice(('', 'not '))}isnan({name})"
    return f"{name} {chance.choice(_COMPARISONS)} {value()}"
