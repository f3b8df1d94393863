/** The playground's first scenario: a role, a DENY, and two people. */
export const EXAMPLE = `model = "gravitino"
title = "a role opens a schema, a DENY closes one table"
source = "the playground"

[world]
entities = [
  "metalake:lake", "catalog:lake:sales", "schema:lake:sales.raw",
  "table:lake:sales.raw.orders", "table:lake:sales.raw.margins",
]
users = ["ana", "ben"]

[world.members]
"members:lake" = ["user:ana", "user:ben"]
"role:lake:readers" = ["user:ana"]

[[world.statement]]
id = "read"
privileges = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]
to = ["role:lake:readers"]
on = "catalog:lake:sales"

[[world.statement]]
id = "no-margins"
effect = "deny"
privileges = ["SELECT_TABLE"]
to = ["role:lake:readers"]
on = "table:lake:sales.raw.margins"

[[case]]
title = "readers load orders"
operation = "table.load"
on = "table:lake:sales.raw.orders"
allow = ["ana"]
deny = ["ben"]

[[case]]
title = "nobody loads margins"
operation = "table.load"
on = "table:lake:sales.raw.margins"
deny = ["ana", "ben"]
`;
