"""The configuration keys that Hudi's classes define; ``python -m tests.conformance.option_keys`` writes them down.

What is kept are facts: key, default, class, and for an older name the key that took its place.
"""

from __future__ import annotations

from pathlib import Path

from hudiformat.table.options import answers
from hudiformat.table.options.answers import HudiKey, hudi_keys
from tests.conformance.hudi import ROOT, RealHudi
from tests.conformance.java import JavaClass

FILE = ROOT / "hudiformat" / "table" / "options" / "hudi_keys.txt"
OTHER = "other"
LATER = "new in Hudi 1.2.1"
"""Keys of a later version, whose jars are published without a bundle: nothing of theirs is in the one that is asked."""
_HEAD = """# The configuration keys of Apache Hudi 1.2.0, from its classes; tests/conformance/option_keys.py makes it:
# key, default, class of the key, and for an older name the key that took its place; with tabs between them.
# Keys of the class "other" are texts in Hudi's code, which no such class defines.
# Keys of the class "new in Hudi 1.2.1" are of its jars.
"""
_CLASSES = r"""
import re, zipfile
one = jvm.org.apache.hudi.common.model.HoodieTableType.values()[0].getClass()
bundle = one.getProtectionDomain().getCodeSource().getLocation().getPath()
named = re.compile(r"org/apache/hudi/.*(Config|Configs|Options|Writer)\$?\.class")
entries = sorted(entry for entry in zipfile.ZipFile(bundle).namelist() if named.fullmatch(entry))
result = [entry[:-6].replace("/", ".") for entry in entries]
"""


def keys_of(hudi: RealHudi) -> dict[str, HudiKey]:
    """The keys that the classes of the bundle define, by their names."""
    found: dict[str, HudiKey] = {}
    older: dict[str, HudiKey] = {}
    java = JavaClass(hudi, "OptionKeys", Path(__file__).with_suffix(".java"))
    for line in java.call("of", "\n".join(hudi.eval_(_CLASSES))).split("\2")[:-1]:
        name, owner, default, names = line.split("\1")
        text = default.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
        known = found.get(name)
        group = owner.rpartition(".")[2].rstrip("$") if known is None else known.group
        found[name] = HudiKey(name, (known and known.default) or text, group)
        older |= {old: HudiKey(old, text, group, name) for old in names.split()}
    return {**older, **found}


def main() -> None:
    """Write the file: what the classes define, and what is known beyond that."""
    with RealHudi() as hudi:
        keys = keys_of(hudi)
    keys = {**{name: key for name, key in hudi_keys().items() if key.group in (OTHER, LATER)}, **keys}
    lines = (f"{key.name}\t{key.default}\t{key.group}\t{key.now}".rstrip("\t") for _, key in sorted(keys.items()))
    FILE.write_text(_HEAD + "".join(f"{line}\n" for line in lines), "utf-8")
    answers.hudi_keys.cache_clear()


if __name__ == "__main__":
    main()
