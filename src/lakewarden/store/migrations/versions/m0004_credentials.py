"""What people sign in with, and how often that was tried."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the tables."""
    scope = sa.Column(
        "scope",
        *(NUMBER, sa.ForeignKey("scopes.id")),
        nullable=False,
        primary_key=True,
        autoincrement=False,
    )
    op.create_table(
        "credentials",
        scope,
        sa.Column("entity_key", sa.LargeBinary(), nullable=False, primary_key=True),
        sa.Column("kind", TEXT, nullable=False, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("type", "name", "value")),
        sa.Column("expires", sa.Double()),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "attempts",
        sa.Column("key", sa.LargeBinary(), nullable=False, primary_key=True),
        sa.Column("ends", sa.Double(), nullable=False),
        sa.Column("number", NUMBER, nullable=False),
    )
    op.create_index("attempts_ends", "attempts", ["ends"])


def downgrade() -> None:
    """Drops them."""
    op.drop_table("attempts")
    op.drop_table("credentials")
