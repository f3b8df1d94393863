"""Rejects SQL texts that sqlglot would take far too long to parse.

A call with the name of a type, such as `date(…)`, may be a type or a function. sqlglot tries both,
and parses everything between the parentheses twice: with thirty nested ones, a thousand million
times.
"""

from __future__ import annotations

from typing import Final

from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect

from lakewarden.kernel.errors import BadInput

MOST: Final = 4
"""The maximum nesting of type names."""


def check_nested_types(text: str, dialect: str, where: str = "") -> None:
    """Raises `BadInput` for type names that are nested too deep.

    Raises sqlglot's error for a text that the dialect's tokenizer rejects, "" for an empty one.
    """
    read_in = Dialect.get_or_raise(dialect)
    types, is_type = read_in.parser_class.TYPE_TOKENS, list[bool]()
    open_types, before = 0, TokenType.SEMICOLON
    for token in read_in.tokenize(text):
        if token.token_type is TokenType.L_PAREN:
            is_type.append(before in types)
            open_types += is_type[-1]
            if open_types > MOST:
                raise BadInput(f"names of types are nested deeper than {MOST}", where=where)
        elif token.token_type is TokenType.R_PAREN and is_type:
            open_types -= is_type.pop()
        before = token.token_type
