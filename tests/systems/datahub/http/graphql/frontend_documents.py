"""The number of a frontend's documents that are valid here: `python -m … FOLDER`.

FOLDER has its GraphQL files; fragments are shared by all of them. Prints the number of operations,
of valid ones, of those within the budgets, and with `-v` the errors of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    OperationDefinitionNode,
    Visitor,
    parse,
    validate,
    visit,
)

from lakewarden.systems.datahub.http.graphql import budget
from lakewarden.systems.datahub.http.graphql.errors import Failure
from lakewarden.systems.datahub.http.graphql.schema import schema

Fragments = Mapping[str, FragmentDefinitionNode]


def documents(texts: Iterable[str]) -> Iterator[tuple[str, DocumentNode]]:
    """Every operation by name, with the fragments that it needs."""
    definitions = [one for text in texts for one in parse(text, no_location=True).definitions]
    fragments = {
        one.name.value: one for one in definitions if isinstance(one, FragmentDefinitionNode)
    }
    for one in definitions:
        if isinstance(one, OperationDefinitionNode):
            name = "" if one.name is None else one.name.value
            yield name, DocumentNode(definitions=(one, *_needed(one, fragments)))


def _needed(
    operation: OperationDefinitionNode, fragments: Fragments
) -> list[FragmentDefinitionNode]:
    found: dict[str, FragmentDefinitionNode] = {}
    left = [*_spread(operation)]
    while left:
        name = left.pop()
        if name not in found and name in fragments:
            found[name] = fragments[name]
            left += _spread(fragments[name])
    return [found[name] for name in sorted(found)]


def _spread(node: Node) -> list[str]:
    names: list[str] = []

    class Spreads(Visitor):
        def enter_fragment_spread(self, node: FragmentSpreadNode, *_: object) -> None:
            names.append(node.name.value)

    visit(node, Spreads())
    return names


def problems(document: DocumentNode) -> list[str]:
    """The errors of a document."""
    return sorted({one.message for one in validate(schema(), document)})


def keeps_within_budgets(document: DocumentNode) -> bool:
    """Whether a document stays within the budgets."""
    try:
        budget.check(document)
    except Failure:
        return False
    return True


def main(folder: str, *options: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).rglob("*.graphql"))]
    found = [(name, one, problems(one)) for name, one in documents(texts)]
    valid = [one for _, one, wrong in found if not wrong]
    fitting = sum(map(keeps_within_budgets, valid))
    print(f"{len(found)} documents, {len(valid)} valid, {fitting} of them within the budgets")
    for name, _, wrong in found if "-v" in options else ():
        for message in wrong:
            print(f"{name}: {message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
