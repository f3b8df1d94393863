"""Of each token, whether its maker had to prove who it is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the column."""
    op.add_column("tokens", sa.Column("unproven", TEXT))


def downgrade() -> None:
    """Drops it, and the tokens that an older release would take for proven ones."""
    op.execute("DELETE FROM tokens WHERE unproven IS NOT NULL")
    op.drop_column("tokens", "unproven")
