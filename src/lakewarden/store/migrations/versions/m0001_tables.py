"""The tables of the first release."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
START = "0" * 64


def upgrade() -> None:
    """Makes all tables, and the counter's one row."""
    _counted("scopes", _text("name"), sa.UniqueConstraint("name", name="scopes_name"))
    _counter()
    _in_scope("realms", (), *_texts("name model directory settings deleted spellings"))
    _facts()
    _beside()
    _history()


def _counter() -> None:
    counter = op.create_table(
        "counter",
        *(_primary("id", NUMBER), _number("revision"), _number("audit_seq")),
        *(_text("audit_digest"), _number("pruned")),
    )
    row = {"id": 1, "revision": 0, "audit_seq": 0, "audit_digest": START, "pruned": 0}
    op.bulk_insert(counter, [row])


def _facts() -> None:
    _counted(
        "entities",
        *(_scope(), _key("key"), *_texts("type name")),
        sa.Column("parent_key", sa.LargeBinary()),
        sa.Column("parent_type", TEXT),
        sa.Column("parent_name", TEXT),
        sa.UniqueConstraint("scope", "key", name="entities_key"),
    )
    _clustered(
        "relations",
        (_key_part("source_key"), _primary("kind", TEXT), _key_part("target_key")),
        *_texts("source_type source_name target_type target_name"),
    )
    _clustered(
        "attributes",
        tuple(map(_key_part, ("entity_key", "attribute_key", "value_key"))),
        *_texts("type name attribute value"),
    )
    _clustered(
        "owners",
        tuple(map(_key_part, ("entity_key", "owner_key"))),
        *_texts("type name owner_kind owner_name ownership"),
    )
    _counted(
        "principals",
        *(_scope(), _key("key"), *_texts("kind name")),
        sa.UniqueConstraint("scope", "key", name="principals_key"),
    )
    _clustered(
        "memberships",
        tuple(map(_key_part, ("member_key", "of_key"))),
        *_texts("member_kind member_name of_kind of_name"),
    )
    _counted(
        "statements",
        *(_scope(), _key("key"), *_texts("statement body")),
        sa.UniqueConstraint("scope", "key", name="statements_key"),
    )


def _beside() -> None:
    _in_scope("documents", (_primary("what", TEXT), _key_part("key")), *_texts("type name body"))
    _in_scope(
        "secrets",
        tuple(map(_key_part, ("entity_key", "secret_key"))),
        *_texts("type name secret sealed"),
    )
    _in_scope(
        "tokens",
        (_key_part("key"),),
        *_texts("id digest user"),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        *(_text("directory"), sa.Column("realm", TEXT), _text("title")),
    )


def _history() -> None:
    op.create_table("audit", _primary("seq", NUMBER), _number("revision"), *_texts("body digest"))
    op.create_table(
        "revisions",
        *(_primary("revision", NUMBER), _number("write")),
        sa.UniqueConstraint("write", name="revisions_write"),
    )
    op.create_table(
        "changes",
        *(_primary("write", NUMBER), _primary("seq", NUMBER), _scope()),
        *(*_texts("kind key op"), sa.Column("row", TEXT)),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "usage",
        *(_text("day"), _key_part("key"), *_texts("realm user operation type name")),
        _number("count"),
    )


def downgrade() -> None:
    """Drops all of them."""
    for name in (
        *("usage", "changes", "revisions", "audit", "tokens", "secrets", "documents"),
        *("statements", "memberships", "principals", "owners", "attributes", "relations"),
        *("entities", "realms", "counter", "scopes"),
    ):
        op.drop_table(name)


def _counted(name: str, *items: Any) -> None:
    counted = sa.Column("id", NUMBER, sa.Identity(), primary_key=True)
    op.create_table(name, counted, *items, sqlite_autoincrement=True)


def _in_scope(name: str, primary: tuple[Any, ...], *items: Any) -> None:
    op.create_table(name, _scope(primary=True), *primary, *items)


def _clustered(name: str, primary: tuple[Any, ...], *items: Any) -> None:
    op.create_table(name, _scope(primary=True), *primary, *items, sqlite_with_rowid=False)


def _scope(*, primary: bool = False) -> Any:
    return sa.Column(
        "scope",
        *(NUMBER, sa.ForeignKey("scopes.id")),
        nullable=False,
        primary_key=primary,
        autoincrement=False,
    )


def _primary(name: str, type: Any) -> Any:
    return sa.Column(name, type, primary_key=True, nullable=False, autoincrement=False)


def _key_part(name: str) -> Any:
    return _primary(name, sa.LargeBinary())


def _key(name: str) -> Any:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _number(name: str) -> Any:
    return sa.Column(name, NUMBER, nullable=False)


def _text(name: str) -> Any:
    return sa.Column(name, TEXT, nullable=False)


def _texts(names: str) -> list[Any]:
    return [_text(name) for name in names.split()]
