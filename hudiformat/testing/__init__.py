"""Hypothesis strategies for testing readers and writers of the format: schemas, batches, blocks, log files, damage.

``pip install 'hudiformat[testing]'`` installs Hypothesis.  Tests of another reader look like this::

    from hypothesis import given
    import hudiformat as hf
    from hudiformat import testing

    @given(file=testing.log_files())
    def test_our_reader_finds_the_blocks(file: testing.LogFile) -> None:
        assert [kind for kind, _ in our_reader(file.data)] == [block.type for block in file.blocks]

    @given(data=testing.damaged_log_files())
    def test_our_reader_survives_damage_and_agrees(data: bytes) -> None:
        assert our_reader(data) == [(block.type, block.offset) for block in hf.LogReader(data)]

The strategies shrink to short and simple examples.  Their values are intact unless the strategy is called damaged.
"""

try:
    import hypothesis  # noqa: F401 - only to see whether it is installed
except ImportError as error:
    raise ImportError("hudiformat.testing needs Hypothesis: pip install 'hudiformat[testing]'") from error

from hudiformat.testing.avro_schemas import avro_schemas
from hudiformat.testing.batches import batches, schemas, variants
from hudiformat.testing.blocks import LogFile, blocks, data_blocks, delete_blocks, log_files, rollback_blocks
from hudiformat.testing.damage import damaged, damaged_log_files
from hudiformat.testing.values import types, values

__all__ = [
    "LogFile",
    "avro_schemas",
    "batches",
    "blocks",
    "damaged",
    "damaged_log_files",
    "data_blocks",
    "delete_blocks",
    "log_files",
    "rollback_blocks",
    "schemas",
    "types",
    "values",
    "variants",
]
