"""Rows found also by what they point to, and a scope's entities in the order they came.

Renames and lists need not read whole tables, nor the start of a server here and there in one.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

INDEXES = {
    "entities_scope": ("entities", ["scope", "id"]),
    "entities_parent": ("entities", ["scope", "parent_key"]),
    "relations_target": ("relations", ["scope", "target_key"]),
    "documents_type": ("documents", ["scope", "type"]),
    "usage_realm": ("usage", ["realm"]),
}


def upgrade() -> None:
    """Makes the indexes."""
    for name, (table, columns) in INDEXES.items():
        op.create_index(name, table, columns)


def downgrade() -> None:
    """Drops them."""
    for name, (table, _) in INDEXES.items():
        op.drop_index(name, table)
