"""Tell a service of a write by HTTP, as Hudi's write commit callback does.

Source: HoodieWriteCommitHttpCallback, HoodieWriteCommitCallbackMessage, Hudi 1.2.0.
"""

from __future__ import annotations

import json
from typing import Any

from hudiformat.table.options.reporting import CallbackOptions
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat, encode_commit_json
from hudiformat.write.reporting.requests import send_request

_ONLY_IN_MESSAGES = {"totalValidLogBlocks": 0, "totalLogBlocksSize": 0, "totalLogBlocksScanTimeMs": 0}
"""Numbers of HoodieReadStats that commits do not store, and that are 0 in what a write says."""


def call_back(options: CallbackOptions, root: str, table_name: str, instant: str, metadata: CommitMetadata) -> None:
    """Send the message about a write to the table at *root*.

    Raises:
        RequestFailedError: the service did not accept it.
    """
    headers = {
        "HUDI-CALLBACK-KEY": options.api_key,
        "Content-Type": "application/json; charset=UTF-8",
        **dict(options.headers),
    }
    message = json.dumps(commit_message(root, table_name, instant, metadata))
    send_request("POST", options.url, message.encode(), headers, timeout=options.timeout)


def commit_message(root: str, table_name: str, instant: str, metadata: CommitMetadata) -> dict[str, Any]:
    """Return the fields that Hudi sends of a write.

    Values of Java's class Option come without their content: whoever needs the action or the extra metadata reads the
    commit.
    """
    stats = json.loads(encode_commit_json(metadata))["partitionToWriteStats"]
    sent = zip((stat for group in stats.values() for stat in group), metadata.write_stats, strict=True)
    return {
        "commitTime": instant,
        "tableName": table_name,
        "basePath": root,
        "hoodieWriteStat": [
            {**_ONLY_IN_MESSAGES, **record, "columnStats": _option(is_present=_has_column_stats(stat))}
            for record, stat in sent
        ],
        "commitActionType": _option(is_present=True),
        "extraMetadata": _option(is_present=True),
    }


def _option(*, is_present: bool) -> dict[str, bool]:
    return {"empty": not is_present, "present": is_present}


def _has_column_stats(stat: WriteStat) -> bool:
    """Return whether a statistic has those of columns, which Hudi has for log files alone."""
    return stat.log_version is not None and stat.indexed is not None and bool(stat.indexed.columns)
