"""Users and groups of a directory and of an identity provider, with a source of grants."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.inventory import Inventory, with_inventories
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import people
from lakewarden.systems.gravitino.ingest.catalogs.records import MemberOf, Present, Untranslated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = base64.b64encode("cn=Bj\u00f6rn,ou=People,dc=corp".encode()).decode()
LDIF = f"""version: 1
# people
dn: uid=ana,ou=People,dc=corp
objectClass: inetOrgPerson
uid: ana
cn: Ana
  Lima

dn:: {NAME}
objectClass: user
objectClass: organizationalPerson
sAMAccountName: bjorn
userAccountControl: 512
jpegPhoto:: /9j=

dn: uid=cleo,ou=People,dc=corp
objectClass: person
uid: cleo
userAccountControl: 514

dn: ou=People,dc=corp
objectClass: organizationalUnit

dn: cn=crew,ou=Groups,dc=corp
objectClass: groupOfNames
cn: crew
member: UID=Ana, OU=People, DC=corp
member: uid=cleo,ou=People,dc=corp
member: uid=gone,ou=People,dc=corp

dn: cn=all,ou=Groups,dc=corp
objectClass: groupOfUniqueNames
cn: all
uniqueMember: cn=crew,ou=Groups,dc=corp
uniqueMember:: {NAME}

dn: cn=unix,ou=Groups,dc=corp
objectClass: posixGroup
cn: unix
memberUid: bjorn
"""
SCIM = {
    "totalResults": 3,
    "Resources": [
        {"id": "1", "userName": "dora", "active": True},
        {"id": "2", "userName": "eve", "active": False},
        {"id": "9", "displayName": "leads", "members": [{"value": "1"}, {"value": "2"}]},
    ],
}


def group(dn: str, name: str) -> str:
    return f"dn: {dn}\nobjectClass: groupOfNames\ncn: {name}\n"


def person(dn: str, name: str) -> str:
    return f"dn: {dn}\nobjectClass: person\nuid: {name}\n"


def written(folder: Path) -> Path:
    folder.mkdir()
    (folder / "directory.ldif").write_text(LDIF, "utf-8")
    (folder / "scim.json").write_text(json.dumps(SCIM), "utf-8")
    (folder / "users.csv").write_text("user,active\nfay,true\ngil,false\n", "utf-8")
    (folder / "members.csv").write_text(
        "group,member,kind\nstaff,fay,user\nstaff,leads,group\nstaff,gil,user\n", "utf-8"
    )
    return folder


def ingested(folder: Path, out: Path, spark: SparkSession) -> Result:
    source = opener_of("people-file").open(str(folder), "gravitino", {"metalake": "lk"})
    return ingest(source, out, spark=spark)


def test_people_of_three_formats(unstarted: SparkSession, tmp_path: Path) -> None:
    result = ingested(written(tmp_path / "in"), tmp_path / "out", unstarted)
    facts = load(tmp_path / "out").facts
    members = {
        (row.member.name, row.of.name) for row in facts.memberships if row.of.kind == "group"
    }
    assert members == {
        ("ana", "crew"),
        ("ana", "all"),
        ("bjorn", "all"),
        ("bjorn", "unix"),
        ("dora", "leads"),
        ("dora", "staff"),
        ("fay", "staff"),
    }
    users = {one.name for one in facts.principals if one.kind == "user"}
    assert users == {"ana", "bjorn", "dora", "fay"}
    notes = {f"{note.subject}: {note.what}" for note in result.report.notes}
    assert notes >= {
        "crew: uid=gone,ou=people,dc=corp: member of a group: names no user or group of the export",
        "cleo: not active: no user here",
        "eve: not active: no user here",
    }


def test_people_are_a_part_of_a_realm_with_grants(unstarted: SparkSession, tmp_path: Path) -> None:
    """Inventory, grants and people are three sources; each can be renewed alone."""
    ingested(written(tmp_path / "in"), tmp_path / "people", unstarted)
    page = {
        "TableList": [
            {
                "Name": "orders",
                "DatabaseName": "shop",
                "StorageDescriptor": {"Columns": [{"Name": "id"}, {"Name": "card"}]},
            }
        ]
    }
    group = "arn:aws:identitystore:::group/crew"
    permission = {
        "Principal": {"DataLakePrincipalIdentifier": group},
        "Resource": {
            "TableWithColumns": {
                "DatabaseName": "shop",
                "Name": "orders",
                "ColumnWildcard": {"ExcludedColumnNames": ["card"]},
            }
        },
        "Permissions": ["SELECT"],
    }
    options = {"metalake": "lk", "catalog": "aws"}
    for name, text in (
        ("tables", page),
        ("grants", {"PrincipalResourcePermissions": [permission]}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(text), "utf-8")
    glue = opener_of("glue-file")
    tables = glue.open(str(tmp_path / "tables.json"), "gravitino", options)
    ingest(tables, tmp_path / "tables", spark=unstarted)
    (tmp_path / "members").mkdir()
    (tmp_path / "members" / "members.csv").write_text(
        f"group,member,kind\n{group},ana,user\n", "utf-8"
    )
    ingested(tmp_path / "members", tmp_path / "sso", unstarted)
    grants = with_inventories(
        glue.open(str(tmp_path / "grants.json"), "gravitino", options),
        [
            Inventory(tmp_path / "tables"),
            Inventory(tmp_path / "people", frozenset({"people"})),
            Inventory(tmp_path / "sso", frozenset({"people"})),
        ],
    )
    ingest(grants, tmp_path / "lake", spark=unstarted)
    loaded = load(tmp_path / "lake")
    warden = Warden(loaded.system, loaded.facts)
    assert warden.who("column.read", "column:lk:aws.shop.orders.id") == ("ana",)
    assert warden.who("column.read", "column:lk:aws.shop.orders.card") == ()
    assert warden.check("fay", "metalake.load", "metalake:lk").allow


ANA = "dn: uid=ana,dc=corp\nobjectClass: person\nuid: ana\n"
SEARCHES = """dn: cn=all,dc=corp
objectClass: groupOfURLs
cn: all
memberURL: ldap:///dc=corp??sub?(objectClass=person)

dn: cn=staff,dc=corp
objectClass: groupOfMembers
cn: staff
member: uid=ana,dc=corp
"""


def test_groups_by_search_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a.ldif").write_text(f"{SEARCHES}\n{ANA}", "utf-8")
    found = list(people.records([File(tmp_path / "a.ldif", "a.ldif")]))
    assert [one.subject for one in found if isinstance(one, Untranslated)] == ["cn=all,dc=corp"]
    assert [one.of.name for one in found if isinstance(one, MemberOf)] == ["staff"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uid: ana\n", "line 1: expected `dn:`"),
        ("dn: uid=ana\nchangetype: delete\n", "line 2: expected entries, not changes"),
        ("dn: uid=ana\nuid:< file:///etc/passwd\n", "line 2: expected `attribute: value`"),
        ("dn: uid=ana\nnonsense\n", "line 2: expected `attribute: value`"),
        ("dn:: %%%\n", "line 1: expected text in base64"),
        ("dn: uid=ana\nobjectClass: person\n", "line 1: expected the attribute `samaccountname`"),
        (
            "dn: a\nobjectClass: person\nuid: a\nuserAccountControl: x\n",
            "expected a number in `userAccountControl`",
        ),
        (
            group("cn=readers,ou=hr", "readers") + "\n" + group("cn=readers,ou=it", "readers"),
            "line 5: the group `readers` is both `cn=readers,ou=hr` and `cn=readers,ou=it`",
        ),
        (
            person("uid=ana,ou=hr", "ana") + "\n" + person("uid=ana,ou=it", "ana"),
            "line 5: the user `ana` is both `uid=ana,ou=hr` and `uid=ana,ou=it`",
        ),
        (
            person("uid=ana,ou=hr", "ana") + "\n" + person("uid=Ana, ou=hr", "ana2"),
            "line 5: `uid=ana,ou=hr` is both the user `ana` and the user `ana2`",
        ),
        ("dn: a\ndescription: x\rmember: eve\n", "line 2: expected a carriage return only"),
        (
            f"{group('cn=a', 'a')}member;range=0-1499: uid=ana\n",
            "line 1: is cut off: member; export all of it",
        ),
    ],
)
def test_a_malformed_directory_is_refused(
    unstarted: SparkSession, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "in.ldif").write_text(text, "utf-8")
    with pytest.raises(BadInput) as refused:
        ingested(tmp_path / "in.ldif", tmp_path / "out", unstarted)
    assert message in str(refused.value)


def test_only_the_ends_of_lines_cut_a_directory(tmp_path: Path) -> None:
    """Values may contain Unicode line separators: they must not create members."""
    inside = "".join(f"x{c}member: uid=eve{c}" for c in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    text = f"dn: cn=a\r\ndescription: {inside}\r\n  more\r\nuid: ana\x0c\r\n\r\ndn: cn=b\r\n"
    path = tmp_path / "in.ldif"
    path.write_bytes(text.encode())
    first, second = people.entries(File(path, "in.ldif"))
    assert first == (
        "in.ldif: line 1",
        {"dn": ["cn=a"], "description": [f"{inside} more"], "uid": ["ana\x0c"]},
    )
    assert second == ("in.ldif: line 6", {"dn": ["cn=b"]})


def test_members_in_ranges_names_in_languages_and_accounts_without_an_end_of_their_lock(
    tmp_path: Path,
) -> None:
    """Active Directory returns 1,500 members at a time; `cn;lang-fr` is not a group's name."""
    readers = "dn: cn=r\nobjectClass: group\ncn;lang-fr: Lecteurs\ncn: readers\n"
    ranges = "member;range=0-0: uid=ana\nmember;Range=1-*: uid=ben\n\n"
    locked = "pwdAccountLockedTime: 000001010000Z\n"
    path = tmp_path / "in.ldif"
    ben = person("uid=ben", "ben")
    path.write_text(readers + ranges + person("uid=ana", "ana") + locked + "\n" + ben, "utf-8")
    found = list(people.records([File(path, "in.ldif")]))
    active = {one.principal.name: one.is_active for one in found if isinstance(one, Present)}
    assert active == {"readers": True, "ana": False, "ben": True}
    members = [one for one in found if isinstance(one, MemberOf)]
    assert [(one.member.name, one.of.name) for one in members] == [
        ("ana", "readers"),
        ("ben", "readers"),
    ]


def test_names_of_attributes_of_an_identity_provider_may_have_any_case(tmp_path: Path) -> None:
    """According to RFC 7643: before, inactive users were active, and a group had no members."""
    user = {"ID": "1", "UserName": "ana", "Active": False}
    staff = {"id": "2", "displayname": "staff", "Members": [{"Value": "1"}]}
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"totalresults": 2, "resources": [user, staff]}), "utf-8")
    found = list(people.records([File(path, "in.json")]))
    active = {one.principal.name: one.is_active for one in found if isinstance(one, Present)}
    assert active == {"ana": False, "staff": True}
    assert [one.member.name for one in found if isinstance(one, MemberOf)] == ["ana"]
    path.write_text('{"id": "1", "userName": "ana", "active": false, "Active": true}', "utf-8")
    with pytest.raises(BadInput, match="active: is given twice"):
        list(people.records([File(path, "in.json")]))


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ([{"totalResults": 2, "Resources": [{"id": "1", "displayName": "a"}]}], "2 resources"),
        ([{"totalResults": 2, "Resources": []}], "expected 2 resources, got 0"),
        ([{"Resources": [{"id": "1", "displayName": "a"}]}], "expected a list response"),
        (
            [{"totalResults": 2, "Resources": [{"id": i, "displayName": i}]} for i in ("1", "2")],
            "",
        ),
    ],
)
def test_a_list_of_which_pages_are_missing_is_refused(
    tmp_path: Path, pages: list[object], message: str
) -> None:
    """Their members would be in no group, even if the group has denials."""
    files = []
    for number, page in enumerate(pages):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(page), "utf-8")
        files.append(File(path, path.name))
    if message:
        with pytest.raises(BadInput, match=message):
            list(people.records(files))
    else:
        assert len(list(people.records(files))) == 2


def test_two_groups_of_an_identity_provider_with_one_name_are_refused(tmp_path: Path) -> None:
    groups = [{"id": id, "displayName": "Admins"} for id in ("1", "2")]
    (tmp_path / "in.json").write_text(json.dumps({"Resources": groups}), "utf-8")
    with pytest.raises(BadInput, match="the group `Admins` is both `1` and `2`"):
        list(people.records([File(tmp_path / "in.json", "in.json")]))
