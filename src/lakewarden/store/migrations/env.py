"""What Alembic runs around the steps: they happen in the transaction of the connection given."""

from __future__ import annotations

from alembic import context

config = getattr(context, "config", None)  # there only while Alembic runs this
if config is not None:
    context.configure(connection=config.attributes["connection"])
    with context.begin_transaction():
        context.run_migrations()
