"""Every access control call of the PyPI client, and the errors that it defines for them.

    python access.py http://127.0.0.1:8787 admin

Run by the client's own Python against an empty server whose service admin is the second
argument. Stops at the first unexpected response.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

os.environ.setdefault("GRAVITINO_USER", "admin")

from gravitino import (  # type: ignore[import-not-found]
    Catalog,
    GravitinoAdminClient,
    GravitinoClient,
    NameIdentifier,
)
from gravitino.api.authorization.owner import Owner  # type: ignore[import-not-found]
from gravitino.api.authorization.privileges import (  # type: ignore[import-not-found]
    Privilege,
    Privileges,
)
from gravitino.api.authorization.role import Role  # type: ignore[import-not-found]
from gravitino.api.authorization.securable_objects import (  # type: ignore[import-not-found]
    SecurableObjects,
)
from gravitino.api.job.job_handle import JobHandle  # type: ignore[import-not-found]
from gravitino.api.job.job_template_change import (  # type: ignore[import-not-found]
    JobTemplateChange,
    ShellTemplateUpdate,
)
from gravitino.api.job.shell_job_template import (  # type: ignore[import-not-found]
    ShellJobTemplate,
)
from gravitino.api.job.spark_job_template import (  # type: ignore[import-not-found]
    SparkJobTemplate,
)
from gravitino.api.metadata_object import MetadataObject  # type: ignore[import-not-found]
from gravitino.api.metadata_objects import MetadataObjects  # type: ignore[import-not-found]
from gravitino.api.rel.column import Column  # type: ignore[import-not-found]
from gravitino.api.rel.types.types import Types  # type: ignore[import-not-found]
from gravitino.api.tag.tag_change import TagChange  # type: ignore[import-not-found]
from gravitino.auth.simple_auth_provider import (  # type: ignore[import-not-found]
    SimpleAuthProvider,
)
from gravitino.client.metadata_object_role_operations import (  # type: ignore[import-not-found]
    MetadataObjectRoleOperations,
)
from gravitino.exceptions import base as errors  # type: ignore[import-not-found]

LAKE = "access_lake"
TABLE = NameIdentifier.of("s", "t")
ON_TABLE = MetadataObjects.of(["c", "s", "t"], MetadataObject.Type.TABLE)
ON_LAKE = MetadataObjects.of([LAKE], MetadataObject.Type.METALAKE)


def client(url: str, user: str) -> GravitinoClient:
    """A client of the metalake for one of its users."""
    os.environ["GRAVITINO_USER"] = user
    return GravitinoClient(url, LAKE, auth_data_provider=SimpleAuthProvider())


@contextmanager
def refused(error: type[Exception]) -> Iterator[None]:
    """Expects this exception of the client from the block."""
    try:
        yield
    except error:
        return
    raise AssertionError(f"expected {error.__name__}")


def held(role: Role) -> dict[str, list[str]]:
    """The contents of a role: `TYPE name` → privileges in the client's notation."""
    return {
        f"{one.type().name} {one.full_name()}": [p.simple_string() for p in one.privileges()]
        for one in role.securable_objects()
    }


def allow(*names: str) -> list[Privilege]:
    """Privileges that allow."""
    return [Privileges.allow(name) for name in names]


def users(lake: GravitinoClient) -> None:
    """Users: add, get, list, remove."""
    for name in ("ana", "bob", "dot.ted@corp", "wei 伟"):
        assert lake.add_user(name).name() == name
        assert lake.get_user(name).roles() == []
    assert lake.list_user_names() == ["admin", "ana", "bob", "dot.ted@corp", "wei 伟"]
    assert [one.name() for one in lake.list_users()] == lake.list_user_names()
    assert lake.get_user("ana").audit_info().creator() == "admin"
    with refused(errors.UserAlreadyExistsException):
        lake.add_user("ana")
    with refused(errors.NoSuchUserException):
        lake.get_user("gone")
    with refused(errors.IllegalArgumentException):
        lake.remove_user("admin")
    assert lake.remove_user("wei 伟")
    assert not lake.remove_user("wei 伟")


def groups(lake: GravitinoClient) -> None:
    """Groups: add, get, list, remove."""
    for name in ("staff", "team"):
        assert lake.add_group(name).name() == name
    assert lake.list_group_names() == ["staff", "team"]
    assert [one.name() for one in lake.list_groups()] == ["staff", "team"]
    assert lake.get_group("staff").roles() == []
    with refused(errors.GroupAlreadyExistsException):
        lake.add_group("staff")
    with refused(errors.NoSuchGroupException):
        lake.get_group("gone")
    assert lake.remove_group("team")
    assert not lake.remove_group("team")


def objects(lake: GravitinoClient) -> None:
    """A catalog, a schema and a table to grant on."""
    catalog = lake.create_catalog("c", Catalog.Type.RELATIONAL, "hive", "", {})
    catalog.as_schemas().create_schema("s", "", {})
    columns = [Column.of("id", Types.LongType.get()), Column.of("mail", Types.StringType.get())]
    catalog.as_table_catalog().create_table(TABLE, columns)


def roles(lake: GravitinoClient) -> None:
    """Roles: create, get, list, delete."""
    on_catalog = SecurableObjects.of_catalog("c", allow("USE_CATALOG", "USE_SCHEMA"))
    on_schema = SecurableObjects.of_schema(on_catalog, "s", [Privileges.deny("MODIFY_TABLE")])
    on_table = SecurableObjects.of_table(on_schema, "t", allow("SELECT_TABLE"))
    made = lake.create_role("readers", {"k": "v"}, [on_catalog, on_schema, on_table])
    assert made.properties() == {"k": "v"}
    assert held(made) == {
        "CATALOG c": ["ALLOW use catalog", "ALLOW use schema"],
        "SCHEMA c.s": ["DENY modify table"],
        "TABLE c.s.t": ["ALLOW select table"],
    }
    assert held(lake.get_role("readers")) == held(made)
    lake.create_role("empty", {}, [])
    assert lake.list_role_names() == ["empty", "readers"]
    with refused(errors.RoleAlreadyExistsException):
        lake.create_role("readers", {}, [])
    with refused(errors.NoSuchRoleException):
        lake.get_role("gone")
    gone = SecurableObjects.of_catalog("gone", allow("USE_CATALOG"))
    with refused(errors.IllegalMetadataObjectException):
        lake.create_role("x", {}, [gone])
    wrong = SecurableObjects.of_catalog("c", allow("CREATE_CATALOG"))
    with refused(errors.IllegalPrivilegeException):
        lake.create_role("x", {}, [wrong])
    assert lake.delete_role("empty")
    assert not lake.delete_role("empty")


def every_privilege(lake: GravitinoClient) -> None:
    """Grants each privilege of the client on the metalake."""
    lake.create_role("everything", {}, [])
    on_lake = SecurableObjects.of_metalake(LAKE, [])
    names = sorted(name.name for name in Privileges._PRIVILEGE_TYPES)
    for name in names:
        lake.grant_privileges_to_role("everything", on_lake, [Privileges.allow(name)])
    words = [p.name().name for p in lake.get_role("everything").securable_objects()[0].privileges()]
    assert sorted(words) == names
    lake.delete_role("everything")


def permissions(lake: GravitinoClient) -> None:
    """Grants and revokes roles and privileges."""
    assert lake.grant_roles_to_user(["readers"], "ana").roles() == ["readers"]
    assert lake.revoke_roles_from_user(["readers"], "ana").roles() == []
    assert lake.grant_roles_to_group(["readers"], "staff").roles() == ["readers"]
    assert lake.revoke_roles_from_group(["readers"], "staff").roles() == []
    with refused(errors.IllegalRoleException):
        lake.grant_roles_to_user(["gone"], "nobody")
    with refused(errors.NoSuchUserException):
        lake.grant_roles_to_user(["readers"], "nobody")
    with refused(errors.NoSuchGroupException):
        lake.revoke_roles_from_group(["readers"], "nobody")
    on_schema = SecurableObjects.parse("c.s", MetadataObject.Type.SCHEMA, [])
    with refused(errors.IllegalPrivilegeException):
        lake.grant_privileges_to_role("readers", on_schema, allow("MODIFY_TABLE"))
    denied = [Privileges.deny("MODIFY_TABLE")]
    assert "SCHEMA c.s" not in held(lake.revoke_privileges_from_role("readers", on_schema, denied))
    granted = lake.grant_privileges_to_role("readers", on_schema, allow("MODIFY_TABLE"))
    assert held(granted)["SCHEMA c.s"] == ["ALLOW modify table"]
    with refused(errors.NoSuchRoleException):
        lake.grant_privileges_to_role("gone", on_schema, allow("SELECT_TABLE"))
    absent = SecurableObjects.parse("c.gone", MetadataObject.Type.SCHEMA, [])
    with refused(errors.NoSuchMetadataObjectException):
        lake.grant_privileges_to_role("readers", absent, allow("SELECT_TABLE"))


def owners(lake: GravitinoClient) -> None:
    """Owners: get and set."""
    assert lake.get_owner(ON_TABLE).name() == "admin"
    lake.set_owner(ON_TABLE, "ana", Owner.Type.USER)
    found = lake.get_owner(ON_TABLE)
    assert (found.name(), found.type()) == ("ana", Owner.Type.USER)
    lake.remove_user("ana")
    assert lake.get_owner(ON_TABLE) is None
    lake.add_user("ana")
    with refused(errors.NotFoundException):
        lake.set_owner(ON_TABLE, "nobody", Owner.Type.USER)
    with refused(errors.IllegalArgumentException):
        lake.set_owner(ON_TABLE, "staff", Owner.Type.GROUP)
    absent = MetadataObjects.of(["c", "s", "gone"], MetadataObject.Type.TABLE)
    with refused(errors.NoSuchMetadataObjectException):
        lake.get_owner(absent)


def object_roles(lake: GravitinoClient) -> None:
    """The roles that name an object."""
    rest = lake._rest_client
    assert MetadataObjectRoleOperations(LAKE, ON_TABLE, rest).list_binding_role_names() == [
        "readers"
    ]
    assert MetadataObjectRoleOperations(LAKE, ON_LAKE, rest).list_binding_role_names() == []


def tags(lake: GravitinoClient) -> None:
    """Tags, and the tags of objects."""
    made = lake.create_tag("pii", "personal", {"k": "v"})
    assert (made.name(), made.comment(), made.properties()) == ("pii", "personal", {"k": "v"})
    lake.create_tag("gold", "", {})
    assert lake.list_tags() == ["gold", "pii"]
    assert [one.name() for one in lake.list_tags_info()] == ["gold", "pii"]
    altered = lake.alter_tag(
        "gold",
        TagChange.rename("silver"),
        TagChange.update_comment("second"),
        TagChange.set_property("a", "b"),
    )
    assert (altered.name(), altered.properties()) == ("silver", {"a": "b"})
    with refused(errors.TagAlreadyExistsException):
        lake.create_tag("pii", "", {})
    with refused(errors.NoSuchTagException):
        lake.get_tag("gold")
    catalog = lake.load_catalog("c")
    table = catalog.as_table_catalog().load_table(TABLE)
    assert catalog.supports_tags().associate_tags(["silver"], []) == ["silver"]
    assert table.supports_tags().associate_tags(["pii"], []) == ["pii"]
    column = next(one for one in table.columns() if one.name() == "mail")
    assert column.supports_tags().associate_tags(["pii"], []) == ["pii"]
    infos = {one.name(): one.inherited() for one in table.supports_tags().list_tags_info()}
    assert infos == {"pii": False, "silver": True}
    assert sorted(column.supports_tags().list_tags()) == ["pii", "silver"]
    assert table.supports_tags().get_tag("silver").inherited() is True
    with refused(errors.TagAlreadyAssociatedException):
        table.supports_tags().associate_tags(["pii"], [])
    carrying = lake.get_tag("pii").associated_objects().objects()
    assert [one.full_name() for one in carrying] == ["c.s.t", "c.s.t.mail"]
    assert table.supports_tags().associate_tags([], ["pii"]) == []
    assert lake.delete_tag("pii")
    assert not lake.delete_tag("pii")


def jobs(lake: GravitinoClient) -> None:
    """Job templates and jobs."""
    shell = (
        ShellJobTemplate.builder()
        .with_name("compact")
        .with_comment("c")
        .with_executable("/bin/compact.sh")
        .with_arguments(["{{table}}"])
        .with_environments({"A": "1"})
        .with_custom_fields({"team": "x"})
        .with_scripts(["/bin/lib.sh"])
        .build()
    )
    spark = (
        SparkJobTemplate.builder()
        .with_name("marts")
        .with_executable("marts.jar")
        .with_class_name("org.marts.Main")
        .with_jars(["a.jar"])
        .with_configs({"spark.x": "1"})
        .build()
    )
    lake.register_job_template(shell)
    lake.register_job_template(spark)
    assert lake.get_job_template("compact") == shell
    assert lake.list_job_templates()[1].class_name == "org.marts.Main"
    with refused(errors.JobTemplateAlreadyExistsException):
        lake.register_job_template(shell)
    altered = lake.alter_job_template(
        "compact",
        JobTemplateChange.rename("squeeze"),
        JobTemplateChange.update_comment("new"),
        JobTemplateChange.update_template(ShellTemplateUpdate(new_executable="/bin/squeeze.sh")),
    )
    assert (altered.name, altered.executable) == ("squeeze", "/bin/squeeze.sh")
    job = lake.run_job("squeeze", {"table": "c.s.t"})
    assert job.job_status() == JobHandle.Status.QUEUED
    assert lake.get_job(job.job_id()).job_template_name() == "squeeze"
    assert [one.job_id() for one in lake.list_jobs()] == [job.job_id()]
    assert lake.list_jobs("marts") == []
    with refused(errors.InUseException):
        lake.delete_job_template("squeeze")
    assert lake.cancel_job(job.job_id()).job_status() == JobHandle.Status.CANCELLED
    with refused(errors.NoSuchJobException):
        lake.get_job("job-0")
    with refused(errors.NoSuchJobTemplateException):
        lake.run_job("gone", {})
    assert lake.delete_job_template("squeeze")
    assert not lake.delete_job_template("squeeze")


def somebody(url: str, lake: GravitinoClient) -> None:
    """A user without permission is denied; a grant takes effect at once."""
    ana = client(url, "ana")
    tables = lake.load_catalog("c").as_table_catalog()
    assert ana.list_user_names() == ["ana"]
    assert ana.list_role_names() == []
    acts: tuple[Callable[[], object], ...] = (
        lambda: ana.add_user("x"),
        lambda: ana.remove_user("bob"),
        lambda: ana.get_user("bob"),
        lambda: ana.add_group("x"),
        lambda: ana.create_role("x", {}, []),
        lambda: ana.get_role("readers"),
        lambda: ana.delete_role("readers"),
        lambda: ana.grant_roles_to_user(["readers"], "ana"),
        lambda: ana.set_owner(ON_LAKE, "ana", Owner.Type.USER),
        lambda: ana.get_owner(ON_TABLE),
        lambda: ana.load_catalog("c"),
    )
    for act in acts:
        with refused(errors.ForbiddenException):
            act()
    lake.grant_roles_to_user(["readers"], "ana")
    assert ana.list_role_names() == ["readers"]
    found = ana.load_catalog("c").as_table_catalog().load_table(TABLE)
    assert found.name() == tables.load_table(TABLE).name()
    assert ana.get_owner(ON_TABLE) is None
    lake.revoke_roles_from_user(["readers"], "ana")
    with refused(errors.ForbiddenException):
        ana.load_catalog("c")
    ana.close()


def main(url: str, admin: str) -> None:
    """Runs everything, in an order that leaves an empty server."""
    os.environ["GRAVITINO_USER"] = admin
    setup = GravitinoAdminClient(url, auth_data_provider=SimpleAuthProvider())
    setup.create_metalake(LAKE, "", {})
    lake = client(url, admin)
    for walk in (
        users,
        groups,
        objects,
        roles,
        every_privilege,
        permissions,
        owners,
        object_roles,
        tags,
        jobs,
    ):
        walk(lake)
        print(f"{walk.__name__}: ok", flush=True)
    somebody(url, lake)
    lake.close()
    assert setup.drop_metalake(LAKE, force=True)
    setup.close()
    print("all: ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
