"""Check that the metadata table lists the files that exist, and that its own files exist and can be read.

Readers that use the metadata table see only the files that it lists, and fail on listed files that do not exist.  If an
index has lost entries, queries miss rows, and writes add rows that the table already has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.log.verify import FindingKind, scan_findings
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.definitions import load_definitions
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX, is_partitioned
from hudiformat.metadata_table.listing import listing
from hudiformat.naming.file_names import BaseFileName, base_name, join_path, parse_data_file
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import METADATA_FOLDER
from hudiformat.timeline.timeline import Action
from hudiformat.write.metadata.metadata_table import MetadataTable

_SHOWN = 3
_WRITE_LENGTH, _BUILD_SUFFIX = 17, "010"
"""In version 6, what builds a partition has the instant of a write, and this suffix or a higher one.

Source: HoodieTableMetadataUtil.PARTITION_INITIALIZATION_TIME_SUFFIX.
"""


def findings_of_metadata_table(state: TableState, *, contents: bool = True) -> Iterator[TableFinding]:
    """Yield at most one finding: the metadata table cannot be read, lists files wrongly, or has lost files of its own.

    Names and sizes of the files that readers see are compared.  For log files of table version 6 only the names are,
    because a dead writer may have appended to one.  With *contents* the newest files of all its partitions are read.
    """
    if FILES not in state.config.metadata_partitions:
        return
    try:
        listed = {path: {file.name: file.size for file in files} for path, files in _list_files(state)}
    except HudiFormatError as error:
        yield TableFinding(TableFindingKind.CONTRADICTION, METADATA_FOLDER, f"it cannot be read: {error}")
        return
    folders = list_partitions(state.storage, incomplete=True)
    there = {path: {file.name: file.size for file in files if not file.is_dir} for path, files in folders}
    wrong = [*_differences(state, listed, there), *_of_own_files(state, contents=contents)]
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        yield TableFinding(TableFindingKind.CONTRADICTION, METADATA_FOLDER, f"{'; '.join(wrong[:_SHOWN])}{more}")


def _list_files(state: TableState) -> Iterator[tuple[str, list[FileInfo]]]:
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


def _of_own_files(state: TableState, *, contents: bool) -> Iterator[str]:
    """Yield what is wrong with the metadata table's own files and with the definitions of its indexes."""
    try:
        definitions = load_definitions(state.storage, state.config)
        own = MetadataTable.of(state).own
        _ = own.schema.avro_with_meta  # the newest commit has it; the next one takes it over
        named = _named_by_commits(own)
        for partition in state.config.metadata_partitions:
            slices = own.slices(partition)
            # A partitioned record index gets its file groups with the first rows of a partition.
            if not slices and not (partition == RECORD_INDEX and is_partitioned(definitions.get(RECORD_INDEX))):
                yield f"its partition {partition} has no files"
            yield from _lost_files(own, partition, slices, named[partition])
            for one in slices if contents and partition != FILES else ():  # the list of files has been read
                yield from _damaged_files(own, one)
    except HudiFormatError as error:
        yield f"it cannot be read: {error}"


def _named_by_commits(own: TableState) -> dict[str, dict[str, tuple[str, int]]]:
    """Return by partition the files that commits name, each with the newest instant that names it, and its size."""
    found: dict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
    for write in own.timeline.completed_writes:
        for stat in own.metadata(write).write_stats:
            if stat.path is not None:
                found[stat.partition_path or ""][base_name(stat.path)] = write.time, stat.file_size_in_bytes
    return found


def _lost_files(
    own: TableState, partition: str, slices: Sequence[FileSlice], named: Mapping[str, tuple[str, int]]
) -> Iterator[str]:
    """Yield the *named* files of a partition that are missing or truncated.

    Only files of the newest *slices* are checked: files of older slices may have been cleaned, and files from before a
    partition was dropped and built again no longer exist.

    In version 6 a partition that is built again is of the newest write, which may be before a compaction that came
    first: so Hudi's own downgrade does it.  Whether that compaction's files went with the old partition, or were lost
    since, nobody can tell then; the slice that is there has all entries.
    """
    newest = {one.file_id: one.base_instant for one in slices}
    built = min(newest.values(), default="")
    sizes = {file.name: file.size for file in own.partition_files(partition)}
    for name, (instant, size) in named.items() if slices else ():
        parsed = parse_data_file(name)
        if parsed is None or instant < newest.get(parsed.file_id, built):
            continue
        if name not in sizes:
            if _is_built_again(newest.get(parsed.file_id, built), named):
                continue
            yield f"its file {partition}/{name}, which a commit names, is not there"
        elif sizes[name] < size:
            yield f"its file {partition}/{name} has {sizes[name]} of {size} bytes"


def _is_built_again(instant: str, named: Mapping[str, tuple[str, int]]) -> bool:
    """Return whether *instant*, of version 6, has built a partition that had files before it."""
    return instant[_WRITE_LENGTH:] >= _BUILD_SUFFIX and any(other < instant for other, _ in named.values())


def _damaged_files(own: TableState, file_slice: FileSlice) -> Iterator[str]:
    """Yield the files of a slice that cannot be read."""
    if file_slice.base_file is not None:
        path = join_path(file_slice.partition_path, str(file_slice.base_file.name))
        try:
            for _ in HFileReader(own.storage.map(path)).blocks():
                pass
        except HudiFormatError as error:
            yield f"its file {path} cannot be read: {error}"
    for path in file_slice.log_paths:
        for finding in scan_findings(path, storage=own.storage):
            if finding.kind is not FindingKind.QUIRK:
                yield f"its file {path} cannot be read: {finding.message}"
