"""Seals of the rows of the audit trail. Rows that are there have none: the next one tells so."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes room for them."""
    op.add_column("audit", sa.Column("seal", TEXT, nullable=False, server_default=""))


def downgrade() -> None:
    """Drops them."""
    op.drop_column("audit", "seal")
