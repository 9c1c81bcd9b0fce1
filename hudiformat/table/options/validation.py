"""The options of pre-commit validators: SQL queries over the rows before and after a write, which can refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.options.parsers import Keys, member_of

_PACKAGE = "org.apache.hudi.client.validator."
_VALIDATORS = "hoodie.precommit.validators"


class Validator(Enum):
    """The validators of Hudi that run SQL queries, by the names of their classes."""

    EQUALITY = "SqlQueryEqualityPreCommitValidator"
    """Every row that a query returned before the write, it returns after the write, too."""
    INEQUALITY = "SqlQueryInequalityPreCommitValidator"
    """A query returned a row before the write that it does not return after it."""
    SINGLE_RESULT = "SqlQuerySingleResultPreCommitValidator"
    """A query returns one expected value after the write."""

    @property
    def option(self) -> str:
        """The key of its queries."""
        return _QUERIES[self]


_QUERIES: Mapping[Validator, str] = {
    Validator.EQUALITY: f"{_VALIDATORS}.equality.sql.queries",
    Validator.INEQUALITY: f"{_VALIDATORS}.inequality.sql.queries",
    Validator.SINGLE_RESULT: f"{_VALIDATORS}.single.value.sql.queries",
}


class FailurePolicy(Enum):
    """What becomes of a write that a validator refuses."""

    FAIL = "FAIL"
    WARN_LOG = "WARN_LOG"


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """The validators of a write, and their queries in Spark's SQL, in which ``<TABLE_NAME>`` stands for the table.

    ``single_result`` has queries and the value that each of them must return.

    Source: HoodiePreCommitValidatorConfig, SqlQueryPreCommitValidator.getQueriesToRun, Hudi 1.2.0.
    """

    validators: tuple[Validator, ...] = ()
    equality: tuple[str, ...] = ()
    inequality: tuple[str, ...] = ()
    single_result: tuple[tuple[str, str], ...] = ()
    policy: FailurePolicy = FailurePolicy.FAIL

    def check(self) -> None:
        """Raise an OptionError for a validator without queries."""
        given = {
            Validator.EQUALITY: self.equality,
            Validator.INEQUALITY: self.inequality,
            Validator.SINGLE_RESULT: self.single_result,
        }
        for validator in self.validators:
            if not given[validator]:
                raise OptionError(
                    f"{validator.option}: expected at least one query for {validator.value}, found none; add one, "
                    "or leave the validator out",
                    option=validator.option,
                )


def _parse_validators(key: str, value: str) -> tuple[Validator, ...]:
    return tuple(_parse_validator(key, part.strip()) for part in value.split(",") if part.strip())


def _parse_validator(key: str, name: str) -> Validator:
    found = next((one for one in Validator if name == f"{_PACKAGE}{one.value}"), None)
    if found is None:
        known = ", ".join(f"{_PACKAGE}{one.value}" for one in Validator)
        raise UnsupportedFeatureError(
            f"{key}: expected some of {known}, found {name}; leave it out", feature=f"pre-commit validator {name}"
        )
    return found


def _parse_queries(_key: str, value: str) -> tuple[str, ...]:
    return tuple(query for query in value.strip().split(";") if query.strip())


def _parse_results(key: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple(_parse_result(key, query) for query in _parse_queries(key, value))


def _parse_result(key: str, query: str) -> tuple[str, str]:
    parts = query.rstrip("#").split("#")  # as Java splits: without the empty parts at the end
    if len(parts) != 2:  # noqa: PLR2004 - a query and a value
        raise OptionError(
            f"{key}: expected a query, # and the value that it returns, found {query!r}; separate queries by ;",
            option=key,
        )
    return parts[0], parts[1]


VALIDATION_KEYS: Keys = {
    _VALIDATORS: ("validators", _parse_validators),
    _QUERIES[Validator.EQUALITY]: ("equality", _parse_queries),
    _QUERIES[Validator.INEQUALITY]: ("inequality", _parse_queries),
    _QUERIES[Validator.SINGLE_RESULT]: ("single_result", _parse_results),
    f"{_VALIDATORS}.failure.policy": ("policy", member_of(FailurePolicy)),
}
