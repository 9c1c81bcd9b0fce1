"""The configuration keys that Hudi's classes define; ``python -m tests.conformance.option_keys`` writes them down.

What is kept are facts: key, default, class, and for an older name the key that took its place.
"""

from __future__ import annotations

from hudiformat.options import answers
from hudiformat.options.answers import HudiKey, hudi_keys
from tests.conformance.hudi import ROOT, RealHudi

FILE = ROOT / "hudiformat" / "options" / "hudi_keys.txt"
OTHER = "other"
_HEAD = """# The configuration keys of Apache Hudi 1.2.0, from its classes; tests/conformance/option_keys.py makes it:
# key, default, class of the key, and for an older name the key that took its place; with tabs between them.
# Keys of the class "other" are texts in Hudi's code, which no such class defines.
"""
_FIND = r"""
import re, zipfile
loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
load = lambda name, runs: jvm.java.lang.Class.forName(name, runs, loader)
one = load("org.apache.hudi.config.HoodieWriteConfig", False)
bundle = one.getProtectionDomain().getCodeSource().getLocation().getPath()
named = re.compile(r"org/apache/hudi/.*(Config|Configs|Options|Writer)\$?\.class")
result = []
for entry in sorted(zipfile.ZipFile(bundle).namelist()):
    if not named.fullmatch(entry):
        continue
    name = entry[:-6].replace("/", ".")
    try:
        fields = load(name, False).getDeclaredFields()
    except Exception:
        continue  # a class of a library that is not there
    fields = [one for one in fields if one.getType().getName() == "org.apache.hudi.common.config.ConfigProperty"]
    if fields:
        owner = load(name, True).getDeclaredField("MODULE$").get(None) if name.endswith("$") else None
    for field in fields:
        field.setAccessible(True)
        key = field.get(owner)
        if key is not None:
            default = key.defaultValue() if key.hasDefaultValue() else None
            older = [str(one) for one in key.getAlternatives()]
            result.append([key.key(), default if default is None else str(default), name, older])
"""


def keys_of(hudi: RealHudi) -> dict[str, HudiKey]:
    """The keys that the classes of the bundle define, by their names."""
    found: dict[str, HudiKey] = {}
    older: dict[str, HudiKey] = {}
    for name, default, owner, names in hudi.eval_(_FIND):
        text = "" if default is None else _plain(default)
        known = found.get(name)
        group = owner.rpartition(".")[2].rstrip("$") if known is None else known.group
        found[name] = HudiKey(name, (known and known.default) or text, group)
        older |= {old: HudiKey(old, text, group, name) for old in names}
    return {**older, **found}


def _plain(default: str) -> str:
    text = default.lower() if default in ("True", "False") else default
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def main() -> None:
    """Write the file: what the classes define, and what is known beyond that."""
    with RealHudi() as hudi:
        keys = keys_of(hudi)
    keys = {**{name: key for name, key in hudi_keys().items() if key.group == OTHER}, **keys}
    lines = (f"{key.name}\t{key.default}\t{key.group}\t{key.now}".rstrip("\t") for _, key in sorted(keys.items()))
    FILE.write_text(_HEAD + "".join(f"{line}\n" for line in lines), "utf-8")
    answers.hudi_keys.cache_clear()


if __name__ == "__main__":
    main()
