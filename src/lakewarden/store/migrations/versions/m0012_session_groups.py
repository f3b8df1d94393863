"""Of each session, the groups that the identity provider asserted at its start."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the column."""
    op.add_column("tokens", sa.Column("groups", TEXT))


def downgrade() -> None:
    """Drops it, and the sessions for which an older release would not count the groups."""
    op.execute("DELETE FROM tokens WHERE groups IS NOT NULL")
    op.drop_column("tokens", "groups")
