"""docs/refusals.md: what hudiformat refuses by name, each with the reason; ``python -m tools.refusals_page`` writes it.

``tests/test_refusals.py`` asserts that these are all features of an UnsupportedFeatureError in the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "refusals.md"

ANY = "…"
"""What stands for a part of a feature that is known only when it is refused."""

REASONS: Mapping[str, Mapping[str, str]] = {
    "Hudi does not read what would be written, or loses rows of it": {
        "MERGE_ON_READ tables of PostgresDebeziumAvroPayload below version 9": (
            "Hudi 1.2.0 shows the placeholders of values that it should take from older records. Version 9 is written."
        ),
        "tables below version 9 with the COMPLEX key generator and one record key field": (
            "releases of Hudi write the keys of such tables in two forms, so an option has to say which one"
        ),
        "another table version for complex keys of one field": "as above: the other version would need the other form",
        "partial updates with a global index that moves rows, which would need all columns": (
            "the row would arrive in its new partition without the columns that it does not set"
        ),
        f"partial updates with {ANY}": "the features are below; Hudi's MERGE INTO writes whole rows there",
        "tables without a record key": "of partial updates: no row can be found",
        "COPY_ON_WRITE tables": "of partial updates: there are no log files, so whole rows are written anyway",
        f"tables of version {ANY}": "of partial updates: blocks with some of the columns are new in version 8",
        "a bucket index, which cannot tell whether a row exists": "of partial updates: a new row needs all columns",
        "a global index that moves rows, which would need all columns": "of partial updates: as above",
        "a custom merger": "of partial updates: it merges whole rows",
        "a partial update mode, which says by values what a row sets": "of partial updates: one rule or the other",
        "dropped partition columns of a MERGE_ON_READ table, which Hudi 1.2.0 does not drop": (
            "Hudi writes the columns into log files, and then cannot merge them with base files"
        ),
        "dropped partition columns of times, of which paths tell a part": "the values would be lost",
        "dropped partition columns in change data": "the images would lack the columns, and Hudi's reader fails",
        "dropped partition columns and an internal schema": "Hudi looks the columns up by ids that the files lack",
        "merge with dropped partition columns": "Hudi's MERGE INTO fails on such tables, too",
        "slash-separated dates in paths of several columns, or of times": (
            "Hudi makes such paths of one column alone; of times the pattern of the path says where slashes are"
        ),
        "buckets without a record key": "the hash of the record key is the bucket; Hudi refuses it, too",
        "change data of tables with vectors": "Hudi neither writes a vector into such a log nor shows one",
        "vectors in an internal schema": "Hudi cannot read an internal schema with a vector",
        f"{ANY} in base files of format {ANY}": "Spark or Hudi fails on the column, or reads other values",
        f"{ANY} without meta fields": "Hudi fails on such a table, or loses its keys",
        "no record key": "without meta fields: rows could not be told from each other",
        f"the key generator {ANY}": "without meta fields: Hudi writes no such table",
        f"the indexes {ANY} in the metadata table": "without meta fields: Hudi's indexes lose keys",
        "files that were registered with a table": (
            "below the prefix of a folder, or of another format than Parquet and ORC; others are read"
        ),
        "registered files without a metadata table": "nothing else lists them; Hudi fails there, too",
        "log files of registered files": "Hudi cannot parse their names; XTable makes copy-on-write tables alone",
        "registered files without partition columns": "Hudi fails in each write; Delta Lake has none in its files",
        f"statistics of registered files in table version {ANY}": (
            "Hudi fails in the next write; they can be dropped. In version 6, which XTable makes, it does not"
        ),
        "indexes of registered files": "Hudi fails in writes, or would not find the files in them by their names",
        "deleting the metadata table of registered files": (
            "it alone lists them: their rows would be gone without a word, as they are after a restore by Hudi"
        ),
        "a record index of bootstrapped rows": "it keeps the time of each row's commit; a bootstrap's is no time",
        "adopting files that Hudi cannot read without a copy": "with copy=True they are copied",
        f"a partitioned record index in table version {ANY}": "Hudi has it from version 8 on",
        f"choosing columns of {ANY} in table version {ANY}": "version 6 has no file that could name the columns",
        "a partitioned record index": "it finds keys of single partitions; the index to ask for has another name",
        "upgrade of tables with a custom key generator": "types are stored from version 8 on: an option says them",
        "downgrade of tables with a partial update mode": "below version 9 only payload classes can say so",
        "downgrade of tables with several ordering fields": "below version 9 there is one",
        "downgrade of tables with a custom merge mode": "below version 8 only a payload class can say so",
        f"column statistics of {ANY}": "Hudi's statistics of values in lists and maps are wrong; they can be dropped",
        f"metadata table with {ANY}": "an index that is not kept up to date would lose rows; it can be dropped",
        "renaming and dropping columns without an internal schema": "readers would look for the old names, or for none",
    },
    "Only Java knows": {
        "CUSTOM merge mode": "the class that merges is Java; a merger in Python can take its place",
        f"the legacy calendar of {ANY}": "old offsets of that time zone are in Java's tables alone",
        f"key generator {ANY}": "the class that makes keys and paths is Java",
        f"bucket rules {ANY}": "the class that reads the rules is Java",
        f"TTL strategy {ANY}": "the class that decides what has expired is Java",
        f"lock provider {ANY}": "the class that locks is Java; five of Hudi's are supported",
        f"pre-commit validator {ANY}": "the class that validates is Java; Hudi's three with SQL queries are supported",
        "custom delete markers of nested columns": "the text that is compared is Java's text of the object",
        "custom delete markers of other types with a global index": "as above, in Spark's own text",
    },
    "The values cannot be told": {
        f"a column {ANY} in HFiles": "Hudi writes empty texts for the values; other columns are read",
        f"a column {ANY} in HFile blocks": "as above",
        f"ambiguous timestamps of ORC files in {ANY}": "clocks show the hour twice, and the file does not say which",
        "timestamps of ORC files that are more than 292 years from 1970": "Arrow reads them as other times",
        f"the partition column {ANY} from a path": "the path has a part of the value, and the file none",
        "an _event_seq that has no two numbers": "MySqlDebeziumAvroPayload fails on it, too, below version 9",
        "MySqlDebeziumAvroPayload without _event_seq": "the class orders by this column alone below version 9",
        "source files of a bootstrapped table that are outside of its folder": (
            "nothing outside of the table's folder is read unless the user names it"
        ),
        "repair of file groups with source files that cannot be read": "their rows would be lost",
        f"the logical type {ANY}": "a type that nobody knows is not shown as plain bytes; other columns are read",
        f"the logical type {ANY} of the column {ANY}": "as above: such a table is not written",
        "incremental queries without meta fields": "no row says when it was written",
        "looking for keys in two file groups without meta fields": "keys would have to be made of all rows",
        "comparing rows without a record key": "rows of two moments could not be matched",
        "change data": "a table without hoodie.table.cdc.enabled keeps none",
        f"change data in the mode {ANY}": "the mode says which images a log has: of others they cannot be told",
    },
    "Writers would harm each other, or readers": {
        f"non-blocking writers in table version {ANY}": "version 6 has no completion times, by which they are ordered",
        "non-blocking writers of a table without log files or without a bucket index": (
            "two writers would write one key into two file groups"
        ),
        f"{ANY} without blocking other writers": "rows that others write meanwhile into removed groups would be lost",
        "COPY_ON_WRITE tables with consistent hashing": "Hudi refuses it, too: a resizing needs log files",
        "consistent hashing with non-blocking writers": "Hudi refuses it, too: a resizing would lose rows",
        "consistent hashing with rules for the number of buckets": "each says another number",
        f"{ANY} with consistent hashing": "the ring keeps the ids of file groups, which would be hidden",
        "insert policies with a bucket index": "it looks no keys up: each would count as a duplicate",
        "updates during a clustering": "the clustering would lose the update",
        "rewriting a base file that has log files": "the rows of the log files would be hidden",
        "dropping a partition of a metadata table that is being compacted": "the service would bring it back",
        "file-system lock without atomic create": "two writers could have the lock",
        "storage-based lock without versions of objects": "two writers could have the lock",
        "creating whole files": "readers would see files that are not whole",
    },
    "There is nothing to do": {
        "compaction of COPY_ON_WRITE tables": "there are no log files",
        f"log compaction with {ANY}": "there are no log files, or a merger in Python would have to run twice",
        "clustering with a bucket index": "the hash of a key determines its file group",
        "sizing with a bucket index": "the hash of a key determines its file group",
        "merge without a record key": "rows cannot be matched; update and delete by a condition",
    },
    "Another format, or another version": {
        f"table version {ANY}": "versions 6, 8 and 9 are those of Hudi's that can be compared with",
        "hoodie.table.format": "the table has the format of another library",
        f"base files of format {ANY}": (
            "HFile and Lance are read and not written: Hudi on Spark does not read the first, and reads the second "
            "only with jars that no bundle has"
        ),
        "base files of format LANCE": "read with the package pylance",
        f"ORC files with the compression {ANY}": "LZO and LZ4 of footers: Arrow's bindings have neither for them",
        "shredded variants": "Hudi 1.2.0 writes them only if asked, and pyarrow reads no typed values yet",
        f"compression {ANY}": "of Parquet blocks: those that Parquet has",
        f"{ANY} block": "a block that no rows are in is not merged",
        f"{ANY} block in a metadata table": "Hudi writes HFile blocks there; it can be left out",
        "base file that is no HFile": "Hudi writes HFiles there; the metadata table can be left out",
        "data block encoding": "Hudi writes HFiles without",
        "encryption": "Hudi writes HFiles without",
        "tags": "Hudi writes HFiles without",
        f"{ANY} data block": "the formats of Hudi's log blocks are four",
    },
    "Values of options": {
        f"the index {ANY}": "HBase, and indexes of engines other than Spark",
        "timestamp formatter": "a pattern in which a field is twice, or letters that Java may read as another field",
    },
    "A simulation would say something else": {
        f"simulation of {ANY}": "its rules are not played, so files and bytes would be wrong",
        f"simulation of the file sink with {ANY}": "it has no rule for that, or needs a plan for each batch",
        "simulation of a table with buckets whose index no option names": "new rows would open other file groups",
        "simulation of a table whose file groups are not its buckets": "which rows they get cannot be told",
        "simulation of the file sink on a table": "it writes into a folder, and knows no tables",
        "simulation of a clustering of so many file groups": "a plan for each of them would take minutes and gigabytes",
        "a workload from a table without commits of rows": "there is nothing to take it from; a workload can be passed",
    },
    "SQL": {
        f"{ANY} in SQL": "of INSERT, UPDATE, DELETE and MERGE: the methods of a table do not do it, or not exactly so",
    },
    "PySpark": {
        "data source on PySpark 3": "Python data sources are new in PySpark 4; the functions of hudiformat.spark work",
        f"{ANY} on PySpark {ANY}": "Spark has what is needed from the named version on",
        f"hudiformat-files on PySpark {ANY}": "as above",
        f"policy {ANY} of the data source hudiformat-files": "a task has no session to tell a catalog with",
        "output mode complete": "the data source would have to replace the table with each batch",
        "combining partial updates by tasks": "Spark keeps one of several rows, where the table merges them",
    },
    "A package is missing, which pip installs": {
        "AWS Glue": "boto3",
        "Hive Metastore": "pymetastore",
        "locks in DynamoDB": "botocore",
        "locks in the Hive Metastore": "pymetastore",
        "locks in ZooKeeper": "kazoo",
        "pre-commit validators": "duckdb and sqlglot",
    },
}

_HEAD = """# What is refused

An `UnsupportedFeatureError` names what hudiformat refuses (`error.feature`), and comes before a byte is written. This
is the list of all of them, with the reason; "…" stands for what the table or the call has. The page is generated
(`python -m tools.refusals_page`), and a test compares it with the errors in the code. Options of Hudi's that are
refused are in [options](options.md), each with its reason; what works with which version is in
[compatibility](compatibility.md).
"""


def page() -> str:
    """The page."""
    lines = [_HEAD]
    for title, reasons in REASONS.items():
        lines.append(f"\n## {title}\n\n| refused | why |\n|---|---|\n")
        lines += [f"| {feature} | {reason} |\n" for feature, reason in reasons.items()]
    return "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
