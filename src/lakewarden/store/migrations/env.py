"""Alembic's environment: runs the steps in the transaction of the given connection."""

from __future__ import annotations

from alembic import context

config = getattr(context, "config", None)  # exists only while Alembic runs this
if config is not None:
    context.configure(connection=config.attributes["connection"])
    with context.begin_transaction():
        context.run_migrations()
