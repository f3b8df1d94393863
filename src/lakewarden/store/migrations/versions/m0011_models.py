"""The texts of models that are not shipped, and which realm has which."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the table and the column."""
    op.create_table(
        "models",
        sa.Column("digest", TEXT, nullable=False, primary_key=True),
        sa.Column("text", TEXT, nullable=False),
    )
    op.add_column("realms", sa.Column("digest", TEXT, nullable=False, server_default=""))


def downgrade() -> None:
    """Drops both; an older release does not know the model of a realm that had such a text."""
    op.drop_column("realms", "digest")
    op.drop_table("models")
