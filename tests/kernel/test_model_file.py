"""Model files: the meaning of a valid one, and the errors for each invalid part."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.expression import And, Anyone, At, Every, Holds, May, Or, Owner
from lakewarden.kernel.model import ANY, NONE, Attribute, Field, Model, Reach, Relation, Source
from lakewarden.kernel.model_file import read
from lakewarden.kernel.statement import Effect

TEXT = """
[model]
name = "tiny"
title = "Tiny"
version = "1"
source = "made up"
spelling = "tiny"
reach = "below"
denies = true
gate = "MEMBER"
granting = "grant"
self_privileges = ["READ"]

[settings.mode]
values = ["one", "two"]
default = "one"
title = "which of the two"
source = "nowhere"

[types.lake]
title = "a lake"
owned = true
source = "the shore"

[types.table]
parent = "lake"
owned = true

[types.column]
parent = "table"

[types.user]
parent = "lake"
principal = "user"

[types.role]
parent = "lake"
principal = "role"
judged = true

[types.keytab]
principal = "user"
principal_until = "/@"

[privileges.MEMBER]
on = "lake"
grantable = false

[privileges.READ]
title = "look"
on = ["lake", "table"]
aliases = ["LOOK"]
flags = ["old"]
source = "the shore"
note = "nothing is touched"

[privileges.WRITE]
on = { setting = "mode", one = ["lake"], two = ["lake", "table"] }

[privileges.SEEN]
on = "any"
reach = "above"
implied_by = ["READ", "WRITE"]
grantable = false

[privileges.HERE]
on = "table"
reach = "exactly"

[privileges.MANAGE]
asked = "only by its name"

[relations.subjects]
from = "table"
to = ["table", "column"]
within = { column = "table" }
note = "what it is about"

[relations.anything]

[fields.KIND]
origin = "type"

[fields.AREA]
origin = ["subjects", "parent"]
up = ["lake"]
itself = ["table"]
aliases = ["REGION"]
source = "the shore"

[attributes."resource.status"]
type = "string"
source = "request over stored"

[attributes."action.soft"]
type = "boolean"
source = "request"

[attributes."resource.level"]
type = "number"
source = "stored"

[macros]
"LEAF(x)" = "owner(lake) or (READ and (x))"
OWNS = "owner(self)"

[sets]
BOTH = ["READ", "LOOK"]

[operations.load]
on = "table"
rule = "LEAF(WRITE)"
title = "load a table"
source = "the shore"
since = "2"
note = "quick"
asked = "from elsewhere"

[operations.list]
on = "lake"
rule = "READ"
filter = "load"

[operations.create]
on = "none"
rule = "MANAGE or service_admin"
gate = false
effects = ["owner", "member"]

[operations.grant]
on = ["lake", "table"]
rule = "OWNS"

[operations.tag]
rules = { table = "READ @ tag and every(request.tags, READ)", any = "nobody" }
targets = { tag = ["table"], other = [] }
lists = { tags = ["table", "any"], more = [] }

[[defaults]]
id = "everybody looks"
privileges = ["BOTH", "WRITE"]
to = "all-users"

[[defaults]]
id = "one word"
privileges = "BOTH"
editable = true

[[defaults]]
id = "nothing"

[[roles]]
name = "reader"
privileges = ["READ"]
"""


def loaded(
    *changes: tuple[str, str], text: str = "", settings: Mapping[str, str] | None = None
) -> Model:
    """The tiny model with replaced parts of its text, and additional text at the end."""
    changed = TEXT
    for old, new in changes:
        assert changed.count(old) == 1, old
        changed = changed.replace(old, new)
    return read(tomllib.loads(changed + text), "tiny.toml", settings)


def refusal(*changes: tuple[str, str], text: str = "", mode: str = "one") -> str:
    with pytest.raises(BadInput) as refused:
        loaded(*changes, text=text, settings={"mode": mode})
    return str(refused.value)


def rule_refusal(rule: str, on: str = '"table"', more: str = "") -> str:
    return refusal(text=f"\n[operations.new]\non = {on}\nrule = '''{rule}'''\n{more}")


TINY = loaded()


# Valid files.


def test_the_head_is_read() -> None:
    assert (TINY.name, TINY.title, TINY.version) == ("tiny", "Tiny", "1")
    assert (TINY.source, TINY.spelling, TINY.granting) == ("made up", "tiny", "grant")
    assert TINY.binds_identity
    assert TINY.denies
    assert TINY.gate == "MEMBER"
    assert TINY.self_privileges == {"READ"}


def test_what_the_head_leaves_out_has_a_default() -> None:
    head = '[model]\nname = "a"\ntitle = "A"\nversion = "1"\nsource = "s"\nspelling = "x"\n'
    bare = read(tomllib.loads(head), "bare.toml")
    assert bare.binds_identity
    assert not bare.denies
    assert bare.granting is None
    assert bare.gate == "anyone"
    assert bare.operations == {}
    assert bare.defaults == ()
    assert bare.membership_types == frozenset()


def test_what_has_rows_or_is_a_column_decides_nothing() -> None:
    """So it does not change the digest, and everything made with it stays valid."""
    limited = TEXT.replace("[types.table]\n", "[types.table]\nfiltered = true\n")
    limited = limited.replace("[types.column]\n", "[types.column]\nmasked = true\n")
    model = read(tomllib.loads(limited), "tiny.toml")
    assert model.digest == TINY.digest
    assert [name for name, type in model.types.items() if type.filtered] == ["table"]
    assert [name for name, type in model.types.items() if type.masked] == ["column"]
    assert model.supports(Effect.FILTER)
    assert not TINY.supports(Effect.FILTER)


def test_types_are_read() -> None:
    lake, keytab = TINY.types["lake"], TINY.types["keytab"]
    assert (lake.title, lake.parents, lake.owned, lake.source) == ("a lake", (), True, "the shore")
    assert TINY.types["table"].parents == ("lake",)
    assert TINY.types["table"].title == "table"
    assert (keytab.principal, keytab.principal_until) == ("user", "/@")


def test_privileges_are_read() -> None:
    look, seen, here = (TINY.privileges[name] for name in ("READ", "SEEN", "HERE"))
    assert (look.title, look.reach) == ("look", Reach.BELOW)
    assert look.on == {"lake", "table"}
    assert (look.aliases, look.flags, look.note) == (("LOOK",), ("old",), "nothing is touched")
    assert (seen.reach, seen.implied_by, seen.grantable) == (Reach.ABOVE, ("READ", "WRITE"), False)
    assert here.reach is Reach.EXACTLY
    assert TINY.privileges["MANAGE"].on == frozenset()
    assert TINY.privileges["MANAGE"].asked == "only by its name"


def test_relations_fields_and_attributes_are_read() -> None:
    assert TINY.relations["subjects"] == Relation(
        name="subjects",
        sources=frozenset({"table"}),
        targets=frozenset({"table", "column"}),
        within={"column": "table"},
        note="what it is about",
    )
    assert TINY.fields["AREA"] == Field(
        name="AREA",
        origin=("subjects", "parent"),
        up=frozenset({"lake"}),
        itself=frozenset({"table"}),
        aliases=("REGION",),
        source="the shore",
    )
    assert TINY.attributes == {
        "resource.status": Attribute("resource.status", str, Source.REQUEST_OVER_STORED),
        "action.soft": Attribute("action.soft", bool, Source.REQUEST),
        "resource.level": Attribute("resource.level", float, Source.STORED),
    }


def test_operations_are_read_with_the_gate_in_front_of_their_rules() -> None:
    load, create = TINY.operations["load"], TINY.operations["create"]
    owns_or_reads = Or((Owner(("lake",)), And((Holds("READ"), Holds("WRITE")))))
    assert load.rules == {"table": And((Holds("MEMBER"), owns_or_reads))}
    assert load.texts == {"table": "LEAF(WRITE)"}
    assert (load.title, load.source, load.since, load.note, load.asked) == (
        "load a table",
        "the shore",
        "2",
        "quick",
        "from elsewhere",
    )
    assert load.gated
    assert not create.gated
    assert create.effects == ("owner", "member")
    assert set(create.rules) == {NONE}
    assert TINY.operations["list"].filter == "load"
    assert TINY.operations["list"].title == "list"


def test_one_rule_may_serve_several_types() -> None:
    grant = TINY.operations["grant"]
    assert grant.rules["lake"] == grant.rules["table"]
    assert grant.type is None
    assert TINY.operations["load"].type == "table"
    assert TINY.operations["tag"].type is None


def test_an_operation_names_further_entities_and_lists() -> None:
    tag = TINY.operations["tag"]
    assert tag.targets == {"tag": frozenset({"table"}), "other": frozenset()}
    assert tag.lists == {"tags": frozenset({"table", ANY}), "more": frozenset()}
    inner = And((At("request.tag", Holds("READ")), Every("request.tags", Holds("READ"))))
    assert tag.rules["table"] == And((Holds("MEMBER"), inner))


def test_without_a_gate_a_rule_stands_alone_whatever_the_operation_says() -> None:
    bare = loaded(('gate = "MEMBER"\n', ""), ("gate = false\n", "gate = true\n"))
    assert bare.operations["list"].rules == {"lake": Holds("READ")}
    assert not any(operation.gated for operation in bare.operations.values())


def test_sets_are_unfolded_in_defaults_and_roles() -> None:
    listed, word, none = TINY.defaults
    assert listed["privileges"] == ["READ", "LOOK", "WRITE"]
    assert word["privileges"] == ["READ", "LOOK"]
    assert none == {"id": "nothing"}
    assert TINY.roles == ({"name": "reader", "privileges": ["READ"]},)


def test_a_model_knows_the_ids_of_what_it_ships() -> None:
    assert TINY.default_ids == {"everybody looks", "one word", "nothing"}
    assert TINY.immutable_ids == {"everybody looks", "nothing"}
    assert TINY.role_names == {"reader"}


@pytest.mark.parametrize("privileges", ["3", "[3]"])
def test_privileges_that_are_no_words_are_left_to_the_reader_of_statements(privileges: str) -> None:
    odd = loaded(('privileges = "BOTH"', f"privileges = {privileges}"))
    assert odd.defaults[1]["privileges"] == tomllib.loads(f"x = {privileges}")["x"]


def test_macros_are_kept_as_text() -> None:
    assert TINY.macros == {"LEAF(x)": "owner(lake) or (READ and (x))", "OWNS": "owner(self)"}


def test_a_setting_chooses_among_values() -> None:
    assert TINY.settings == {"mode": "one"}
    assert TINY.privileges["WRITE"].on == {"lake"}
    other = loaded(settings={"mode": "two"})
    assert other.settings == {"mode": "two"}
    assert other.privileges["WRITE"].on == {"lake", "table"}


def test_a_chosen_value_may_depend_on_another_setting() -> None:
    more = '\n[settings.depth]\nvalues = ["low", "high"]\ndefault = "high"\ntitle = "how deep"\n'
    nested = '{ setting = "depth", low = "a", high = "b" }'
    change = ('title = "look"', f'title = {{ setting = "mode", one = {nested}, two = "c" }}')
    assert loaded(change, text=more).privileges["READ"].title == "b"
    assert loaded(change, text=more, settings={"depth": "low"}).privileges["READ"].title == "a"
    assert loaded(change, text=more, settings={"mode": "two"}).privileges["READ"].title == "c"


def test_a_setting_may_choose_inside_a_list() -> None:
    change = ('"BOTH", "WRITE"]', '{ setting = "mode", one = "READ", two = "WRITE" }]')
    assert loaded(change).defaults[0]["privileges"] == ["READ"]
    assert loaded(change, settings={"mode": "two"}).defaults[0]["privileges"] == ["WRITE"]


def test_the_digest_tells_texts_and_settings_apart() -> None:
    assert TINY.digest == loaded().digest
    assert TINY.digest != loaded(settings={"mode": "two"}).digest
    assert TINY.digest != loaded(('title = "look"', 'title = "stare"')).digest


def test_a_date_in_a_default_statement_does_no_harm() -> None:
    dated = loaded(('id = "nothing"', 'id = "nothing"\nvalid_from = 2030-01-01T00:00:00Z'))
    assert dated.digest != TINY.digest


# Queries to a model.


def test_names_are_looked_up_with_their_aliases() -> None:
    assert TINY.privilege("LOOK").name == "READ"
    assert TINY.privilege("READ").name == "READ"
    assert TINY.operation("load").name == "load"
    assert TINY.field_of("region").name == "AREA"
    assert TINY.field_of("Area").name == "AREA"


def test_an_unknown_name_is_told_with_a_hint() -> None:
    with pytest.raises(Unknown, match=r"^unknown privilege `GAZE`; `lakewarden operations` lists"):
        TINY.privilege("GAZE")
    with pytest.raises(Unknown, match=r"^unknown operation `lode`; `lakewarden operations` lists"):
        TINY.operation("lode")
    with pytest.raises(Unknown, match=r"^unknown field `SIZE`; expected one of: AREA, KIND$"):
        TINY.field_of("SIZE")
    with pytest.raises(Unknown, match=r"^unknown type `view`; expected one of: column, keytab, "):
        TINY.check_type("view")
    with pytest.raises(
        Unknown, match=r"^unknown target type `lake`; `load` is asked about: table$"
    ) as refused:
        TINY.operation("load").rule("lake")
    assert (refused.value.kind, refused.value.name) == ("target type", "lake")


def test_rules_are_found_by_type_then_for_any_then_without_a_resource() -> None:
    tag, create = TINY.operations["tag"], TINY.operations["create"]
    assert tag.rule("table") == tag.rules["table"]
    assert tag.rule("column") == tag.rules[ANY]
    assert tag.rule_or_none(NO_RESOURCE.type) is None
    assert create.rule(NO_RESOURCE.type) == create.rules[NONE]
    assert create.rule_or_none("table") is None


def test_names_that_are_not_stored_are_judged_where_the_type_says_so() -> None:
    assert TINY.judged("role")
    assert not TINY.judged("table")
    assert not TINY.judged("unheard")
    judging = loaded(('reach = "below"', 'reach = "below"\njudged = true'))
    assert judging.judged("table")


def test_types_that_are_not_listed_are_taken_where_the_model_is_open() -> None:
    open_model = loaded(text="\n[types.any]\n")
    open_model.check_type("unheard")
    assert open_model.open_types
    assert open_model.judged("unheard")
    TINY.check_type("table")
    assert not TINY.open_types


def test_the_containers_that_have_members_are_those_of_the_member_privilege() -> None:
    assert TINY.membership_types == {"lake"}


def test_an_entity_may_also_be_a_principal() -> None:
    assert TINY.principal_kind(Entity("user", "lk:ana")) == ("user", "ana")
    assert TINY.principal_kind(Entity("role", "lk:readers")) == ("role", "lk:readers")
    assert TINY.principal_kind(Entity("keytab", "etl/host@REALM")) == ("user", "etl")
    assert TINY.principal_kind(Entity("table", "lk:t")) is None
    assert TINY.principal_kind(Entity("unheard", "lk:t")) is None


ACCESS = """
[access]
see = "list"
read = ["load", "list"]
"""


def test_each_way_to_an_asset_is_an_operation_for_the_asset_s_type() -> None:
    model = loaded(text=ACCESS)
    assert model.access == {"see": ("list",), "read": ("load", "list"), "change": ()}
    assert [model.reaching("read", type) for type in ("lake", "table", "column")] == [
        "list",
        "load",
        None,
    ]
    assert model.reaching("change", "table") is None
    assert TINY.access == {"see": (), "read": (), "change": ()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("access = 3", "access: expected a table"),
        ('[access]\nlook = "load"', "access: unknown key `look`"),
        ("[access]\nread = 3", "access.read: expected a string or a list of strings"),
        ('[access]\nread = "gaze"', "access.read: unknown operation `gaze`"),
        ('[access]\nread = ["load", "grant"]', "access.read: `grant`: `load` is asked about `tab"),
    ],
)
def test_ways_to_an_asset_that_do_not_hold_together_are_refused(text: str, expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(tomllib.loads(f"{text}\n{TEXT}"), "tiny.toml", {})
    assert expected in str(refused.value)


# Errors.


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('name = "tiny"\n', "", "model.name: expected a non-empty string"),
        ('reach = "below"', 'reach = "up"', "model.reach: unknown `up`; expected one of: "),
        ('name = "tiny"', 'name = "tiny"\nnme = "x"', "model: unknown key `nme`"),
        ('granting = "grant"', 'granting = "give"', "model.granting: unknown operation `give`"),
        ('["READ"]\n\n[settings', '["GAZE"]\n\n[settings', "model.self_privileges: unknown pri"),
        ('gate = "MEMBER"', 'gate = "CLUB"', "model.gate: column 1: unknown privilege or word"),
        ('default = "one"', 'default = "three"', 'settings."mode".default: unknown `three`; ex'),
        ('title = "which of the two"', "", 'settings."mode".title: expected a non-empty string'),
        ('source = "nowhere"', "origin = 1", 'settings."mode": unknown key `origin`'),
        ('parent = "table"', 'parent = "row"', 'types."column".parent: unknown type `row`'),
        ('principal = "role"', 'principal = "usr"', 'types."role".principal: unknown `usr`; expec'),
        ("judged = true", "juged = true", 'types."role": unknown key `juged`'),
        (
            'on = ["lake", "table"]\nal',
            'on = "row"\nal',
            'privileges."READ".on: unknown type `row`',
        ),
        (
            'on = ["lake", "table"]\nal',
            'on = "absent"\nal',
            'privileges."READ".on: unknown type `absent`',
        ),
        ("one = [", "uno = [", "privileges.WRITE.on: expected a value for each `mode`: one, two"),
        (', two = ["lake", "table"]', "", "privileges.WRITE.on: expected a value for each `mode"),
        ('setting = "mode"', 'setting = "mood"', "privileges.WRITE.on: unknown setting `mood`"),
        ('setting = "mode"', "setting = 3", "privileges.WRITE.on: unknown setting `3`"),
        ('["READ", "WRITE"]', '["GAZE"]', 'privileges."SEEN": `GAZE` is not a privilege that st'),
        ('["READ", "WRITE"]', '["SEEN"]', 'privileges."SEEN": `SEEN` is not a privilege that st'),
        ('["LOOK"]', '["WRITE"]', 'privileges."READ": alias `WRITE` is taken'),
        ('["LOOK"]', '["LOOK", "LOOK"]', 'privileges."READ": alias `LOOK` is taken'),
        ('reach = "exactly"', 'reech = ""', 'privileges."HERE": unknown key `reech`'),
        ('from = "table"', 'from = "row"', 'relations."subjects": unknown type `row`'),
        ('to = ["table"', 'to = ["row"', 'relations."subjects": unknown type `row`'),
        ("{ column =", "{ row =", 'relations."subjects": unknown type `row`'),
        ('within = { column = "table" }', "within = 3", 'relations."subjects".within: expected a '),
        ('origin = "type"', 'origin = "shape"', 'fields."KIND".origin: unknown relation `shape`'),
        ('origin = "type"', "", 'fields."KIND".origin: expected one origin, or a list of relat'),
        ('"subjects", "parent"', '"type", "name"', 'fields."AREA".origin: expected one origin, o'),
        ('up = ["lake"]', 'up = ["sea"]', 'fields."AREA": unknown type `sea`'),
        ('itself = ["table"]', 'itself = ["sea"]', 'fields."AREA": unknown type `sea`'),
        ("itself =", "inherited = true\nitself =", 'fields."AREA".origin: expected one relation'),
        (
            'origin = "type"',
            'origin = "type"\ninherited = true',
            'fields."KIND".origin: expected o',
        ),
        ("[fields.KIND]", "[fields.Kind]", 'fields."Kind": expected `Kind` in upper case'),
        ('["REGION"]', '["region"]', 'fields."AREA": expected `region` in upper case'),
        ('type = "number"', 'type = "int"', 'attributes."resource.level".type: unknown `int`; exp'),
        ('source = "stored"', 'source = "air"', 'attributes."resource.level".source: unknown `ai'),
        ('"LEAF(x)"', '"LEAF(x"', "macros.LEAF(x: expected `NAME` or `NAME(a, b)`"),
        ('"LEAF(x)"', '"LEAF()"', "macros.LEAF(): expected `NAME` or `NAME(a, b)`"),
        ('"LEAF(x)"', '"LEAF x"', "macros.LEAF x: expected `NAME` or `NAME(a, b)`"),
        ('"LEAF(x)"', '"LEAF(x, x)"', "macros.LEAF(x, x): a name is used twice"),
        ("OWNS =", '"LEAF(y, z)" =', "macros.LEAF(y, z): a name is used twice"),
        ("OWNS =", "READ =", "macros.READ: `READ` means something else already"),
        ("OWNS =", "owner =", "macros.owner: `owner` means something else already"),
        ("OWNS =", "anyone =", "macros.anyone: `anyone` means something else already"),
        ('OWNS = "owner(self)"', "OWNS = 3", "macros.OWNS: expected a non-empty string"),
        ('["READ", "LOOK"]', '["READ", "GAZE"]', "sets.BOTH: unknown privilege `GAZE`"),
        ("BOTH = [", "LOOK = [", "sets.LOOK: a set has the name of a privilege"),
        ('filter = "load"', 'filter = "lode"', 'operations."list".filter: unknown operation `lode'),
        (
            'effects = ["owner"',
            'effects = ["joy"',
            'operations."create": unknown `joy`; expected o',
        ),
        ("gate = false", "gate = 0", 'operations."create".gate: expected true or false'),
        ('tag = ["table"]', 'tag = ["row"]', 'operations."tag".targets.tag: unknown type `row`'),
        ('"table", "any"', '"row", "any"', 'operations."tag".lists.tags: unknown type `row`'),
        ('any = "nobody"', 'row = "nobody"', 'operations."tag": unknown type `row`'),
        ('any = "nobody"', "any = 3", 'operations."tag".rules.any: expected a non-empty string'),
        ("[[roles]]", "[roles]", "roles: expected a list of tables"),
    ],
    ids=lambda text: text[:30],
)
def test_what_does_not_hold_is_refused_with_its_place(old: str, new: str, expected: str) -> None:
    assert refusal((old, new)).startswith(f"tiny.toml.{expected}")


def test_an_unknown_part_is_refused() -> None:
    assert refusal(("[[roles]]", "[[rolls]]")) == "tiny.toml: unknown key `rolls`"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"mode": "three"}, "tiny.toml: setting `mode` is `three`; expected one of: one, two"),
        ({"mood": "one"}, "tiny.toml: unknown setting `mood`"),
    ],
    ids=["value", "name"],
)
def test_an_unknown_setting_is_refused(settings: Mapping[str, str], expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        loaded(settings=settings)
    assert str(refused.value) == expected


def test_a_value_for_a_setting_is_checked_whichever_is_chosen() -> None:
    change = ('two = ["lake", "table"] }', 'tow = ["lake"] }')
    for mode in ("one", "two"):
        assert refusal(change, mode=mode).endswith("expected a value for each `mode`: one, two")


@pytest.mark.parametrize("value", ["3", '["a"]'], ids=["number", "texts"])
def test_default_statements_are_a_list_of_tables(value: str) -> None:
    head = '[model]\nname = "a"\ntitle = "A"\nversion = "1"\nsource = "s"\nspelling = "x"\n'
    with pytest.raises(BadInput, match=r"^bare\.toml\.defaults: expected a list of tables$"):
        read(tomllib.loads(f"defaults = {value}\n{head}"), "bare.toml")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ('rule = "READ"', ": expected `on` with a rule, or `rules`"),
        ("rules = {}", ": expected `on` with a rule, or `rules`"),
        ("rules = 3", ".rules: expected a table"),
        ('on = "table"', ".rule: expected a non-empty string"),
        ('on = "row"\nrule = "READ"', ": unknown type `row`"),
        ('on = "table"\nrule = "READ"\nrules = { lake = "READ" }', ": unknown key `on`, `rule`"),
        ('on = "table"\nrule = "READ"\ntargets = 3', ".targets: expected a table"),
    ],
    ids=range(7),
)
def test_an_operation_says_what_it_is_asked_about(operation: str, expected: str) -> None:
    text = f"\n[operations.new]\n{operation}\n"
    assert refusal(text=text) == f'tiny.toml.operations."new"{expected}'


@pytest.mark.parametrize(
    ("rule", "on", "expected"),
    [
        ("GAZE", '"table"', ".rule: column 1: unknown privilege or word `GAZE`"),
        ("HERE", '"lake"', ": privilege `HERE` never reaches a `lake`"),
        ("HERE", '"column"', ": privilege `HERE` never reaches a `column`"),
        ("READ and not denied(HERE)", '"lake"', ": privilege `HERE` never reaches a `lake`"),
        ("owner(table)", '"lake"', ": no `table` lies above a `lake`"),
        ("owner(lake)", '"none"', ": no `lake` lies above a `none`"),
        ("READ @ table", '"lake"', ": no `table` lies above a `lake`"),
        ("READ @ parent", '"lake"', ": a `lake` has no parent"),
        ("READ @ parent", '"none"', ": without a resource there is no `parent`"),
        ("READ @ lake", '"none"', ": without a resource there is no `lake`"),
        ("READ @ type", '"none"', ": without a resource there is no `type`"),
        ("HERE @ parent", '"table"', ": privilege `HERE` never reaches a `lake`"),
        ("HERE @ lake", '"any"', ": privilege `HERE` never reaches a `lake`"),
        ("HERE @ type", '"lake"', ": privilege `HERE` never reaches a `lake`"),
        ("every(subjects, READ)", '"lake"', ": relation `subjects` does not start at a `lake`"),
        ("some(subjects, owner(column))", '"table"', ": no `column` lies above a `table`"),
        ("every(ancestors, HERE)", '"column"', ": privilege `HERE` never reaches a `lake`"),
        ("may(load)", '"lake"', ": operation `load` has no rule for a `lake`"),
        ("may(tag)", '"none"', ": operation `tag` has no rule for a `none`"),
        ("may(new)", '"table"', ": operation `new` refers back to itself"),
        ("may(new) @ lake", '"any"', ": operation `new` refers back to itself"),
        ("resource.status", '"table"', ": `resource.status` is never `True`"),
        ("resource.status != 3", '"table"', ": `resource.status` is never `3`"),
        ("action.soft != 'no'", '"table"', ": `action.soft` is never `'no'`"),
        ("resource.level in [1, '2']", '"table"', ": `resource.level` is never `'2'`"),
        ("resource.level != True", '"table"', ": `resource.level` is never `True`"),
    ],
    ids=lambda text: text[:40],
)
def test_a_rule_that_makes_no_sense_for_its_target_is_refused(
    rule: str, on: str, expected: str
) -> None:
    assert rule_refusal(rule, on) == f'tiny.toml.operations."new"{expected}'


@pytest.mark.parametrize("on", ['"table"', '"any"'], ids=["one type", "any type"])
def test_operations_that_lean_on_each_other_are_refused(on: str) -> None:
    other = f'\n[operations.back]\non = {on}\nrule = "READ or may(new)"\n'
    message = rule_refusal("READ or may(back)", on, more=other)
    assert message == 'tiny.toml.operations."new": operation `new` refers back to itself'


@pytest.mark.parametrize(
    ("rule", "on"),
    [
        ("SEEN", "lake"),
        ("SEEN", "table"),
        ("READ", "column"),
        ("HERE", "any"),
        ("HERE", "none"),
        ("MANAGE", "table"),
        ("MANAGE @ platform", "table"),
        ("READ @ parent", "table"),
        ("READ @ parent", "any"),
        ("READ @ type", "table"),
        ("READ @ lake", "column"),
        ("READ @ lake", "any"),
        ("HERE @ table", "any"),
        ("owner(lake, self)", "column"),
        ("owner(table)", "any"),
        ("owner(self)", "none"),
        ("some(subjects, HERE)", "table"),
        ("some(subjects, HERE)", "any"),
        ("some(anything, HERE)", "lake"),
        ("some(ancestors, READ)", "column"),
        ("some(ancestors, READ)", "any"),
        ("some(ancestors, READ)", "none"),
        ("may(load) or self or service_admin", "table"),
        ("may(load)", "any"),
        ("may(tag)", "column"),
        ("may(create)", "none"),
        ("may(load) @ table", "column"),
        ("action.soft and resource.level in [1, 2.5] and resource.status != 'x'", "table"),
    ],
)
def test_a_rule_that_makes_sense_is_taken(rule: str, on: str) -> None:
    model = loaded(text=f"\n[operations.new]\non = '{on}'\nrule = \"{rule}\"\n")
    assert set(model.operations["new"].rules) == {on}


def test_a_privilege_that_reaches_upwards_is_asked_of_what_lies_above() -> None:
    upward = ('reach = "exactly"', 'reach = "above"')
    model = loaded(upward, text='\n[operations.new]\non = "lake"\nrule = "HERE"\n')
    assert model.operations["new"].rules["lake"] == And((Holds("MEMBER"), Holds("HERE")))
    message = refusal(upward, text='\n[operations.new]\non = "column"\nrule = "HERE"\n')
    assert message.endswith("privilege `HERE` never reaches a `column`")


def test_further_entities_of_no_type_may_be_of_any() -> None:
    text = (
        '\n[operations.new]\non = "table"\nrule = "HERE @ that and some(request.those, HERE)"\n'
        "targets = { that = [] }\nlists = { those = [] }\n"
    )
    assert loaded(text=text).operations["new"].targets == {"that": frozenset()}


def test_the_gate_must_reach_the_target() -> None:
    text = '\n[operations.new]\non = "keytab"\nrule = "anyone"\n'
    assert refusal(text=text).endswith('"new": privilege `MEMBER` never reaches a `keytab`')
    ungated = loaded(text=text + "gate = false\n").operations["new"]
    assert ungated.rules == {"keytab": Anyone()}


def test_may_keeps_the_other_operation_by_name() -> None:
    model = loaded(text='\n[operations.new]\non = "table"\nrule = "may(load)"\n')
    assert model.operations["new"].rules["table"] == And((Holds("MEMBER"), May("load")))


# Additional keys of settings.

SWITCH = """
[settings.guard]
values = ["on", "off"]
default = "on"
title = "whether anything is asked"
enforces = true
weakens.off = "everybody may"

[settings.left]
of = "types"
title = "what is left open"
"""

LEFT = ('rule = "OWNS"', 'rule = "OWNS"\ngate = false\nby_setting = { left = "anyone" }')


def test_a_setting_says_what_it_weakens_and_that_it_is_about_enforcing() -> None:
    guarded = loaded(text=SWITCH)
    assert guarded.weakened == ()
    assert guarded.enforcing == {"guard"}
    off = loaded(text=SWITCH, settings={"guard": "off"})
    assert off.weakened == ("`guard` is off: everybody may",)


def test_a_setting_holds_types_and_gives_them_another_rule() -> None:
    def rules(value: str, more: str = "") -> Mapping[str, object]:
        return loaded(LEFT, text=SWITCH + more, settings={"left": value}).operations["grant"].rules

    assert rules("") == {"lake": Owner(("self",)), "table": Owner(("self",))}
    assert rules("Table, table") == {"lake": Owner(("self",)), "table": Anyone()}
    further = "\n[types.any]\n"
    assert rules("boat", further)["boat"] == Anyone()
    assert rules("any", further) == {ANY: Anyone()}
    chosen = loaded(LEFT, text=SWITCH, settings={"left": " table ,LAKE"}).settings["left"]
    assert chosen == "lake,table"


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (("everybody may", ""), "", 'settings."guard".weakens.off: expected a non-empty string'),
        (("weakens.off", "weakens.of"), "", 'settings."guard".weakens: unknown key `of`'),
        (('of = "types"', 'of = "type"'), "", 'settings."left".of: unknown `type`; expected'),
        (('of = "types"', 'of = "types"\nvalues = ["a"]'), "", 'settings."left": unknown key `v'),
        (("", ""), '\n[operations.a]\non = "lake"\nrule = { setting = "left" }', "unknown setting"),
    ],
)
def test_a_setting_that_does_not_hold_together_is_refused(
    change: tuple[str, str], text: str, expected: str
) -> None:
    with pytest.raises(BadInput) as refused:
        loaded(text=SWITCH.replace(*change) + text)
    assert expected in str(refused.value)


def test_a_rule_by_a_setting_takes_one_that_holds_types_and_types_that_are_there() -> None:
    wrong = (LEFT[0], LEFT[1].replace("left", "guard"))
    with pytest.raises(BadInput, match=r"by_setting: `guard` is not a setting that holds types"):
        loaded(wrong, text=SWITCH)
    with pytest.raises(BadInput, match="setting `left`: unknown type `boat`"):
        loaded(LEFT, text=SWITCH, settings={"left": "boat"})
