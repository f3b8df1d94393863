"""Removes secrets from messages: credentials in addresses, and values of secret settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final

MASKED: Final = "•••"

_HIDDEN: Final = (
    "(?:secret|passw(?:or)?d|token|credential|signature|jaas"
    "|(?:access|account|api|private)[._-]?key)"
)
_USER: Final = re.compile(r"(?<=://)(?<!abfs://)(?<!abfss://)[^\s:/@`\"']*(?::[^\s`\"']*)?@")
"""The user and password in an address; in Azure addresses this is a container."""

_PARAMETER: Final = re.compile(rf"(?i)([?&;][\w.-]*(?:{_HIDDEN}|sig)[\w.-]*=)[^\s&;`\"']+")
_SETTING: Final = re.compile(rf"(?is)((?:^|=)[\w.]*{_HIDDEN}[\w.-]*=).+")


def masked(text: str) -> str:
    """The text without the credentials of the addresses in it.

    >>> masked("no answer from postgresql://ana:pa/ss@host/db")
    'no answer from postgresql://•••@host/db'
    >>> masked("sc://host:15002/;user_id=ana;token=abc"), masked("https://h/f?sig=a%2B&x=1")
    ('sc://host:15002/;user_id=ana;token=•••', 'https://h/f?sig=•••&x=1')
    """
    return _PARAMETER.sub(rf"\1{MASKED}", _USER.sub(f"{MASKED}@", text))


def plain_address(address: str) -> str:
    """An address without user, password and parameters.

    >>> plain_address("postgresql+psycopg://ana:pa/ss@db:5432/estate?sslmode=require")
    'postgresql+psycopg://db:5432/estate'
    """
    return re.split(r"[?#;]", _USER.sub("", address))[0]


def database_address(url: str) -> str:
    """The URL of a database without user, password, parameters and driver.

    >>> database_address("postgresql+psycopg://ana:secret@db:5432/estate")
    'postgresql://db:5432/estate'
    """
    scheme, _, place = plain_address(url).partition("://")
    return f"{scheme.partition('+')[0]}://{place}"


def masked_command(words: Iterable[str]) -> str:
    """A command line in shell syntax, without credentials and values of secret settings.

    >>> masked_command(["index", "--spark-conf=spark.hadoop.fs.s3a.secret.key=abc"])
    "index '--spark-conf=spark.hadoop.fs.s3a.secret.key=•••'"
    """
    return shlex.join(masked(_SETTING.sub(rf"\1{MASKED}", word)) for word in words)
