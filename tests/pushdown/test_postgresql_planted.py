"""Objects that an unprivileged user creates in a database stop no push, and open nothing."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg import sql

from lakewarden.kernel.statement import Statement
from lakewarden.pushdown.masking_views import Note
from tests.pushdown.postgresql_estate import Estate
from tests.pushdown.test_postgresql_escapes import BO, FILTER, READS, facts, reads, role
from tests.pushdown.test_postgresql_grantors import kept, made, own, push_all
from tests.pushdown.test_postgresql_owners import MASK

__all__ = ["kept", "made", "own"]

NOTE = json.dumps({"condition": "true", "is": "true"})
HERS = (
    "CREATE SCHEMA hers AUTHORIZATION ana; SET ROLE ana; CREATE TABLE hers.notes (a int);"
    " RESET ROLE;"
)
PLANTED = {
    "row policies like ours": (
        "CREATE POLICY {all} ON hers.notes TO {role} USING (true) WITH CHECK (true);"
        "CREATE POLICY {rows} ON hers.notes AS RESTRICTIVE TO {role}"
        " USING (true) WITH CHECK (true);"
        "ALTER TABLE hers.notes ENABLE ROW LEVEL SECURITY;"
        "COMMENT ON POLICY {all} ON hers.notes IS {note};"
        "COMMENT ON POLICY {rows} ON hers.notes IS {note}"
    ),
    "row policies for our role": (
        "CREATE POLICY one ON hers.notes TO {role} USING (true);"
        "CREATE POLICY two ON hers.notes TO {role}, ana USING (true)"
    ),
    "default privileges": "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {role}",
    "a user mapping": (
        "CREATE SERVER hers FOREIGN DATA WRAPPER away; CREATE USER MAPPING FOR {role} SERVER hers"
    ),
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_for_a_role_keeps_nobody_a_right(
    kept: Estate, own: psycopg.Connection[Any], planted: str
) -> None:
    own.execute(HERS + "GRANT USAGE ON FOREIGN DATA WRAPPER away TO ana")
    name = role(kept)
    names = {"role": name, "all": f"{name}_all", "rows": f"{name}_rows"}
    quoted = {key: sql.Identifier(value).as_string(own) for key, value in names.items()}
    quoted["note"] = sql.Literal(NOTE).as_string(own)
    own.execute("SET ROLE ana")
    own.execute(PLANTED[planted].format_map(quoted))
    own.execute("RESET ROLE")
    push_all(kept)
    assert reads(kept, BO)
    push_all(kept.with_facts(facts()))
    assert not reads(kept, BO)
    assert not kept.managed_roles().roles


@pytest.mark.by_day(1)
@pytest.mark.parametrize("is_super", [False, True])
def test_a_schema_for_masking_views_that_others_made_is_not_ours(
    kept: Estate, made: Estate, own: psycopg.Connection[Any], is_super: bool
) -> None:
    target = made if is_super else kept
    own.execute(
        sql.SQL("GRANT CREATE ON DATABASE {} TO ana").format(sql.Identifier(own.info.dbname))
    )
    name = target.address.view_schema
    schema = sql.Identifier(name)
    own.execute("SET ROLE ana")
    own.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
    own.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(schema, target.address.mark))
    note = Note(target.address.mark, role(target), (("s", "orders"), (), "true"), "").text
    own.execute(sql.SQL("CREATE VIEW {}.planted AS SELECT 1 AS a").format(schema))
    own.execute(sql.SQL("COMMENT ON VIEW {}.planted IS {}").format(schema, note))
    own.execute("RESET ROLE")
    push_all(target)
    assert reads(target, BO)
    masked = target.with_facts(facts(READS, MASK))
    plan = push_all(masked)
    assert "was not created by lakewarden" in str(list(plan.residues))
    views = own.execute("SELECT viewname FROM pg_views WHERE schemaname = %s", [name]).fetchall()
    assert views in ([("planted",)], [])
    push_all(target.with_facts(facts()))
    assert not reads(target, BO)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("statement", [FILTER, MASK])
def test_a_type_that_a_condition_does_not_fit_stops_no_push(
    kept: Estate, own: psycopg.Connection[Any], statement: Statement
) -> None:
    """The owner of a table determines the types of its columns."""
    own.execute("CREATE TYPE s.area AS ENUM ('eu', 'us'); CREATE DOMAIN s.name AS json")
    limited = kept.with_facts(facts(READS, statement))
    for type in ("json", "xml", "point", "s.area", "s.name", "int[]", "tid"):
        own.execute(
            "ALTER TABLE s.orders DROP COLUMN region CASCADE;"
            f" ALTER TABLE s.orders ADD COLUMN region {type}"
        )
        push_all(limited)
    push_all(kept.with_facts(facts()))
    assert not reads(kept, BO)
