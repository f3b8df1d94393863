"""Values in time of aspects, beside the documents in which an aspect has one value."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the table."""
    scope = sa.Column(
        "scope",
        *(NUMBER, sa.ForeignKey("scopes.id")),
        nullable=False,
        primary_key=True,
        autoincrement=False,
    )
    op.create_table(
        "timeseries",
        scope,
        sa.Column("entity_key", sa.LargeBinary(), nullable=False, primary_key=True),
        sa.Column("aspect", TEXT, nullable=False, primary_key=True),
        sa.Column("time", NUMBER, nullable=False, primary_key=True, autoincrement=False),
        sa.Column("mark", TEXT, nullable=False, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("type", "name", "body")),
        sqlite_with_rowid=False,
    )
    op.create_index("timeseries_type", "timeseries", ["scope", "type", "aspect", "time"])


def downgrade() -> None:
    """Drops it."""
    op.drop_table("timeseries")
