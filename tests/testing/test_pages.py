"""The pages of models: their contents, their stability, and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden import models
from lakewarden.engines import mapping
from lakewarden.kernel.errors import BadInput
from lakewarden.testing import pages

ROOT = Path(__file__).parents[2]

TEXT = """
[model]
name = "tiny"
title = "Tiny & <small>"
version = "1"
source = "made_up"
spelling = "tiny"
reach = "below"
denies = true
binds_identity = false
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

[types.table]
parent = "lake"
judged = true
source = "the shore"

[types.user]
principal = "user"
parent = "lake"

[privileges.MEMBER]
on = "lake"
grantable = false

[privileges.READ]
title = "look | stare"
on = ["table", "lake"]
aliases = ["LOOK"]
flags = ["old", "new"]
note = "a `|` in code, *not* strong,\\nand `code`"
source = "row_1"

[privileges.WRITE]
on = { setting = "mode", one = ["lake"], two = ["lake", "table"] }

[privileges.SEEN]
on = "any"
reach = "above"
implied_by = ["READ"]

[privileges.MANAGE]
asked = "only by its name"

[relations.subjects]
from = "table"
to = ["table", "lake"]
within = { table = "lake" }
note = "what it is about"

[relations.anything]

[fields.AREA]
origin = ["subjects", "parent"]
up = ["lake"]
itself = ["table"]
aliases = ["REGION"]
source = "the shore"

[fields.MARK]
origin = "subjects"
inherited = true
grants = false

[attributes."action.soft"]
type = "boolean"
source = "request"

[macros]
"LEAF(x)" = "READ and (x)"

[operations.load]
rules = { lake = "READ", table = "READ", any = "nobody" }
title = "load"
source = "row 2"
since = "next"
note = "quick"
asked = "from elsewhere"

[operations.list]
on = "lake"
rule = { setting = "mode", one = "READ", two = "LEAF(WRITE)" }
filter = "load"

[operations.create]
on = "none"
rule = "anyone"
gate = false
effects = ["owner"]

[operations.touch]
on = "any"
rule = "READ"
targets = { other = ["user", "lake"], more = [] }
lists = { those = ["any"], more = [] }

[operations.grant]
on = "table"
rule = "READ"

[[defaults]]
id = "everybody"
privileges = { setting = "mode", one = ["READ"], two = ["WRITE"] }
to = "all-users"
where = []
active = false

[[defaults]]
id = "``"
constraint = [{ field = "AREA", values = ["a"] }]

[[roles]]
name = "reader"
"""

PAGE = """\
# Tiny &amp; &lt;small&gt;

<!-- Written by `make docs` from the model file; change that instead. -->

Model `tiny`, of Tiny &amp; &lt;small&gt; 1.

Source: made\\_up

- names are spelt by `tiny`
- statements bind to names
- DENY: yes
- every operation also requires `MEMBER`, unless marked no gate
- granting a privilege on an entity requires `grant`
- on the entity that a user is, that user holds `READ`

## Settings

The rest of this page shows the defaults; what another value changes comes last.

| setting | what it chooses | values | default | source |
| --- | --- | --- | --- | --- |
| `mode` | which of the two | `one`, `two` | `one` | nowhere |

## Types

| type | what | inside | has owners | limited are | also a | name not stored | source |
| --- | --- | --- | --- | --- | --- | --- | --- |
| `lake` | a lake |  | yes |  |  | denied |  |
| `table` | table | `lake` |  |  |  | judged by its name | the shore |
| `user` | user | `lake` |  |  | `user` | denied |  |

## Which privilege on which type

| privilege | `lake` | `table` | `any` | no resource |
| --- | --- | --- | --- | --- |
| `MEMBER` | × |  |  |  |
| `READ` | × | × |  |  |
| `WRITE` | × |  |  |  |
| `SEEN` |  |  | × |  |
| `MANAGE` |  |  |  | × |

## Privileges

| privilege | lets | reaches | remarks | source |
| --- | --- | --- | --- | --- |
| `MEMBER` | MEMBER | below | cannot be granted |  |
| `READ` | look \\| stare | below | older names: `LOOK`; marks: old, new; \
a `\\|` in code, \\*not\\* strong, and `code` | row\\_1 |
| `WRITE` | WRITE | below |  |  |
| `SEEN` | SEEN | above | follows from `READ` |  |
| `MANAGE` | MANAGE | below | no operation names it: only by its name |  |

## Shorthands of the rules

| shorthand | stands for |
| --- | --- |
| `LEAF(x)` | `READ and (x)` |

## Operations

| operation | what | requires | remarks | since | source |
| --- | --- | --- | --- | --- | --- |
| `load` | load | `lake`, `table`: `READ`<br>any other type: `nobody` | \
no call asks it: from elsewhere; quick | next | row 2 |
| `list` | list | `lake`: `READ` | of each found: `load` |  |  |
| `create` | create | no resource: `anyone` | no gate; effects: owner |  |  |
| `touch` | touch | any type: `READ` | names a further `other` (`lake`, `user`); \
names a further `more` (of any type); sends a list `those` (`any`); \
sends a list `more` (of any type) |  |  |
| `grant` | grant | `table`: `READ` |  |  |  |

## Effects

| effect | of a success |
| --- | --- |
| owner | the creator becomes the owner of what is created |

## Relations

| relation | from | to | remarks |
| --- | --- | --- | --- |
| `subjects` | `table` | `lake`, `table` | `table` as its `lake`; what it is about |
| `anything` | any | any |  |

## Fields of criteria

| field | also written | resolves to | and what is above | and itself | remarks | source |
| --- | --- | --- | --- | --- | --- | --- |
| `AREA` | `REGION` | `subjects`, `parent` | `lake` | `table` |  | the shore |
| `MARK` |  | `subjects` |  |  | inherited by what lies below; only for filters and masks |  |

## Attributes

| attribute | type | taken from |
| --- | --- | --- |
| `action.soft` | bool | request |

## Default statements

In force from the start.

| id | privileges | to | where | active | constraint |
| --- | --- | --- | --- | --- | --- |
| `everybody` | `READ` | `all-users` |  | `false` |  |
| ``` `` ``` |  |  |  |  | `[{"field": "AREA", "values": ["a"]}]` |

## Roles

There from the start.

| name |
| --- |
| `reader` |

## With `mode` = `two`

### Which privilege on which type

| privilege | `lake` | `table` | `any` | no resource |
| --- | --- | --- | --- | --- |
| `WRITE` | × | × |  |  |

### Operations

| operation | what | requires | remarks | since | source |
| --- | --- | --- | --- | --- | --- |
| `list` | list | `lake`: `LEAF(WRITE)` | of each found: `load` |  |  |

### Default statements

| id | privileges | to | where | active | constraint |
| --- | --- | --- | --- | --- | --- |
| `everybody` | `WRITE` | `all-users` |  | `false` |  |
"""


def test_a_page_shows_everything_that_a_model_declares() -> None:
    assert pages.page(TEXT, "tiny.toml") == PAGE


def test_a_page_of_little_is_short() -> None:
    head = '[model]\nname = "a"\ntitle = "A"\nversion = "1"\nsource = "s"\nspelling = "x"\n'
    assert pages.page(head, "bare.toml").splitlines()[4:] == [
        "Model `a`, of A 1.",
        "",
        "Source: s",
        "",
        "- names are spelt by `x`",
        "- grants die with their entity",
        "- DENY: no",
    ]


def test_what_a_setting_takes_away_is_named() -> None:
    text = TEXT.replace('[[roles]]\nname = "reader"\n', "").replace("[model]", ROLES + "[model]")
    shown = pages.page(text, "tiny.toml")
    assert shown.endswith("### Roles\n\nGone: `writer`.\n")


ROLES = """
roles = { setting = "mode", one = [{ name = "reader" }, { name = "writer" }], \
two = [{ name = "reader" }] }
"""


def test_a_table_with_other_columns_is_shown_as_a_whole() -> None:
    roles = ROLES.replace("two = [{", 'two = [{ on = "lake",')
    text = TEXT.replace('[[roles]]\nname = "reader"\n', "").replace("[model]", roles + "[model]")
    shown = pages.page(text, "tiny.toml")
    assert "### Roles\n\n| on | name |\n| --- | --- |\n| `lake` | `reader` |\n" in shown


def test_a_setting_that_changes_no_declaration_says_so() -> None:
    more = (
        '[settings.start]\nvalues = ["full", "bare"]\ndefault = "full"\ntitle = "what is there"\n'
    )
    shown = pages.page(f"{TEXT}\n{more}", "tiny.toml")
    assert shown.endswith(
        "## With `start` = `bare`\n\nThe same declarations; what it chooses is said above.\n"
    )


def test_what_is_no_model_has_no_page() -> None:
    with pytest.raises(BadInput, match=r"^bare\.toml"):
        pages.page("[model]", "bare.toml")


def test_every_model_has_a_page_and_it_is_always_the_same() -> None:
    first = pages.pages()
    engines = [f"{name}-{one}.md" for name in models.names() for one in mapping.of_model(name)]
    assert sorted(first) == sorted([*engines, *(f"{name}.md" for name in models.names())])
    assert first == pages.pages()


def test_every_row_of_a_table_has_a_cell_for_each_column() -> None:
    for name, text in pages.pages().items():
        columns = 0
        for line in text.splitlines():
            cells = line.replace(r"\|", "").count("|")
            if cells:
                assert cells == columns or not columns, (name, line)
            columns = cells


def test_the_pages_in_the_repository_are_those_of_the_models() -> None:
    assert pages.stale(ROOT / "docs/models") == []


def test_writing_makes_the_folder_and_says_what_changed(tmp_path: Path) -> None:
    folder = tmp_path / "docs/models"
    every = sorted(pages.pages())
    assert pages.stale(folder) == every
    assert pages.write(folder) == every
    assert pages.write(folder) == []
    assert pages.stale(folder) == []


def test_a_page_that_differs_is_stale(tmp_path: Path) -> None:
    pages.write(tmp_path)
    page = tmp_path / "gravitino.md"
    text = page.read_bytes()
    for other in (text + b"\n", text.replace(b"\n", b"\r\n"), b"\xff"):
        page.write_bytes(other)
        assert pages.stale(tmp_path) == ["gravitino.md"]
        assert pages.write(tmp_path) == ["gravitino.md"]
        assert page.read_bytes() == text


def test_a_page_of_a_model_that_is_gone_goes_too_and_nothing_else(tmp_path: Path) -> None:
    pages.write(tmp_path)
    gone, mine = tmp_path / "atlas.md", tmp_path / "README.md"
    gone.write_text(f"# Atlas\n\n{pages.MARK}\n")
    mine.write_text("# By hand\n")
    assert pages.stale(tmp_path) == ["atlas.md"]
    assert pages.write(tmp_path) == ["atlas.md"]
    assert not gone.exists()
    assert mine.exists()


def test_the_command_writes_and_prints_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pages.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(tmp_path / name) for name in sorted(pages.pages())
    ]
    assert pages.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


def test_the_command_checks_without_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages.write(tmp_path)
    assert pages.main(["--check", str(tmp_path)]) == 0
    page = tmp_path / "gravitino.md"
    page.write_text("old")
    assert pages.main(["--check", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.err == f"{page}\n"
    assert told.out == ""
    assert page.read_text() == "old"


def test_the_command_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        pages.main(["--chek", "docs"])
    assert left.value.code == 2
    assert "--chek" in capsys.readouterr().err
