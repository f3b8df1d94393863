"""Since which schema a release may use the store; see `store.compatibility`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
usable_from = "0013"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the column."""
    op.add_column(
        "counter", sa.Column("usable_from", TEXT, nullable=False, server_default=usable_from)
    )


def downgrade() -> None:
    """Drops it."""
    op.drop_column("counter", "usable_from")
