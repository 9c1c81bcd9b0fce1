"""File ids: the names of file groups, made from a UUID or from a bucket number."""

from __future__ import annotations

import re
from uuid import UUID

from hudiformat.errors import NameFormatError

_BUCKET_DIGITS = 8
_BUCKET = re.compile(r"[0-9]{8}-.*", re.DOTALL)


def new_file_id(uuid: UUID, index: int = 0) -> str:
    """The id of a new file group, ``<uuid>-<index>``; a writer that rolls over counts *index* up.

    Source: FSUtils.createNewFileId and createNewFileIdPfx, Hudi 1.2.0.
    """
    return f"{uuid}-{index}"


def bucket_file_id(bucket: int, uuid: UUID) -> str:
    """The id of a bucket's file group: the bucket's number, eight digits wide, stands for the UUID's first part.

    Raises:
        NameFormatError: the number is negative or has more than eight digits.

    Source: BucketIdentifier.newBucketFileIdPrefix, Hudi 1.2.0.
    """
    if not 0 <= bucket < 10**_BUCKET_DIGITS:
        raise NameFormatError(f"bucket {bucket} is not within 0 to {10**_BUCKET_DIGITS - 1}", name=str(bucket))
    return new_file_id(uuid).replace(str(uuid)[:_BUCKET_DIGITS], f"{bucket:0{_BUCKET_DIGITS}d}", 1)


def parse_bucket(file_id: str) -> int | None:
    """The bucket that a file id names, or None when it does not begin with eight digits and a dash.

    About one random UUID in forty looks like this, too: only ask about tables with a bucket index.

    Source: BucketIdentifier.bucketIdFromFileId, Hudi 1.2.0.
    """
    return int(file_id[:_BUCKET_DIGITS]) if _BUCKET.fullmatch(file_id) else None
