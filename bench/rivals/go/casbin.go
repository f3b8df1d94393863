package main

import (
	"context"
	"strings"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
)

// One section of policies per privilege, so a question only reads its own section: Casbin
// evaluates the matcher on every policy of the section. A node's place is taken from its name,
// and its owner from a separate map; both are cheaper than Casbin's own links.
const casbinModel = `
[request_definition]
r = sub, obj

[policy_definition]
p = sub, obj, eft
p2 = sub, obj, eft
p3 = sub, obj, eft
p4 = sub, obj, eft

[role_definition]
g = _, _

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = below(r.obj, p.obj) && g(r.sub, p.sub)
m2 = below(r.obj, p2.obj) && g(r.sub, p2.sub)
m3 = below(r.obj, p3.obj) && g(r.sub, p3.sub)
m4 = below(r.obj, p4.obj) && g(r.sub, p4.sub)
`

var casbinSections = map[string]string{
	"USE_CATALOG": "", "USE_SCHEMA": "2", "SELECT_TABLE": "3", "MODIFY_TABLE": "4",
}

type casbinEngine struct {
	enforcer *casbin.Enforcer
	contexts map[string]casbin.EnforceContext
	owners   map[string]string
	tables   []string
}

func newCasbin(world *World) (Engine, error) {
	declared, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	enforcer, err := casbin.NewEnforcer(declared)
	if err != nil {
		return nil, err
	}
	enforcer.AddFunction("below", func(arguments ...any) (any, error) {
		return below(arguments[0].(string), arguments[1].(string)), nil
	})
	policies := map[string][][]string{}
	for _, grant := range world.Grants {
		section := "p" + casbinSections[grant.Privilege]
		effect := "allow"
		if grant.Deny {
			effect = "deny"
		}
		policies[section] = append(policies[section], []string{grant.Role, grant.On, effect})
	}
	for section, rules := range policies {
		if _, err := enforcer.AddNamedPolicies(section, rules); err != nil {
			return nil, err
		}
	}
	var links [][]string
	for user, roles := range world.RolesOf() { // groups resolved: a link fewer to follow
		for role := range roles {
			links = append(links, []string{user, role})
		}
	}
	if _, err := enforcer.AddGroupingPolicies(links); err != nil {
		return nil, err
	}
	engine := &casbinEngine{enforcer, map[string]casbin.EnforceContext{}, world.Owners(), world.Tables()}
	for privilege, section := range casbinSections {
		context := casbin.NewEnforceContext(section)
		context.RType, context.EType = "r", "e"
		engine.contexts[privilege] = context
	}
	return engine, nil
}

// below returns whether a name equals another or is below it; everything is below the metalake.
func below(name, above string) bool {
	if above == "m" {
		return true
	}
	return strings.HasPrefix(name, above) && (len(name) == len(above) || name[len(above)] == '.')
}

func (c *casbinEngine) has(privilege, user, node string) (bool, error) {
	return c.enforcer.Enforce(c.contexts[privilege], user, node)
}

// Check queries Casbin only for the privileges that the answer needs.
func (c *casbinEngine) Check(user, table string) (bool, error) {
	schema := table[:strings.LastIndexByte(table, '.')]
	catalog, _, _ := strings.Cut(table, ".")
	if c.owners["m"] == user || c.owners[catalog] == user {
		return true, nil
	}
	if uses, err := c.has("USE_CATALOG", user, catalog); !uses || err != nil {
		return false, err
	}
	if c.owners[schema] == user {
		return true, nil
	}
	if uses, err := c.has("USE_SCHEMA", user, schema); !uses || err != nil {
		return false, err
	}
	if c.owners[table] == user {
		return true, nil
	}
	if selects, err := c.has("SELECT_TABLE", user, table); selects || err != nil {
		return selects, err
	}
	return c.has("MODIFY_TABLE", user, table)
}

// Batch is a loop: a batch of Casbin covers one privilege, and is a loop itself.
func (c *casbinEngine) Batch(questions []Question) ([]bool, error) {
	return loop(c, questions)
}

func (c *casbinEngine) List(ctx context.Context, user string) ([]string, bool, error) {
	return every(ctx, c, c.tables, user)
}

func (c *casbinEngine) Another() (Engine, error) { return c, nil }

// loop is the batch of an engine without batches.
func loop(engine Engine, questions []Question) ([]bool, error) {
	answers := make([]bool, 0, len(questions))
	for _, question := range questions {
		allowed, err := engine.Check(question.User, question.Table)
		if err != nil {
			return nil, err
		}
		answers = append(answers, allowed)
	}
	return answers, nil
}

// every is the list of an engine without lists: a question for every table.
func every(ctx context.Context, engine Engine, tables []string, user string) ([]string, bool, error) {
	var found []string
	for _, table := range tables {
		if ctx.Err() != nil {
			return found, false, nil
		}
		allowed, err := engine.Check(user, table)
		if err != nil {
			return found, false, err
		}
		if allowed {
			found = append(found, table)
		}
	}
	return found, true, nil
}
