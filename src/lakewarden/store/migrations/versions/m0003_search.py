"""The full text index, with everything in it that is stored."""

from __future__ import annotations

from alembic import op

from lakewarden.store import search_engine, search_rows

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Makes the index of what there is: a million entities take about a minute."""
    connection = op.get_bind()
    search_engine.make(connection)
    search_rows.fill(connection)


def downgrade() -> None:
    """Takes it away."""
    search_engine.drop_index(op.get_bind())
