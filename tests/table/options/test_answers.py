"""Every key of Hudi's has one answer, and the answer is what happens."""

from __future__ import annotations

import warnings
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from hudiformat import HudiFormatWarning, OptionError, UnsupportedFeatureError, open_table
from hudiformat.table.options import keys as option_keys
from hudiformat.table.options.answers import RULES, Answer, current_name, hudi_keys, rule_of
from hudiformat.table.options.keys import is_honoured, parse_write_options
from tests.tables import content, create, new_table, rows, tree
from tools.options_page import OWN, PAGE, page

OTHERS = [name for name in hudi_keys() if not is_honoured(name) and not is_honoured(current_name(name))]
REFUSED = [name for name in OTHERS if rule_of(current_name(name)).answer is Answer.REFUSED]
PAYLOADS = "org.apache.hudi.common.model."


def test_every_key_of_hudis_has_an_answer_and_every_rule_a_key() -> None:
    used = {rule_of(current_name(name)).pattern for name in OTHERS}
    assert {rule.pattern for rule in RULES} == used
    assert len({rule.pattern for rule in RULES}) == len(RULES)
    with pytest.raises(LookupError):
        rule_of("hoodie.nobody.knows")


def test_a_key_that_is_honoured_has_no_rule_of_its_own() -> None:
    names = {rule.pattern for rule in RULES if "*" not in rule.pattern}
    assert not [name for name in names if is_honoured(name)]


def test_no_refused_key_is_hidden_by_a_wider_rule() -> None:
    for index, rule in enumerate(RULES):
        assert not any(fnmatchcase(rule.pattern, wider.pattern) for wider in RULES[:index] if "*" in wider.pattern)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_key_is_refused_by_name_before_a_byte_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=f"{current_name(name)}: .*, found 'surely not', which is refused"
    ):
        create(tmp_path / "t", options={name: "surely not"})
    assert tree(tmp_path) == {}


def test_refused_keys_are_refused_on_tables_and_their_defaults_are_taken(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in OTHERS:
            open_table(table.path, options={name: hudi_keys()[name].default})
    with pytest.raises(
        UnsupportedFeatureError,
        match="hoodie.prewrite.validators: .*, found 'x.Y', which is refused: it names Java",
    ):
        open_table(table.path, options={"hoodie.prewrite.validators": "x.Y"})


def test_what_has_no_effect_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(option_keys, "_warned", set())
    with pytest.warns(HudiFormatWarning, match="'hoodie.cleaner.parallelism'|'hoodie.clean.parallelism'"):
        parse_write_options({"hoodie.cleaner.parallelism": "2"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_write_options({"hoodie.cleaner.parallelism": "3"})


def test_the_page_lists_all_keys_with_their_answers() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.options_page"
    for name in hudi_keys():
        assert f"| `{name}` |" in PAGE.read_text("utf-8")
    assert {
        key for keys in option_keys.OPTION_KEYS.values() for key in keys if key.startswith("hudiformat.")
    } == OWN.keys()


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.record.merge.mode": "commit_time_ordering"},
        {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
        {"hoodie.datasource.write.payload.class": f"{PAYLOADS}OverwriteWithLatestAvroPayload"},
        {"hoodie.write.payload.class": f"{PAYLOADS}OverwriteWithLatestAvroPayload"},
        {"hoodie.write.record.merge.strategy.id": "ce9acb64-bde0-424c-9b91-f6ebba25356d"},
    ],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.parametrize("version", [6, 8, 9])
def test_every_way_to_ask_for_a_merge_mode_makes_the_table(
    tmp_path: Path, options: dict[str, str], version: int
) -> None:
    table = new_table(tmp_path / "t", options=options, version=version)
    table.upsert(rows(("a", 5, "x", 1)))
    table.upsert(rows(("a", 1, "x", 2)))
    assert content(table) == [("a", 1, "x", 2)]
    open_table(table.path, options=options)
    (key,) = options
    other = f"{PAYLOADS}DefaultHoodieRecordPayload" if "payload" in key else "EVENT_TIME_ORDERING"
    if "strategy" not in key:
        with pytest.raises(
            OptionError, match=f"{key}: expected COMMIT_TIME_ORDERING, the merge mode of the table, found"
        ):
            open_table(table.path, options={key: other})


@pytest.mark.parametrize("payload", ["EmptyHoodieRecordPayload", "MySuperPayload"])
def test_payloads_that_do_something_else_are_refused(tmp_path: Path, payload: str) -> None:
    options = {"hoodie.datasource.write.payload.class": f"{PAYLOADS}{payload}"}
    with pytest.raises(UnsupportedFeatureError, match=f"{payload}; hand open_table a merger"):
        create(tmp_path / "t", options=options)
    assert tree(tmp_path) == {}
    table = new_table(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match=payload):
        open_table(table.path, options=options)


def test_merge_modes_that_disagree_are_refused(tmp_path: Path) -> None:
    options = {
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.datasource.write.payload.class": f"{PAYLOADS}OverwriteWithLatestAvroPayload",
    }
    with pytest.raises(OptionError, match="expected options that ask for one merge mode"):
        create(tmp_path / "t", options=options)


def test_a_creation_whose_options_contradict_its_arguments_writes_nothing(tmp_path: Path) -> None:
    for key, value in {
        "hoodie.datasource.write.recordkey.field": "v",
        "hoodie.datasource.write.storage.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    }.items():
        with pytest.raises(OptionError, match="as in the table's properties, found"):
            create(tmp_path / "t", options={key: value})
    assert tree(tmp_path) == {}
    generator = {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator"}
    create(tmp_path / "t", options={**generator, "hoodie.datasource.write.keygenerator.type": "SIMPLE"})


def test_the_index_stays_in_the_properties(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", options={"hoodie.index.type": "GLOBAL_SIMPLE"})
    made.upsert(rows(("a", 1, "x", 1)))
    table = open_table(made.path, clock=made._context.clock)
    table.upsert(rows(("a", 2, "y", 2)))
    assert content(table) == [("a", 2, "y", 2)]
    open_table(made.path, options={"hoodie.index.type": "GLOBAL_BLOOM"})
    with pytest.raises(OptionError, match="hoodie.index.type: expected 'GLOBAL_SIMPLE', as in the table's properties"):
        open_table(made.path, options={"hoodie.index.type": "SIMPLE"})


def test_duplicates_of_inserts_are_dropped(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.datasource.write.insert.drop.duplicates": "true"})
    table.insert(rows(("a", 1, "x", 1)))
    table.insert(rows(("a", 2, "x", 2), ("b", 2, "x", 2)))
    assert content(table) == [("a", 1, "x", 1), ("b", 2, "x", 2)]


def test_hudis_own_default_for_the_metadata_table_is_no_error(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"})
    table.insert(rows(("a", 1, "x", 1)))
    assert content(table) == [("a", 1, "x", 1)]
