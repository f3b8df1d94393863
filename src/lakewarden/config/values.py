"""Types of setting values, and their form in environment variables."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_user_name
from lakewarden.service.realm import check_realm_name

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")

_KEY_BYTES = 32

_CERTIFICATE_NAME = re.compile(r"(CN=|DNS:|URI:|email:).+")


def as_words(value: object) -> object:
    """The words of `a,b`, the form of environment variables, or of a list."""
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    return value


def user_name(value: str) -> str:
    """The value, if it can name a user; raises `ValueError`."""
    try:
        check_user_name(value)
    except BadInput as error:
        raise ValueError(str(error)) from None
    return value


def realm_name(value: str) -> str:
    """The value, if it can name a realm or a directory; raises `ValueError`."""
    try:
        return check_realm_name(value)
    except BadInput as error:
        raise ValueError(str(error)) from None


def secret_key(value: SecretStr) -> SecretStr:
    """The value, if it can be a key that seals secrets; raises `ValueError`."""
    if not is_secret_key(value.get_secret_value()):
        raise ValueError("expected 32 bytes in base64url")
    return value


def is_secret_key(text: str) -> bool:
    """Whether the text is a key that seals secrets: 32 bytes in base64url."""
    try:
        return len(base64.urlsafe_b64decode(text.encode("ascii"))) == _KEY_BYTES
    except (binascii.Error, UnicodeEncodeError):
        return False


def host_name(value: str) -> str:
    """The value, if it can be a `Host`: `name`, `name:port`, or `*`; raises `ValueError`."""
    if value != "*" and _HOST.fullmatch(value) is None:
        raise ValueError(f"expected a name, a name and a port, or `*`, got `{value}`")
    return value.lower()


def address(value: str) -> str:
    """The value, if it parses as an address or is empty; raises `ValueError`."""
    urlsplit(value)
    return value


def certificate_name(value: str) -> str:
    """The value, if it can be a name in a certificate; raises `ValueError`."""
    if _CERTIFICATE_NAME.fullmatch(value) is None:
        raise ValueError(f"expected `CN=…`, `DNS:…`, `URI:…` or `email:…`, got `{value}`")
    return value


def network(value: str) -> str:
    """The value, if it is an address or a network; raises `ValueError`."""
    ipaddress.ip_network(value)
    return value


Hosts = Annotated[
    tuple[Annotated[str, AfterValidator(host_name)], ...], NoDecode, BeforeValidator(as_words)
]
Address = Annotated[str, AfterValidator(address)]
CertificateName = Annotated[str, AfterValidator(certificate_name)]
Places = Annotated[
    tuple[Annotated[str, BeforeValidator(str)], ...], NoDecode, BeforeValidator(as_words)
]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(as_words)]
Networks = Annotated[
    tuple[Annotated[str, AfterValidator(network)], ...], NoDecode, BeforeValidator(as_words)
]
Keys = Annotated[
    tuple[Annotated[SecretStr, AfterValidator(secret_key)], ...],
    NoDecode,
    BeforeValidator(as_words),
]


class Section(BaseModel):
    """A group of settings; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both, merged table by table; `above` takes precedence."""
    result = dict(below)
    for key, value in above.items():
        lower = result.get(key)
        if isinstance(value, Mapping) and isinstance(lower, Mapping):
            result[key] = merged(lower, value)
        else:
            result[key] = value
    return result
