"""One partition as a writing task sees it: which file groups there are, and where its records belong."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from hudiformat.basefile import FileKeys, read_base_file, read_file_keys
from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks import BlockType
from hudiformat.errors import OptionError
from hudiformat.index import KnownKeys, Tags, bucket_tags, merged_tags
from hudiformat.logfile import LogReader
from hudiformat.merge import counting_blocks
from hudiformat.naming import bucket_file_id, parse_bucket
from hudiformat.storage import Storage
from hudiformat.table.create_handle import new_bucket_uuid
from hudiformat.table.options import BLOOM_INDEX_TYPES
from hudiformat.table.plan import REPLACING, WritePlan
from hudiformat.view import FileSlice, build_slices, latest_slices


class PartitionIndex:
    """Tags the records of one partition with their file groups; lists the partition's folder once."""

    def __init__(self, storage: Storage, plan: WritePlan, partition_path: str) -> None:
        self._storage = storage
        self._plan = plan
        self._partition_path = partition_path
        self._looked_into: list[KnownKeys] = []
        self._file_keys: dict[str, FileKeys] = {}
        self.base_instants: dict[str, str] = {}
        """By file id, the instant of the base file that positions in tags count rows of."""

    def tag(self, record_keys: pa.Array) -> Tags:
        """The file group of each record.

        Raises:
            OptionError: the table's buckets contradict the options.
        """
        if not self._plan.uses_buckets:
            self._look_into(record_keys)
            return merged_tags([known.tag(record_keys) for known in self._looked_into], len(record_keys))
        return bucket_tags(self._plan.buckets(record_keys), self.bucket)

    def bucket(self, number: int) -> tuple[str, bool]:
        """The file group of a bucket, and whether it was there before this write.

        Raises:
            OptionError: the table's buckets contradict the options.
        """
        if self._plan.operation not in REPLACING and number in self._buckets:  # those are all opened anew
            return self._buckets[number], True
        return bucket_file_id(number, new_bucket_uuid(self._plan.instant, self._partition_path, number)), False

    @cached_property
    def slices(self) -> list[FileSlice]:
        """The newest slice of each file group."""
        files = [entry for entry in self._storage.list(self._partition_path) if not entry.is_dir]
        return latest_slices(build_slices(self._partition_path, files, self._plan.visibility))

    @cached_property
    def _not_looked_into(self) -> list[FileSlice]:
        return self.slices

    @cached_property
    def _buckets(self) -> dict[int, str]:
        buckets: dict[int, str] = {}
        for file_slice in self.slices:
            number = parse_bucket(file_slice.file_id)
            if number is None or number >= self._plan.options.num_buckets:
                raise OptionError(
                    f"the file group {file_slice.file_id} in partition {self._partition_path!r} is none of "
                    f"{self._plan.options.num_buckets} buckets; hoodie.index.type and hoodie.bucket.index.num.buckets "
                    "have to be those that the table was written with",
                    option="hoodie.bucket.index.num.buckets",
                )
            buckets[number] = file_slice.file_id
        return buckets

    def _look_into(self, record_keys: pa.Array) -> None:
        """Read the keys of the slices that may hold one of *record_keys*, as far as they have not been read."""
        wanted = [file_slice for file_slice in self._not_looked_into if self.may_hold(file_slice, record_keys)]
        if wanted:
            found = {one.file_id: self._keys_of(one) for one in wanted}
            keys = {file_id: pa.chunked_array([*base, *logs], pa.string()) for file_id, (base, logs) in found.items()}
            base_rows = {file_id: sum(map(len, base)) for file_id, (base, _) in found.items()}
            self._looked_into.append(KnownKeys(keys, base_rows))
            self.base_instants |= {one.file_id: one.base_file.name.instant for one in wanted if one.base_file}
            self._not_looked_into = [one for one in self._not_looked_into if one not in wanted]

    def may_hold(self, file_slice: FileSlice, record_keys: pa.Array) -> bool:
        """Whether a slice may hold one of *record_keys*, by its footer; of log files nothing is known beforehand.

        Source: HoodieBloomIndex, HoodieKeyLookupHandle.
        """
        if file_slice.base_file is None or file_slice.log_files:
            return True
        if file_slice.file_id not in self._file_keys:
            self._file_keys[file_slice.file_id] = read_file_keys(
                self._storage, self._file(str(file_slice.base_file.name))
            )
        found = self._file_keys[file_slice.file_id]
        near = found.in_range(record_keys)
        if self._plan.options.index_type not in BLOOM_INDEX_TYPES:
            return bool(near.any())
        return found.might_contain(record_keys.filter(pa.array(near)))

    def slice_keys(self, file_slice: FileSlice) -> pa.Array:
        """Every record key of a slice, deleted ones too: the base file still holds those, and Hudi finds them there."""
        base, logs = self._keys_of(file_slice)
        return pa.chunked_array([*base, *logs], pa.string()).combine_chunks()

    def _keys_of(self, file_slice: FileSlice) -> tuple[list[pa.Array], list[pa.Array]]:
        """The record keys of the base file, row by row, and those of the log files."""
        base, logs = [], []
        if file_slice.base_file is not None:
            schema = pa.schema([pa.field(RECORD_KEY, pa.string())])
            table = read_base_file(self._storage, self._file(str(file_slice.base_file.name)), schema)
            base += table[RECORD_KEY].chunks
        for log in file_slice.log_files:
            reader = LogReader(self._file(str(log.name)), storage=self._storage)
            counting = counting_blocks(reader, counts=self._plan.visibility.counts_block)
            blocks = [block for block in counting if block.type is not BlockType.DELETE]
            logs += [block.to_arrow(columns=[RECORD_KEY])[RECORD_KEY] for block in blocks]
        return base, logs

    def _file(self, name: str) -> str:
        return f"{self._partition_path}/{name}" if self._partition_path else name
