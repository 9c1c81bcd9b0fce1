"""Read and write the file of rules that says how many buckets each partition has; each change adds a new file.

Source: PartitionBucketIndexHashingConfig, Hudi 1.2.0; spec/bucket-index.md.
"""

from __future__ import annotations

import json
from dataclasses import replace

from hudiformat.errors import CorruptTableError, OptionError, UnsupportedFeatureError
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.buckets import format_bucket_rules, parse_bucket_rules
from hudiformat.table.options.values import WriteOptions
from hudiformat.timeline.timeline import Timeline

_FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
_SUFFIX = ".hashing_config"
_FIRST_INSTANT = "00000000000000"
_EXPRESSIONS = "hoodie.bucket.index.partition.expressions"


def save_bucket_rules(storage: Storage, options: WriteOptions) -> None:
    """Write the file of rules of a new table."""
    content = {
        "expressions": format_bucket_rules(options.bucketing.rules),
        "defaultBucketNumber": options.num_buckets,
        "rule": options.bucketing.rule_type,
        "version": 1,
        "instant": _FIRST_INSTANT,
    }
    storage.create(f"{_FOLDER}/{_FIRST_INSTANT}{_SUFFIX}", json.dumps(content, indent=2).encode())


def with_bucket_rules(options: WriteOptions, storage: Storage, timeline: Timeline) -> WriteOptions:
    """Return *options* with the table's current rules; the rules of a pending change are ignored.

    Raises:
        OptionError: the options have other rules.
        CorruptTableError: the newest rules are damaged.
        UnsupportedFeatureError: the rules are not regular expressions.

    Source: PartitionBucketIndexHashingConfig.loadingLatestHashingConfig.
    """
    pending = {instant.time for instant in timeline.pending}
    names = [one.name for one in storage.list(_FOLDER) if one.name.endswith(_SUFFIX)]
    instants = sorted(name.removesuffix(_SUFFIX) for name in names)
    committed = [instant for instant in instants if instant not in pending]
    if not committed:
        return options
    path = f"{storage.root}/{_FOLDER}/{committed[-1]}{_SUFFIX}"
    try:
        found = json.loads(storage.read(f"{_FOLDER}/{committed[-1]}{_SUFFIX}"))
        expressions, count, kind = str(found["expressions"]), int(found["defaultBucketNumber"]), str(found["rule"])
        rules = parse_bucket_rules(_EXPRESSIONS, expressions)
    except (ValueError, KeyError, TypeError, OptionError) as error:
        raise CorruptTableError(f"{path}: expected rules for the number of buckets: {error}", path=path) from error
    if kind.lower() != options.bucketing.rule_type:
        raise UnsupportedFeatureError(
            f"{path}: expected rules of the kind {options.bucketing.rule_type}, found {kind}; "
            "write the table with Hudi",
            feature=f"bucket rules {kind}",
        )
    if options.bucketing.rules not in ((), rules):
        raise OptionError(
            f"{_EXPRESSIONS}: expected {expressions!r}, as the table has it, found "
            f"{format_bucket_rules(options.bucketing.rules)!r}; leave the option out",
            option=_EXPRESSIONS,
        )
    return replace(options, num_buckets=count, bucketing=replace(options.bucketing, rules=rules))
