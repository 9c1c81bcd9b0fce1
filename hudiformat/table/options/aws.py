"""The credentials of AWS that Hudi's keys give for Glue and DynamoDB; without them the environment's are taken."""

from __future__ import annotations

from dataclasses import dataclass, field

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.options.parsers import Keys, parse_text

_ACCESS_KEY, _SECRET_KEY = "hoodie.aws.access.key", "hoodie.aws.secret.key"


@dataclass(frozen=True, slots=True)
class AwsOptions:
    """An access key with its secret, and for temporary ones a token; none of them is shown.

    Source: HoodieAWSConfig, HoodieConfigAWSCredentialsProvider, Hudi 1.2.0.
    """

    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    def arguments(self) -> dict[str, str]:
        """Return the arguments of a client of botocore or boto3.

        Raises:
            OptionError: only one of key and secret is given.
        """
        if not self.access_key and not self.secret_key:
            return {}
        if not (self.access_key and self.secret_key):
            missing = _SECRET_KEY if self.access_key else _ACCESS_KEY
            raise OptionError(f"{missing}: expected it beside the other one, found none; set both", option=missing)
        token = {"aws_session_token": self.session_token} if self.session_token else {}
        return {"aws_access_key_id": self.access_key, "aws_secret_access_key": self.secret_key, **token}


def _refuse_role(key: str, _value: str) -> str:
    raise UnsupportedFeatureError(
        f"{key}: expected no role to assume here, found one; name it in a profile of AWS's configuration (role_arn, "
        "source_profile), and set AWS_PROFILE",
        feature=key,
    )


AWS_KEYS: Keys = {
    _ACCESS_KEY: ("access_key", parse_text),
    _SECRET_KEY: ("secret_key", parse_text),
    "hoodie.aws.session.token": ("session_token", parse_text),
    **{f"hoodie.aws.role.{name}": ("access_key", _refuse_role) for name in ("arn", "external.id", "session.name")},
}
