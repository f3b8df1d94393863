import type { Schemas } from "../../api/client";

export type Explanation = Schemas["ExplanationGiven"];
export type Statement = Schemas["StatementGiven"];
export type Step = Schemas["StepGiven"];

export type NodeState = "allow" | "deny" | "beaten" | "missing" | "plain";

/** A box of the picture: the person, what the person acts as, a statement, or a level. */
export interface PathNode {
  id: string;
  column: number;
  kind: "person" | "through" | "statement" | "level";
  state: NodeState;
  name: string;
  statement?: Statement;
  /** Privileges that a level lacks. */
  lacks: string[];
}

export interface PathEdge {
  from: string;
  to: string;
  state: "allow" | "deny" | "beaten" | "plain";
}

export interface Path {
  nodes: PathNode[];
  edges: PathEdge[];
  columns: number;
  /** Statements that are not drawn because there are too many. */
  folded: number;
}

export const MAX_STATEMENTS = 14;

/** Steps of the rule without further steps: what was looked up about a level. */
export function leaves(step: Step | null | undefined): Step[] {
  if (!step) return [];
  return step.steps.length ? step.steps.flatMap(leaves) : [step];
}

/**
 * The picture of an explanation: every statement that reaches the asker, through whom, and the
 * level that it sits on. Nothing is decided here; each box and line is one of the answer's.
 */
export function pathOf(explanation: Explanation, person: string, target: string): Path {
  const looked = leaves(explanation.rule);
  const denying = new Set(looked.flatMap((step) => step.denied_by));
  const deniedAt = new Set(
    looked.filter((step) => step.denied_by.length).flatMap((step) => step.allowed_by),
  );
  const reaching = new Map(explanation.reaching.map((one) => [one.statement, one.over]));
  const speaking = explanation.named.filter((one) => reaching.has(one.id));
  const drawn = [...speaking]
    .sort((a, b) => Number(denying.has(b.id)) - Number(denying.has(a.id)))
    .slice(0, MAX_STATEMENTS);

  const nodes = new Map<string, PathNode>();
  const edges = new Map<string, PathEdge>();
  const add = (node: PathNode) => {
    const before = nodes.get(node.id);
    if (!before) nodes.set(node.id, node);
    else if (node.column > before.column && node.kind === "through") before.column = node.column;
  };
  const join = (from: string, to: string, state: PathEdge["state"]) => {
    const key = `${from}\n${to}`;
    const before = edges.get(key);
    if (!before || state === "deny") edges.set(key, { from, to, state });
  };

  const longest = Math.max(0, ...drawn.map((one) => reaching.get(one.id)?.length ?? 0));
  const statements = longest + 1;
  add({ id: person, column: 0, kind: "person", state: "plain", name: person, lacks: [] });
  for (const one of drawn) {
    const state = denying.has(one.id) ? "deny" : deniedAt.has(one.id) ? "beaten" : "allow";
    let from = person;
    const chain = reaching.get(one.id) ?? [];
    chain.forEach((over, place) => {
      if (over === person) return;
      add({
        id: over,
        column: statements - chain.length + place,
        kind: "through",
        state: "plain",
        name: over,
        lacks: [],
      });
      join(from, over, state === "deny" ? "deny" : "plain");
      from = over;
    });
    add({
      id: `statement ${one.id}`,
      column: statements,
      kind: "statement",
      state,
      name: one.title || one.id,
      statement: one,
      lacks: [],
    });
    join(from, `statement ${one.id}`, state === "deny" ? "deny" : "plain");
  }
  for (const level of levels(drawn, explanation, target)) {
    const here = drawn.filter((one) => (one.on ?? target) === level);
    const denied = here.some((one) => denying.has(one.id));
    const lacks = lacking(explanation, level, target);
    add({
      id: `level ${level}`,
      column: statements + 1,
      kind: "level",
      state: denied ? "deny" : lacks.length ? "missing" : here.length ? "allow" : "plain",
      name: level,
      lacks,
    });
    for (const one of here) {
      const state = denying.has(one.id) ? "deny" : deniedAt.has(one.id) ? "beaten" : "allow";
      join(`statement ${one.id}`, `level ${level}`, state);
    }
  }
  return {
    nodes: [...nodes.values()],
    edges: [...edges.values()],
    columns: statements + 2,
    folded: speaking.length - drawn.length,
  };
}

// The shorter of two names of one realm lies above the longer one, in every system's spelling.
function levels(drawn: Statement[], explanation: Explanation, target: string): string[] {
  const wanted = explanation.ways.flatMap((way) => way.allow.map((need) => need.on ?? target));
  const named = new Set([...drawn.map((one) => one.on ?? target), ...wanted, target]);
  named.delete(target);
  return [...named].sort((a, b) => a.length - b.length).concat(target);
}

function lacking(explanation: Explanation, level: string, target: string): string[] {
  const first = explanation.ways[0];
  if (explanation.allow || !first) return [];
  return first.allow.filter((need) => (need.on ?? target) === level).map((need) => need.privilege);
}
