"""Values that a hostile file may hold in place of sound ones, and bytes that are damaged."""

from __future__ import annotations

from random import Random
from typing import Any

CANARY = "canary"
"""The folder beside each table that nothing may touch."""

TEXTS = (
    "",
    ".",
    "..",
    "../..",
    "../../..",
    f"../{CANARY}",
    f"../../{CANARY}",
    f"../{CANARY}/f-0_0-0-0_20240101000000000.parquet",
    f"../../../{CANARY}/.f-0_20240101000000000.log.1_0-0-0",
    f"p/../../{CANARY}",
    "/",
    "/etc/passwd",
    "/tmp",
    "file:///etc/passwd",
    "a\0b",
    "\0",
    "\ud800",
    "a\udcffb",
    "ü\U0001f600",
    "a//b",
    "a/",
    ".hoodie",
    ".hoodie/hoodie.properties",
    "hoodie.properties",
    "x" * 300,
    "x/" * 3000 + "x",
    "1" * 5000,
    "0",
    "-1",
    "9" * 19,
    "NaN",
    "null",
    "__import__('os')",
    "%00%2e%2e%2f",
    "{" * 3000,
    "\n",
    "20240101000000000",
    "99999999999999999",
)
NUMBERS = (0, 1, -1, 2, 127, 255, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**63 - 1, -(2**63))
_BIGGER = (2**63, 2**64, 2**200, -(2**200), 10**5000)
_OTHERS: tuple[Any, ...] = (None, True, False, 0.5, float("inf"), float("nan"), [], {}, [[]], {"": None}, "x")


def text(random: Random) -> str:
    """A hostile text."""
    return random.choice(TEXTS)


def number(random: Random) -> int:
    """A hostile number of 64 bits."""
    return random.choice(NUMBERS)


def like(value: Any, random: Random) -> Any:
    """A hostile value of the type of *value*."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return number(random)
    if isinstance(value, float):
        return random.choice((0.0, -1.0, float("inf"), float("nan"), 1e308))
    if isinstance(value, bytes):
        return damage(value, random)
    return text(random)


def anything(random: Random) -> Any:
    """A hostile value of any type that JSON has."""
    kind = random.randrange(5)
    if kind == 0:
        return text(random)
    if kind == 1:
        return number(random)
    if kind == 2:
        return random.choice(_BIGGER[:-1])
    if kind == 3:
        return deep(random.choice((50, 120)))
    return random.choice(_OTHERS)


def deep(levels: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def changed(value: Any, random: Random, *, typed: bool) -> Any:
    """A copy of a tree of dicts and lists with one of its values replaced; *typed* keeps the value's type."""
    places = list(_places(value))
    if not places:
        return like(value, random) if typed else anything(random)
    copy = _copied(value)
    container, key = random.choice(list(_places(copy)))
    what = random.randrange(6)
    if isinstance(container, dict) and what == 0:
        container[text(random)] = container.pop(key)  # another key
    elif what == 1 and not typed:
        del container[key]
    elif what == 2 and isinstance(container, list):
        container *= random.choice((2, 50))
    else:
        old = container[key]
        container[key] = like(old, random) if typed and not isinstance(old, (dict, list, type(None))) else old
        if not typed:
            container[key] = anything(random) if random.random() < 0.5 else like(old, random)
        elif old is None:
            container[key] = text(random)
    return copy


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, (list, tuple)) else value


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else list(range(len(one))) if isinstance(one, list) else []
        found += [(one, key) for key in keys]
        waiting += [one[key] for key in keys]
    return found


_INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1)


def damage(data: bytes, random: Random, other: bytes = b"") -> bytes:
    """*data* with one to four damages of bytes; *other* is what may be spliced in."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = _damaged(data, random, other)
    return data


def _damaged(data: bytes, random: Random, other: bytes) -> bytes:  # noqa: PLR0911 - one for each way
    if not data:
        return random.randbytes(random.choice((1, 4, 100)))
    at = random.randrange(len(data))
    what = random.randrange(9)
    if what == 0:
        return data[:at]
    if what == 1:
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
    if what == 2:
        return data[:at] + random.randbytes(1) + data[at + 1 :]
    if what == 3:
        size = random.choice((1, 2, 4, 8))
        value = (random.choice(_INTEGERS) & ((1 << 8 * size) - 1)).to_bytes(size, random.choice(("big", "little")))
        return data[:at] + value + data[at + size :]
    if what == 4:
        return data[:at] + random.randbytes(random.choice((1, 3, 40))) + data[at:]
    if what == 5:
        end = min(at + random.choice((1, 4, 100, 2000)), len(data))
        return data[:at] + data[end:]
    if what == 6:
        end = min(at + random.choice((4, 100, 2000)), len(data))
        return data[:end] + data[at:end] * random.choice((1, 8)) + data[end:]
    if what == 7:
        return data[:at] + b"\xff" * random.choice((1, 9, 40)) + data[at:]
    start = random.randrange(len(other)) if other else 0
    return data[:at] + other[start : start + random.choice((8, 200, 4000))] + data[at:]
