"""Record key -> file group: by the hash of the key, or by looking it up.  Arrow in, codes out."""

from hudiformat.index.tagging import NEW, NOWHERE, KnownKeys, Tags, bucket_tags, merged_tags

__all__ = ["NEW", "NOWHERE", "KnownKeys", "Tags", "bucket_tags", "merged_tags"]
