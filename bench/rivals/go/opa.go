package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

//go:embed load.rego
var regoPolicy string

// opaData is W in the policy's form: groups resolved into the roles of each user, every node
// under its parent, grants by node, privilege and effect.
func opaData(world *World) map[string]any {
	roles := map[string]any{}
	for user, held := range world.RolesOf() {
		roles[user] = set(held)
	}
	owners, tables, schemas := map[string]any{}, map[string]any{}, map[string]any{}
	for _, node := range world.Nodes {
		if node.Owner != "" {
			owners[node.Name] = node.Owner
		}
		switch node.Type {
		case "table":
			tables[node.Name] = node.Parent
		case "schema":
			schemas[node.Name] = node.Parent
		}
	}
	grants := map[string]any{}
	for _, grant := range world.Grants {
		effect := "allow"
		if grant.Deny {
			effect = "deny"
		}
		at(at(at(grants, grant.On), grant.Privilege), effect)[grant.Role] = true
	}
	return map[string]any{"estate": map[string]any{
		"roles": roles, "owners": owners, "tables": tables, "schemas": schemas, "grants": grants,
	}}
}

func set(names map[string]bool) map[string]any {
	found := map[string]any{}
	for name := range names {
		found[name] = true
	}
	return found
}

func at(above map[string]any, key string) map[string]any {
	if found, ok := above[key].(map[string]any); ok {
		return found
	}
	made := map[string]any{}
	above[key] = made
	return made
}

// writeOPA writes policy and data as files, for `opa run --server`.
func writeOPA(world *World, folder string) error {
	text, err := json.Marshal(opaData(world))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "data.json"), text, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "load.rego"), []byte(regoPolicy), 0o600)
}

type opaEngine struct{ allow, batch, list rego.PreparedEvalQuery }

func newOPA(world *World) (Engine, error) {
	store := inmem.NewFromObjectWithOpts(opaData(world), inmem.OptReturnASTValuesOnRead(true))
	engine := &opaEngine{}
	for query, place := range map[string]*rego.PreparedEvalQuery{
		"data.w.allow": &engine.allow, "data.w.batch": &engine.batch, "data.w.list": &engine.list,
	} {
		prepared, err := rego.New(
			rego.Query(query), rego.Module("load.rego", regoPolicy), rego.Store(store),
		).PrepareForEval(context.Background())
		if err != nil {
			return nil, err
		}
		*place = prepared
	}
	return engine, nil
}

func evaluated(ctx context.Context, query rego.PreparedEvalQuery, input any) (any, error) {
	results, err := query.Eval(ctx, rego.EvalInput(input))
	if err != nil {
		return nil, err
	}
	if len(results) != 1 {
		return nil, errors.New("no result")
	}
	return results[0].Expressions[0].Value, nil
}

func (o *opaEngine) Check(user, table string) (bool, error) {
	value, err := evaluated(context.Background(), o.allow, map[string]any{"user": user, "table": table})
	allowed, _ := value.(bool)
	return allowed, err
}

func (o *opaEngine) Batch(questions []Question) ([]bool, error) {
	value, err := evaluated(context.Background(), o.batch, map[string]any{"questions": opaQuestions(questions)})
	if err != nil {
		return nil, err
	}
	var answers []bool
	for _, each := range value.([]any) {
		answers = append(answers, each.(bool))
	}
	return answers, nil
}

func opaQuestions(questions []Question) []any {
	var rows []any
	for _, question := range questions {
		rows = append(rows, map[string]any{"user": question.User, "table": question.Table})
	}
	return rows
}

func (o *opaEngine) List(ctx context.Context, user string) ([]string, bool, error) {
	value, err := evaluated(ctx, o.list, map[string]any{"user": user})
	if ctx.Err() != nil {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var tables []string
	for _, each := range value.([]any) {
		tables = append(tables, each.(string))
	}
	return tables, true, nil
}

func (o *opaEngine) Another() (Engine, error) { return o, nil }
