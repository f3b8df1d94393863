"""Of each session, the token that it was opened with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
usable_from = "0014"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the column."""
    op.add_column("tokens", sa.Column("parent", TEXT))


def downgrade() -> None:
    """Drops it, and the sessions that an older release would not end with their tokens."""
    op.execute("DELETE FROM tokens WHERE parent IS NOT NULL")
    op.drop_column("tokens", "parent")
