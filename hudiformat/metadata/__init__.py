"""The metadata table, itself a merge-on-read table of HFiles under ``.hoodie/metadata``: reading and writing it."""

from hudiformat.metadata.listing import Listing, listing
from hudiformat.metadata.partition import METADATA_FOLDER
from hudiformat.metadata.updates import (
    FILES,
    Records,
    encode_base_file,
    encode_log_block,
    records_of_clean,
    records_of_commit,
    records_of_deleted,
)

__all__ = [
    "FILES",
    "METADATA_FOLDER",
    "Listing",
    "Records",
    "encode_base_file",
    "encode_log_block",
    "listing",
    "records_of_clean",
    "records_of_commit",
    "records_of_deleted",
]
