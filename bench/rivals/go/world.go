package main

import (
	"bufio"
	"encoding/json"
	"os"
)

// World is workload W as bench/rivals/world.py writes it: one JSON object per line, with a "kind".
type World struct {
	Groups    []Member
	Users     []Member
	Nodes     []Node
	Grants    []Grant
	Questions []Question
	Lists     []string
	Path      string
}

// Member is a user or a group with its direct memberships.
type Member struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	Roles  []string `json:"roles"`
}

// Node is a metalake, catalog, schema or table. Parents come before their children.
type Node struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Parent string `json:"parent"`
	Owner  string `json:"owner"`
}

// Grant allows or denies a role a privilege on a node and below it.
type Grant struct {
	Role      string `json:"role"`
	On        string `json:"on"`
	Privilege string `json:"privilege"`
	Deny      bool   `json:"deny"`
}

// Question asks whether the user may load the table.
type Question struct {
	User  string `json:"user"`
	Table string `json:"table"`
}

func loadWorld(path string) (*World, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	world := &World{Path: path}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		if err := world.add(lines.Bytes()); err != nil {
			return nil, err
		}
	}
	return world, lines.Err()
}

func (w *World) add(line []byte) error {
	var row struct {
		Kind string `json:"kind"`
		User string `json:"user"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	switch row.Kind {
	case "group":
		return appended(&w.Groups, line)
	case "user":
		return appended(&w.Users, line)
	case "node":
		return appended(&w.Nodes, line)
	case "grant":
		return appended(&w.Grants, line)
	case "question":
		return appended(&w.Questions, line)
	case "list":
		w.Lists = append(w.Lists, row.User)
	}
	return nil
}

func appended[T any](rows *[]T, line []byte) error {
	var row T
	err := json.Unmarshal(line, &row)
	*rows = append(*rows, row)
	return err
}

// Tables are the names of all tables, in order.
func (w *World) Tables() []string {
	var names []string
	for _, node := range w.Nodes {
		if node.Type == "table" {
			names = append(names, node.Name)
		}
	}
	return names
}

// RolesOf returns a user's roles: its own and those of its groups.
func (w *World) RolesOf() map[string]map[string]bool {
	groups := map[string][]string{}
	for _, group := range w.Groups {
		groups[group.Name] = group.Roles
	}
	held := map[string]map[string]bool{}
	for _, user := range w.Users {
		roles := map[string]bool{}
		for _, role := range user.Roles {
			roles[role] = true
		}
		for _, group := range user.Groups {
			for _, role := range groups[group] {
				roles[role] = true
			}
		}
		held[user.Name] = roles
	}
	return held
}

// Owners returns the owner of each node that has one.
func (w *World) Owners() map[string]string {
	owners := map[string]string{}
	for _, node := range w.Nodes {
		if node.Owner != "" {
			owners[node.Name] = node.Owner
		}
	}
	return owners
}
