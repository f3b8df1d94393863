"""The full text index anew: what the edges of entities lead to is in it."""

from __future__ import annotations

from alembic import op

from lakewarden.store import search_engine, search_rows

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Makes the index again of what there is: a million entities take about a minute."""
    connection = op.get_bind()
    search_engine.drop_index(connection)
    search_engine.make(connection)
    search_rows.fill(connection)


def downgrade() -> None:
    """Does nothing: terms that nobody asks for do no harm."""
