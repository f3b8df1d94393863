"""Folders of the pipeline on the command line: paths, or addresses of object stores and HDFS."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter, Token

from lakewarden.pipeline.storage.location import Location, location


def _placed(_: type, tokens: tuple[Token, ...]) -> Location:
    return location(tokens[0].value)


Folder = Annotated[Location, Parameter(converter=_placed, n_tokens=1, accepts_keys=False)]
"""`/data/lake`, or an address such as `s3://bucket/lake` or `hdfs://namenode:8020/lake`."""
