"""Which entities of different realms are one asset."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
KEY = sa.LargeBinary()


def upgrade() -> None:
    """Makes the table."""
    ends = (("one_realm", TEXT), ("one_key", KEY), ("other_realm", TEXT), ("other_key", KEY))
    names = ("one_type", "one_name", "other_type", "other_name", "keeper")
    op.create_table(
        "links",
        *(sa.Column(name, kind, nullable=False, primary_key=True) for name, kind in ends),
        *(sa.Column(name, TEXT, nullable=False) for name in names),
        sqlite_with_rowid=False,
    )
    op.create_index("links_other", "links", ["other_realm", "other_key"])


def downgrade() -> None:
    """Drops it."""
    op.drop_table("links")
