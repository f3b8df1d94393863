"""The tables, as of the newest migration.

Rows are found by keys of 20 bytes: `key.key` of the names that they belong to. Rows of a realm or a
directory have the number of its scope. All texts compare byte for byte. An `id` has 64 bits, and is
never reused, even after deletion.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

Text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Compared byte for byte, which is SQLite's default."""

Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""64 bits; SQLite auto-increments only the type INTEGER."""

Key = sa.LargeBinary()


def _text(name: str, *, primary: bool = False) -> sa.Column[str]:
    return sa.Column(name, Text, nullable=False, primary_key=primary)


def _key(name: str, *, primary: bool = False) -> sa.Column[bytes]:
    return sa.Column(name, Key, nullable=False, primary_key=primary)


def _number(name: str, *, primary: bool = False) -> sa.Column[int]:
    return sa.Column(name, Number, nullable=False, primary_key=primary, autoincrement=False)


def _id() -> sa.Column[int]:
    return sa.Column("id", Number, sa.Identity(), primary_key=True)


def _scope(*, primary: bool = False) -> sa.Column[int]:
    return sa.Column(
        "scope",
        Number,
        sa.ForeignKey("scopes.id", name=None),
        nullable=False,
        primary_key=primary,
        autoincrement=False,
    )


def _clustered(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    """A table whose rows SQLite stores in key order: the rows of a scope are adjacent."""
    return sa.Table(name, metadata, *columns, sqlite_with_rowid=False)


def _counted(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(name, metadata, *columns, sqlite_autoincrement=True)


scopes = _counted("scopes", _id(), _text("name"), sa.UniqueConstraint("name", name="scopes_name"))
"""Realms by name and directories as `@name`; a row stays when its realm is dropped."""

counter = sa.Table(
    "counter",
    metadata,
    _number("id", primary=True),
    _number("revision"),
    _number("audit_seq"),
    _text("audit_digest"),
    _number("pruned"),
    sa.Column("usable_from", Text, nullable=False, server_default="0013"),
)
"""One row: the newest revision, the end of the audit trail, the last revision without feed, the
oldest schema whose release may use the store."""

realms = sa.Table(
    "realms",
    metadata,
    _scope(primary=True),
    _text("name"),
    _text("model"),
    _text("directory"),
    _text("settings"),
    _text("deleted"),
    _text("spellings"),
    sa.Column("digest", Text, nullable=False, server_default=""),
    sa.Column("lookups", Text, nullable=False, server_default="{}"),
)
"""`digest` is that of the model's text in `models`; empty for a shipped model. `lookups` are lookup
tables by name, as JSON."""

models = sa.Table("models", metadata, _text("digest", primary=True), _text("text"))
"""The texts of models that are not shipped. A row stays when no realm uses its model any more."""

entities = _counted(
    "entities",
    _id(),
    _scope(),
    _key("key"),
    _text("type"),
    _text("name"),
    sa.Column("parent_key", Key),
    sa.Column("parent_type", Text),
    sa.Column("parent_name", Text),
    sa.UniqueConstraint("scope", "key", name="entities_key"),
    sa.Index("entities_parent", "scope", "parent_key"),
    sa.Index("entities_scope", "scope", "id"),
)

relations = _clustered(
    "relations",
    _scope(primary=True),
    _key("source_key", primary=True),
    _text("kind", primary=True),
    _key("target_key", primary=True),
    _text("source_type"),
    _text("source_name"),
    _text("target_type"),
    _text("target_name"),
    sa.Index("relations_target", "scope", "target_key"),
)
attributes = _clustered(
    "attributes",
    _scope(primary=True),
    _key("entity_key", primary=True),
    _key("attribute_key", primary=True),
    _key("value_key", primary=True),
    _text("type"),
    _text("name"),
    _text("attribute"),
    _text("value"),
)

owners = _clustered(
    "owners",
    _scope(primary=True),
    _key("entity_key", primary=True),
    _key("owner_key", primary=True),
    _text("type"),
    _text("name"),
    _text("owner_kind"),
    _text("owner_name"),
    _text("ownership"),
)
"""`owner_key` is the key of the owner and the ownership type."""

principals = _counted(
    "principals",
    _id(),
    _scope(),
    _key("key"),
    _text("kind"),
    _text("name"),
    sa.UniqueConstraint("scope", "key", name="principals_key"),
)

memberships = _clustered(
    "memberships",
    _scope(primary=True),
    _key("member_key", primary=True),
    _key("of_key", primary=True),
    _text("member_kind"),
    _text("member_name"),
    _text("of_kind"),
    _text("of_name"),
)

statements = _counted(
    "statements",
    _id(),
    _scope(),
    _key("key"),
    _text("statement"),
    _text("body"),
    sa.UniqueConstraint("scope", "key", name="statements_key"),
)
"""`statement` is the id that users gave it, `body` its JSON."""

documents = sa.Table(
    "documents",
    metadata,
    _scope(primary=True),
    _text("what", primary=True),
    _key("key", primary=True),
    _text("type"),
    _text("name"),
    _text("body"),
    sa.Index("documents_type", "scope", "type"),
)
"""`what` is `entity` or `statement`; a statement has the type ``."""

timeseries = _clustered(
    "timeseries",
    _scope(primary=True),
    _key("entity_key", primary=True),
    _text("aspect", primary=True),
    _number("time", primary=True),
    _text("mark", primary=True),
    _text("type"),
    _text("name"),
    _text("body"),
    sa.Index("timeseries_type", "scope", "type", "aspect", "time"),
)
"""Values in time: see `service.effect.ValueChanged`."""

document_totals = sa.Table(
    "document_totals",
    metadata,
    _scope(primary=True),
    _number("documents"),
    _number("bytes"),
)
"""The number of rows of a scope in `documents` and `timeseries`, and the UTF-8 bytes of their
bodies. A scope without such rows has no row here."""

MEASURED = (documents, timeseries)
"""The tables whose rows `document_totals` counts."""

secrets = sa.Table(
    "secrets",
    metadata,
    _scope(primary=True),
    _key("entity_key", primary=True),
    _key("secret_key", primary=True),
    _text("type"),
    _text("name"),
    _text("secret"),
    _text("sealed"),
)

credentials = _clustered(
    "credentials",
    _scope(primary=True),
    _key("entity_key", primary=True),
    _text("kind", primary=True),
    _text("type"),
    _text("name"),
    _text("value"),
    sa.Column("expires", sa.Double()),
)
"""The credentials of entities: see `service.credential`. They are in no change feed."""

tokens = sa.Table(
    "tokens",
    metadata,
    _scope(primary=True),
    _key("key", primary=True),
    _text("id"),
    _text("digest"),
    _text("user"),
    sa.Column("created", sa.Double(), nullable=False),
    sa.Column("expires", sa.Double(), nullable=False),
    _text("directory"),
    sa.Column("realm", Text),
    _text("title"),
    sa.Column("unproven", Text),
    sa.Column("groups", Text),
    sa.Column("parent", Text),
)

links = _clustered(
    "links",
    _text("one_realm", primary=True),
    _key("one_key", primary=True),
    _text("other_realm", primary=True),
    _key("other_key", primary=True),
    _text("one_type"),
    _text("one_name"),
    _text("other_type"),
    _text("other_name"),
    _text("keeper"),
    sa.Index("links_other", "other_realm", "other_key"),
)
"""Links between entities that are one asset: see `service.link`. A link is stored once; its ends
may be in either order, which may change when it is stored again after a rename."""

audit = sa.Table(
    "audit",
    metadata,
    _number("seq", primary=True),
    _number("revision"),
    _text("body"),
    _text("digest"),
    sa.Column("seal", Text, nullable=False, server_default=""),
)
"""`seal`: see `service.audit_seal`; empty for a row that was written without a key."""

revisions = sa.Table(
    "revisions",
    metadata,
    _number("revision", primary=True),
    _number("write"),
    sa.UniqueConstraint("write", name="revisions_write"),
)
"""Maps writes to revisions. A write gets its revision last, when it holds the lock, but puts its
rows into the feed before."""

changes = _clustered(
    "changes",
    _number("write", primary=True),
    _number("seq", primary=True),
    _scope(),
    _text("kind"),
    _text("key"),
    _text("op"),
    sa.Column("row", Text),
)
"""The change feed: see `service.effect.FeedRow`."""

usage = sa.Table(
    "usage",
    metadata,
    _text("day"),
    _key("key", primary=True),
    _text("realm"),
    _text("user"),
    _text("operation"),
    _text("type"),
    _text("name"),
    _number("count"),
    sa.Index("usage_realm", "realm"),
)
"""`key` is the key of the day and of everything that is counted."""

attempts = sa.Table(
    "attempts",
    metadata,
    _key("key", primary=True),
    sa.Column("ends", sa.Double(), nullable=False),
    _number("number"),
    sa.Index("attempts_ends", "ends"),
)
"""Attempts: `key` is the key of what was tried, and counts until `ends`."""

OF_A_REALM = (
    *(entities, relations, attributes, owners, principals, memberships, statements),
    *(documents, timeseries, secrets, credentials, tokens, realms),
)
"""The tables whose rows are deleted with their realm."""
