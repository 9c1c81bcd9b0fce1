"""The metadata table, itself a merge-on-read table of HFiles under ``.hoodie/metadata``: a listing out of it."""

from hudiformat.metadata.listing import Listing, listing
from hudiformat.metadata.partition import METADATA_FOLDER

__all__ = ["METADATA_FOLDER", "Listing", "listing"]
