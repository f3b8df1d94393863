"""Every verb with its options, from the command's own tree."""

from __future__ import annotations

import re

from lakewarden.cli import application

HEAD = """# Options of every command

Written from the command's own help. [Command line](../cli.md) explains the commands by task, with
an example of each.

"""


def page() -> str:
    """The page: a section for each verb, in the order of `lakewarden --help`."""
    text = application(whole=True).generate_docs(flatten_commands=True, heading_level=2)
    # The text starts with a table of contents, which the site has beside every page.
    verbs = text[text.index("\n## lakewarden ") + 1 :]
    headed = re.sub(r"^## (lakewarden .+)$", r"## `\1`", verbs, flags=re.MULTILINE)
    # The library mistakes the name of a process started by `python -m` for a part of our name.
    return HEAD + re.sub(r"(?<=```console\n)(.*?) -m [\w.]+", r"\1", headed)
