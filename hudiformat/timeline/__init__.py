"""The timeline: instants and their states, commit metadata, plans, and the table's properties.

The timeline alone decides what is in the table: a file counts when the instant in its name is completed.
"""

from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    RuntimeStats,
    WriteStat,
    decode_commit_metadata,
    encode_commit_metadata,
)
from hudiformat.timeline.config_parsing import (
    META_FOLDER,
    SUPPORTED_VERSIONS,
    VERSION_WITH_COMPLETION_TIMES,
    parse_table_config,
)
from hudiformat.timeline.config_storage import (
    PROPERTIES_FILE,
    format_table_config,
    load_table_config,
    new_table_config,
)
from hudiformat.timeline.instant import Action, Instant, State, parse_instant_name
from hudiformat.timeline.plans import CompactionOperation, decode_compaction_plan
from hudiformat.timeline.properties import format_properties, parse_properties, table_checksum
from hudiformat.timeline.table_config import (
    KeyGenerator,
    MergeMode,
    PartialUpdateMode,
    TableConfig,
    TableType,
    TimelineZone,
)
from hudiformat.timeline.timeline import (
    Timeline,
    instant_path,
    latest_schema,
    load_timeline,
    read_compaction_plan,
    read_metadata,
)
from hudiformat.timeline.transitions import complete, create_requested, remove_pending, transition_inflight

__all__ = [
    "META_FOLDER",
    "PROPERTIES_FILE",
    "SUPPORTED_VERSIONS",
    "VERSION_WITH_COMPLETION_TIMES",
    "Action",
    "CommitMetadata",
    "CompactionOperation",
    "Instant",
    "KeyGenerator",
    "MergeMode",
    "PartialUpdateMode",
    "RuntimeStats",
    "State",
    "TableConfig",
    "TableType",
    "Timeline",
    "TimelineZone",
    "WriteStat",
    "complete",
    "create_requested",
    "decode_commit_metadata",
    "decode_compaction_plan",
    "encode_commit_metadata",
    "format_properties",
    "format_table_config",
    "instant_path",
    "latest_schema",
    "load_table_config",
    "load_timeline",
    "new_table_config",
    "parse_instant_name",
    "parse_properties",
    "parse_table_config",
    "read_compaction_plan",
    "read_metadata",
    "remove_pending",
    "table_checksum",
    "transition_inflight",
]
