"""Credentials of AWS that Hudi's keys give reach both clients, are never shown, and are whole."""

from __future__ import annotations

import pytest

from hudiformat import OptionError, UnsupportedFeatureError
from hudiformat.table.options.keys import parse_write_options

GIVEN = {"hoodie.aws.access.key": "AKIA", "hoodie.aws.secret.key": "hush", "hoodie.aws.session.token": "token"}
ARGUMENTS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "hush", "aws_session_token": "token"}


def test_keys_are_those_of_locks_and_of_glue() -> None:
    options = parse_write_options(GIVEN)
    assert options.concurrency.lock.dynamodb.aws.arguments() == ARGUMENTS
    assert options.catalogs.glue.aws.arguments() == ARGUMENTS
    assert "hush" not in repr(options)
    assert "AKIA" not in repr(options)
    assert parse_write_options({}).catalogs.glue.aws.arguments() == {}


@pytest.mark.parametrize(
    ("given", "missing"),
    [("hoodie.aws.access.key", "hoodie.aws.secret.key"), ("hoodie.aws.secret.key", "hoodie.aws.access.key")],
)
@pytest.mark.all_sets
def test_half_of_them_is_refused_with_the_other_half_named(given: str, missing: str) -> None:
    with pytest.raises(OptionError, match=f"{missing}: expected it beside the other one") as caught:
        parse_write_options({given: "x"})
    assert caught.value.option == missing


def test_a_role_is_refused_with_what_to_do() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"hoodie.aws.role.arn: .* set AWS_PROFILE"):
        parse_write_options({"hoodie.aws.role.arn": "arn:aws:iam::1:role/x"})
