package main

import "strings"

// Relation is a fact as OpenFGA and SpiceDB store it: object, relation, subject, and the subject's
// relation.
type Relation struct {
	Type, ID, Relation, SubjectType, SubjectID, SubjectRelation string
}

// relations are W's facts. They fit model.fga and schema.zed alike.
func relations(world *World) []Relation {
	var found []Relation
	types := map[string]string{}
	for _, group := range world.Groups {
		for _, role := range group.Roles {
			found = append(found, Relation{"role", role, "assignee", "group", group.Name, "member"})
		}
	}
	for _, user := range world.Users {
		for _, group := range user.Groups {
			found = append(found, Relation{"group", group, "member", "user", user.Name, ""})
		}
		for _, role := range user.Roles {
			found = append(found, Relation{"role", role, "assignee", "user", user.Name, ""})
		}
	}
	for _, node := range world.Nodes {
		types[node.Name] = node.Type
		if node.Parent != "" {
			found = append(found, Relation{node.Type, node.Name, "parent", types[node.Parent], node.Parent, ""})
		}
		if node.Owner != "" {
			found = append(found, Relation{node.Type, node.Name, "owner", "user", node.Owner, ""})
		}
	}
	for _, grant := range world.Grants {
		name := "allow_" + strings.ToLower(grant.Privilege)
		if grant.Deny {
			name = "deny_" + strings.ToLower(grant.Privilege)
		}
		found = append(found, Relation{types[grant.On], grant.On, name, "role", grant.Role, "assignee"})
	}
	return found
}
