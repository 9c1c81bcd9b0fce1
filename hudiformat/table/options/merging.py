"""How the records of a table are merged, by its options: what a new table stores, and what its writers may repeat.

Source: HoodieTableConfig.inferMergingConfigsForV9TableCreation, Hudi 1.2.0, and the tables that it creates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.file_group.merging.rule import PAYLOADS, SEQUENCE, Behaviour
from hudiformat.timeline.config_files import VERSION_WITH_PARTIAL_UPDATE_MODE
from hudiformat.timeline.table_config import MERGE_PROPERTY_PREFIX, MergeMode, PartialUpdateMode, TableConfig

DELETE_FIELD, DELETE_MARKER = "hoodie.payload.delete.field", "hoodie.payload.delete.marker"
UNAVAILABLE = "hoodie.write.partial.update.unavailable.value"
PARTIAL_MODE = "hoodie.table.partial.update.mode"
_PROPERTY_KEYS = tuple(
    key for name in (DELETE_FIELD, DELETE_MARKER, UNAVAILABLE) for key in (name, f"{MERGE_PROPERTY_PREFIX}{name}")
)

_MODEL = "org.apache.hudi.common.model."
_PAYLOADS = {
    "OverwriteWithLatestAvroPayload": MergeMode.COMMIT_TIME_ORDERING,
    "DefaultHoodieRecordPayload": MergeMode.EVENT_TIME_ORDERING,
    "EventTimeAvroPayload": MergeMode.EVENT_TIME_ORDERING,
    **{name.rpartition(".")[2]: behaviour.mode for name, behaviour in PAYLOADS.items()},
}
_FULL_NAMES = {
    name: next((full for full in PAYLOADS if full.endswith(f".{name}")), f"{_MODEL}{name}") for name in _PAYLOADS
}
_STRATEGIES = {
    "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5": MergeMode.EVENT_TIME_ORDERING,
    "ce9acb64-bde0-424c-9b91-f6ebba25356d": MergeMode.COMMIT_TIME_ORDERING,
}
_MODES = {mode.value: mode for mode in MergeMode}
_PAYLOAD_KEYS = (
    "hoodie.datasource.write.payload.class",
    "hoodie.write.payload.class",
    "hoodie.compaction.payload.class",
)
_MERGING: Mapping[str, Mapping[str, MergeMode]] = {
    "hoodie.record.merge.mode": _MODES,
    "hoodie.write.record.merge.mode": _MODES,
    **dict.fromkeys(("hoodie.record.merge.strategy.id", "hoodie.write.record.merge.strategy.id"), _STRATEGIES),
    **dict.fromkeys(_PAYLOAD_KEYS, _PAYLOADS),
}
"""For each key that says how records are merged, what its values mean; of a class, the name without its package."""

MERGING_KEYS = (*_MERGING, PARTIAL_MODE, *_PROPERTY_KEYS)
"""The keys that are set when a table is created, and that say how its records are merged."""


@dataclass(frozen=True, slots=True)
class Merging:
    """How a new table merges records; ``properties`` are those of its merge that depend on more than its mode.

    ``payload_class`` is the full name of the class that the options name.
    """

    mode: MergeMode
    ordering_fields: tuple[str, ...]
    payload_class: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def merging_of(options: Mapping[str, str], ordering: Sequence[str], *, version: int) -> Merging:
    """Return how a new table of *version* merges records, by its *options* and the columns *ordering*.

    Raises:
        OptionError: options contradict each other, the version or *ordering*.
        UnsupportedFeatureError: only Java can merge so.
    """
    payload = next((name for key in _PAYLOAD_KEYS if (name := _payload_of(options, key))), None)
    about = PAYLOADS.get(payload or "")
    mode, fields = merge_mode_of(options), tuple(ordering)
    if payload is not None and about is not None:
        fields = _ordering_of_payload(payload, about, fields, version=version)
    if mode is MergeMode.EVENT_TIME_ORDERING and not fields:
        key = "hoodie.record.merge.mode"
        raise OptionError(
            f"{key}: expected ordering columns beside {mode.value}, found none; name them with ordering=, or leave the "
            "option out",
            option=key,
        )
    mode = mode or (MergeMode.EVENT_TIME_ORDERING if fields else MergeMode.COMMIT_TIME_ORDERING)
    stored = _stored_properties(options, about, version=version)
    if about is not None and version < VERSION_WITH_PARTIAL_UPDATE_MODE:
        return Merging(MergeMode.CUSTOM, fields, payload, stored)
    return Merging(mode, fields, payload, stored)


def _payload_of(options: Mapping[str, str], key: str) -> str | None:
    """Return the full name of the payload class that *key* has, if hudiformat knows the class."""
    name = str(options.get(key, "")).strip().rpartition(".")[2].lower()
    return next((full for short, full in _FULL_NAMES.items() if short.lower() == name), None)


def _ordering_of_payload(payload: str, about: Behaviour, asked: tuple[str, ...], *, version: int) -> tuple[str, ...]:
    """Return the ordering columns of a table with the class *payload*, some of which determine them."""
    own = about.ordering_fields
    if len(own) > 1 and version < VERSION_WITH_PARTIAL_UPDATE_MODE:
        own = (SEQUENCE,)
    if own and asked and asked != own:
        raise OptionError(
            f"ordering: expected {', '.join(own)}, by which {payload.rpartition('.')[2]} orders in table version "
            f"{version}, found {', '.join(asked)}; leave ordering= out",
            option="hoodie.table.ordering.fields",
        )
    return own or asked


def _stored_properties(options: Mapping[str, str], about: Behaviour | None, *, version: int) -> dict[str, str]:
    """Return the properties for delete markers and partial updates, as Hudi stores them.

    Below version 9 a payload class has its own, and Hudi stores only what the user has named.
    """
    named = {name: _named(options, name) for name in (DELETE_FIELD, DELETE_MARKER, UNAVAILABLE)}
    if (named[DELETE_FIELD] is None) != (named[DELETE_MARKER] is None):
        there, missing = (DELETE_FIELD, DELETE_MARKER)[:: 1 if named[DELETE_FIELD] else -1]
        raise OptionError(f"{there}: expected {missing} beside it, found none; set both", option=missing)
    partial = str(options.get(PARTIAL_MODE, "")).strip().upper()
    if partial and partial not in PartialUpdateMode.__members__:
        known = ", ".join(PartialUpdateMode.__members__)
        raise OptionError(
            f"{PARTIAL_MODE}: expected one of {known}, found {options[PARTIAL_MODE]!r}", option=PARTIAL_MODE
        )
    if partial and version < VERSION_WITH_PARTIAL_UPDATE_MODE:
        raise OptionError(
            f"{PARTIAL_MODE}: expected table version {VERSION_WITH_PARTIAL_UPDATE_MODE}, found {version}, where a "
            "payload class says it; name the class by hoodie.datasource.write.payload.class",
            option=PARTIAL_MODE,
        )
    asked = {f"{MERGE_PROPERTY_PREFIX}{name}": value for name, value in named.items() if value}
    asked |= {PARTIAL_MODE: partial} if partial else {}
    own = payload_properties(about) if about is not None and version >= VERSION_WITH_PARTIAL_UPDATE_MODE else {}
    stored = {key: _agreed(key, asked.get(key), own.get(key)) or "" for key in (*own, *asked)}
    if partial == PartialUpdateMode.FILL_UNAVAILABLE.value and f"{MERGE_PROPERTY_PREFIX}{UNAVAILABLE}" not in stored:
        raise OptionError(
            f"{PARTIAL_MODE}: expected the value that means unavailable beside {partial}, found none; set "
            f"{UNAVAILABLE}",
            option=UNAVAILABLE,
        )
    return stored


def payload_properties(about: Behaviour) -> dict[str, str]:
    """Return the properties by which a table of version 9 merges as a payload class does, its ordering fields apart."""
    marker = about.delete_marker
    texts = {DELETE_FIELD: marker.column, DELETE_MARKER: marker.text} if marker else {}
    texts |= {UNAVAILABLE: about.marker} if about.marker else {}
    return {
        **({PARTIAL_MODE: about.partial_mode.value} if about.partial_mode else {}),
        **{f"{MERGE_PROPERTY_PREFIX}{name}": text for name, text in texts.items()},
    }


def _named(options: Mapping[str, str], name: str) -> str | None:
    """Return the value of a merge property, which may have its prefix.

    Raises:
        OptionError: there are two different ones.
    """
    plain, full = (str(options[key]) if options.get(key) else None for key in (name, f"{MERGE_PROPERTY_PREFIX}{name}"))
    return _agreed(name, plain, full)


def _agreed(key: str, one: str | None, other: str | None) -> str | None:
    if one is not None and other is not None and one != other:
        raise OptionError(f"{key}: expected {other!r}, found {one!r}; leave the option out", option=key)
    return one if one is not None else other


def merge_mode_of(options: Mapping[str, str]) -> MergeMode | None:
    """Return the merge mode that *options* ask for; None if they do not name one.

    Raises:
        OptionError: two options disagree.
        UnsupportedFeatureError: tables with this merge mode cannot be written.
    """
    found: dict[MergeMode, str] = {}
    for key, meanings in _MERGING.items():
        text = str(options.get(key, "")).strip()
        if not text:
            continue
        name = text.rpartition(".")[2]
        mode = next((mode for word, mode in meanings.items() if word.lower() == name.lower()), None)
        if mode is None or mode is MergeMode.CUSTOM:
            takes = ", ".join(word for word, one in meanings.items() if one is not MergeMode.CUSTOM)
            raise UnsupportedFeatureError(
                f"{key}: expected one of {takes}, found {text}; hand open_table a merger for another one",
                feature=f"merge mode {text}" if "mode" in key else text,
            )
        found[mode] = key
    if len(found) > 1:
        keys = list(found.values())
        raise OptionError(
            f"expected options that ask for one merge mode, found {' and '.join(keys)} with "
            "different ones; leave all but one of them out",
            option=keys[0],
        )
    return next(iter(found), None)


def refuse_other_merging(config: TableConfig, options: Mapping[str, str]) -> None:
    """Raise an OptionError if *options* ask for another merge than that of the table with *config*."""
    own = {str(name).rpartition(".")[2] for name in (config.payload_class, config.legacy_payload_class) if name}
    for key in _MERGING:
        text = str(options.get(key, "")).strip()
        if not text or text.rpartition(".")[2] in own or text == config.merge_strategy_id:
            continue
        if text.lower() == config.merge_mode.value.lower():
            continue
        if merge_mode_of({key: text}) is not config.merge_mode or _payload_of(options, key) in PAYLOADS:
            raise OptionError(
                f"{key}: expected {config.merge_mode.value}, the merge mode of the table, found "
                f"{text!r}; leave the option out",
                option=key,
            )
    for key in (PARTIAL_MODE, *_PROPERTY_KEYS):
        text, name = str(options.get(key, "")).strip(), key.removeprefix(MERGE_PROPERTY_PREFIX)
        partial = config.partial_update_mode and config.partial_update_mode.value
        kept = partial if key == PARTIAL_MODE else config.merge_properties.get(name)
        if text and text != kept:
            found = f"{kept!r}, as in the table's properties" if kept else "none, as the table was created without it"
            raise OptionError(f"{key}: expected {found}, found {text!r}; leave the option out", option=key)
