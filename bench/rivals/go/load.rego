# Workload W for OPA: data.estate as opa.go creates it. Functions take only the arguments that they
# depend on, because OPA caches their results within a query: a list evaluates each schema once.
package w

default allow := false

allow if permitted(input.user, input.table)

batch := [answer(question.user, question.table) | some question in input.questions]

list := [table | some table, _ in data.estate.tables; permitted(input.user, table)]

default answer(_, _) := false

answer(user, table) if permitted(user, table)

permitted(user, table) if owns_above(user, data.estate.tables[table])

permitted(user, table) if {
	uses(user, data.estate.tables[table])
	reads(user, table)
}

owns_above(user, _) if data.estate.owners.m == user

owns_above(user, schema) if data.estate.owners[data.estate.schemas[schema]] == user

owns_above(user, schema) if {
	data.estate.owners[schema] == user
	has_catalog(user, data.estate.schemas[schema])
}

uses(user, schema) if {
	has_catalog(user, data.estate.schemas[schema])
	has_above(user, "USE_SCHEMA", schema)
}

reads(user, table) if data.estate.owners[table] == user

reads(user, table) if selects(user, table, "SELECT_TABLE")

reads(user, table) if selects(user, table, "MODIFY_TABLE")

selects(user, table, privilege) if {
	granted(user, "allow", privilege, table)
	not denied(user, privilege, table)
}

selects(user, table, privilege) if {
	granted_above(user, "allow", privilege, data.estate.tables[table])
	not denied(user, privilege, table)
}

denied(user, privilege, table) if granted(user, "deny", privilege, table)

denied(user, privilege, table) if granted_above(user, "deny", privilege, data.estate.tables[table])

has_above(user, privilege, schema) if {
	granted_above(user, "allow", privilege, schema)
	not granted_above(user, "deny", privilege, schema)
}

has_catalog(user, catalog) if {
	granted_catalog(user, "allow", "USE_CATALOG", catalog)
	not granted_catalog(user, "deny", "USE_CATALOG", catalog)
}

granted_above(user, effect, privilege, schema) if granted(user, effect, privilege, schema)

granted_above(user, effect, privilege, schema) if {
	granted_catalog(user, effect, privilege, data.estate.schemas[schema])
}

granted_catalog(user, effect, privilege, catalog) if granted(user, effect, privilege, catalog)

granted_catalog(user, effect, privilege, _) if granted(user, effect, privilege, "m")

granted(user, effect, privilege, node) if {
	some role, _ in data.estate.grants[node][privilege][effect]
	data.estate.roles[user][role]
}
