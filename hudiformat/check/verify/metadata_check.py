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
from hudiformat.metadata_table.partition import INITIAL
from hudiformat.naming.file_names import BaseFileName, base_name, join_path, parse_data_file, stored_name
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import METADATA_FOLDER
from hudiformat.timeline.timeline import Action, Instant
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
        names, files = listed.get(path, {}), dict(there.get(path, {}))
        files |= {name: files[stored] for name in names if (stored := stored_name(name)) != name and stored in files}
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


def _named_by_commits(own: TableState) -> dict[str, dict[str, tuple[Instant, int]]]:
    """Return by partition the files that commits name, each with the newest commit that names it, and its size."""
    found: dict[str, dict[str, tuple[Instant, int]]] = defaultdict(dict)
    for write in own.timeline.completed_writes:
        for stat in own.metadata(write).write_stats:
            if stat.path is not None:
                found[stat.partition_path or ""][base_name(stat.path)] = write, stat.file_size_in_bytes
    return found


def _lost_files(
    own: TableState, partition: str, slices: Sequence[FileSlice], named: Mapping[str, tuple[Instant, int]]
) -> Iterator[str]:
    """Yield the *named* files of a partition that are missing or truncated.

    Only files of the newest *slices* are checked: files of older slices may have been cleaned, and files from before a
    partition was dropped and built again no longer exist.
    """
    newest = {one.file_id: one.base_instant for one in slices}
    first = min(newest.values(), default="")
    commits = {one.time: one for one in own.timeline.completed_writes}
    sizes = {file.name: file.size for file in own.partition_files(partition)}
    for name, (write, size) in named.items() if slices else ():
        parsed = parse_data_file(name)
        begin = "" if parsed is None else newest.get(parsed.file_id, first)
        if parsed is None or write.time < begin:
            continue
        if name not in sizes:
            if begin not in commits or not _may_be_before_build(write, commits[begin], named):
                yield f"its file {partition}/{name}, which a commit names, is not there"
        elif sizes[name] < size:
            yield f"its file {partition}/{name} has {sizes[name]} of {size} bytes"


def _may_be_before_build(write: Instant, build: Instant, named: Mapping[str, tuple[Instant, int]]) -> bool:
    """Return whether *write* may have come before *build*, although its instant is later, and gone with its partition.

    The instant of a build is one of the first of all.  In version 6, in which no completion times tell the order, it is
    that of the newest write, which may be before a compaction that came first: so Hudi's downgrade builds a partition.
    Whether that compaction's files went with the old partition, or were lost since, nobody can tell then; the slice
    that is there has all entries.
    """
    if write.completion_time is not None and build.completion_time is not None:
        return build.time.startswith(INITIAL) and write.completion_time < build.completion_time
    is_build = build.time[_WRITE_LENGTH:] >= _BUILD_SUFFIX
    return is_build and any(one.time < build.time for one, _ in named.values())


def _damaged_files(own: TableState, file_slice: FileSlice) -> Iterator[str]:
    """Yield the files of a slice that cannot be read."""
    if file_slice.base_file is not None:
        path = file_slice.base_path
        try:
            for _ in HFileReader(own.storage.map(path)).blocks():
                pass
        except HudiFormatError as error:
            yield f"its file {path} cannot be read: {error}"
    for path in file_slice.log_paths:
        for finding in scan_findings(path, storage=own.storage):
            if finding.kind is not FindingKind.QUIRK:
                yield f"its file {path} cannot be read: {finding.message}"
