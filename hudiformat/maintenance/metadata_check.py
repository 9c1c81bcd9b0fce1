"""Whether the metadata table lists the files that there are: readers that use it see no others, and miss those gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hudiformat.errors import HudiFormatError
from hudiformat.maintenance.finding import TableFinding, TableFindingKind
from hudiformat.metadata import FILES, METADATA_FOLDER, listing
from hudiformat.naming import BaseFileName, join_path, parse_data_file
from hudiformat.storage import FileInfo
from hudiformat.table import TableState
from hudiformat.timeline import Action
from hudiformat.view import list_partitions

_SHOWN = 3


def findings_of_metadata_table(state: TableState) -> Iterator[TableFinding]:
    """At most one finding: that the metadata table cannot be read, or what it lists wrongly.

    Of files that readers see, names and sizes are compared; in table version 6 of log files the names alone, as a
    writer that has died may have added to one.
    """
    if FILES not in state.config.metadata_partitions:
        return
    try:
        listed = {path: {file.name: file.size for file in files} for path, files in _listed(state)}
    except HudiFormatError as error:
        yield TableFinding(TableFindingKind.CONTRADICTION, METADATA_FOLDER, f"it cannot be read: {error}")
        return
    folders = list_partitions(state.storage, incomplete=True)
    there = {path: {file.name: file.size for file in files if not file.is_dir} for path, files in folders}
    wrong = list(_differences(state, listed, there))
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        yield TableFinding(TableFindingKind.CONTRADICTION, METADATA_FOLDER, f"{'; '.join(wrong[:_SHOWN])}{more}")


def _listed(state: TableState) -> Iterator[tuple[str, list[FileInfo]]]:
    return iter(listing(state.storage, state.config, state.timeline))


def _differences(
    state: TableState, listed: Mapping[str, Mapping[str, int]], there: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    is_cleaning = any(one.action is Action.CLEAN for one in state.timeline.pending)
    for path in sorted({*listed, *there}):
        names, files = listed.get(path, {}), there.get(path, {})
        for name in sorted({*names, *files}):
            shown = join_path(path, name)
            if not _is_seen(state, name):
                continue
            if name not in files:
                if not is_cleaning:  # which has deleted it, and will say so when it is complete
                    yield f"it lists {shown}, which is not there"
            elif name not in names:
                if not state.logs_name_slices or isinstance(parse_data_file(name), BaseFileName):
                    yield f"it does not list {shown}"
            elif names[name] != files[name] and _has_fixed_size(state, name):
                yield f"it lists {shown} with {names[name]} bytes, which has {files[name]}"


def _is_seen(state: TableState, name: str) -> bool:
    parsed = parse_data_file(name)
    return parsed is not None and state.visibility.is_committed(parsed.instant)


def _has_fixed_size(state: TableState, name: str) -> bool:
    return not state.logs_name_slices or isinstance(parse_data_file(name), BaseFileName)
