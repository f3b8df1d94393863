"""The lookup tables of each realm."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the column."""
    op.add_column("realms", sa.Column("lookups", TEXT, nullable=False, server_default="{}"))


def downgrade() -> None:
    """Drops it: an older release lets filters and masks with a lookup table hide everything."""
    op.drop_column("realms", "lookups")
