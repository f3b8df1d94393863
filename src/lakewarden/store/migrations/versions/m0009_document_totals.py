"""How much is kept of each realm, counted from what is there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_BYTES = {"sqlite": "length(CAST(body AS BLOB))", "postgresql": "octet_length(body)"}


def upgrade() -> None:
    """Makes the table: every stored document is read once, about a minute for ten million."""
    op.create_table(
        "document_totals",
        sa.Column(
            "scope",
            *(NUMBER, sa.ForeignKey("scopes.id")),
            nullable=False,
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("documents", NUMBER, nullable=False),
        sa.Column("bytes", NUMBER, nullable=False),
    )
    size = _BYTES[op.get_bind().dialect.name]
    each = " UNION ALL ".join(
        f"SELECT scope, count(*) AS documents, sum({size}) AS bytes FROM {table} GROUP BY scope"  # noqa: S608 — our names
        for table in ("documents", "timeseries")
    )
    op.execute(
        "INSERT INTO document_totals (scope, documents, bytes)"  # noqa: S608 — our names
        " SELECT scope, CAST(sum(documents) AS BIGINT), CAST(sum(bytes) AS BIGINT)"
        f" FROM ({each}) AS counted GROUP BY scope"
    )


def downgrade() -> None:
    """Drops it."""
    op.drop_table("document_totals")
