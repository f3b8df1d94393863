import type { Schemas } from "../../api/client";

export type Explanation = Schemas["ExplanationResponse"];
export type Statement = Schemas["StatementResponse"];
export type Step = Schemas["RuleStep"];

export type NodeState = "allow" | "deny" | "beaten" | "missing" | "plain";

/**
 * A box of the picture: the person, a principal that the person acts as, a statement, or a need.
 */
export interface PathNode {
  id: string;
  kind: "person" | "through" | "statement" | "need";
  /** 0 is the person; statements and needs have the last two columns. */
  column: number;
  state: NodeState;
  /** A principal; for a need, the rule's name of it. */
  name: string;
  /** The entity that a need concerns. */
  on?: string;
  statement?: Statement;
  /** The privilege of the statement that counts here. */
  privilege?: string;
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
export const MAX_NEEDS = 12;

interface Need {
  id: string;
  says: string;
  on?: string;
  holds: boolean;
  allowedBy: string[];
  deniedBy: string[];
}

/**
 * The picture of an explanation. Boxes and lines are the response's own: nothing is decided here.
 *
 * The needs are the leaves of the rule: for an allow those that suffice, for a denial those about
 * which something is stored, and those that the smallest change would add. Lines lead from the
 * person through groups and roles to each statement that reaches the person by them, and from each
 * statement to the needs that it decides.
 */
export function pathOf(explanation: Explanation, person: string): Path {
  const needs = needsOf(explanation);
  const { drawn, folded } = chosen(explanation, needs);
  const over = new Map(explanation.reaching.map((one) => [one.statement, one.over]));
  const chains = drawn.map((one) => (over.get(one.id) ?? []).filter((name) => name !== person));
  const depths = layers(chains);
  const statements = Math.max(0, ...depths.values()) + 1;

  const nodes = new Map<string, PathNode>();
  const edges = new Map<string, PathEdge>();
  const join = (from: string, to: string, state: PathEdge["state"]) => {
    const key = JSON.stringify([from, to]);
    if (!edges.has(key) || state === "deny") edges.set(key, { from, to, state });
  };

  const stored = new Set(explanation.named.map((one) => one.id));
  nodes.set(person, { id: person, kind: "person", column: 0, state: "plain", name: person });
  drawn.forEach((one, place) => {
    const id = statementId(one.id);
    const state = stateOf(one.id, needs);
    const line = state === "deny" ? "deny" : "plain";
    let from = person;
    for (const name of chains[place] ?? []) {
      const column = statements - (depths.get(name) ?? 1);
      nodes.set(name, { id: name, kind: "through", column, state: "plain", name });
      join(from, name, line);
      from = name;
    }
    join(from, id, line);
    const privilege = privilegeOf(one, needs);
    nodes.set(id, {
      id,
      kind: "statement",
      column: statements,
      state,
      name: one.title || one.id,
      statement: one,
      privilege,
    });
  });
  for (const need of needs) {
    const state = need.holds ? "allow" : need.deniedBy.length ? "deny" : "missing";
    const { id, says: name } = need;
    const column = statements + 1;
    nodes.set(id, { id, kind: "need", column, state, name, on: placeOf(need, drawn) });
    for (const one of drawn) {
      const from = statementId(one.id);
      if (need.deniedBy.includes(one.id)) join(from, id, "deny");
      else if (need.allowedBy.includes(one.id)) join(from, id, need.holds ? "allow" : "beaten");
    }
    const isFact = need.holds && need.allowedBy.every((one) => isImplied(one, stored));
    if (isFact) join(person, id, "allow");
  }
  const all = [...nodes.values()];
  return { nodes: all, edges: [...edges.values()], columns: statements + 2, folded };
}

/** Where a need is decided: the entity in a statement about it, or the entity of the question. */
function placeOf(need: Need, drawn: Statement[]): string | undefined {
  const deciding = (ids: string[]) => drawn.find((one) => ids.includes(one.id))?.on;
  return deciding(need.deniedBy) ?? deciding(need.allowedBy) ?? need.on;
}

function statementId(id: string): string {
  return `statement ${id}`;
}

/**
 * Whether a privilege follows from an attribute of the principal, not from a stored statement: the
 * id of a grant in a metalake with the name `implied` has the same prefix.
 */
function isImplied(id: string, stored: ReadonlySet<string>): boolean {
  return id.startsWith("implied:") && !stored.has(id);
}

/** The needs, in the order of the rule. */
function needsOf(explanation: Explanation): Need[] {
  const { rule, allow, ways } = explanation;
  if (!rule) return [];
  const wanted = allow ? [] : (ways[0]?.allow ?? []);
  const byId = new Map<string, Need>();
  const put = (id: string, says: string, on: string | null, step?: Step) => {
    const before = byId.get(id);
    const need = before ?? { id, says, holds: true, allowedBy: [], deniedBy: [] };
    if (on) need.on = on;
    need.holds &&= step?.holds ?? false;
    need.allowedBy = union(need.allowedBy, step?.allowed_by ?? []);
    need.deniedBy = union(need.deniedBy, step?.denied_by ?? []);
    byId.set(id, need);
  };
  const leaves = allow ? sufficing(rule) : failing(rule);
  for (const step of leaves) put(needId(step.says, step.entity), step.says, step.entity, step);
  for (const { privilege, on } of wanted) {
    const isLooked = leaves.some((step) => step.says === privilege && !step.holds);
    if (!isLooked) put(needId(privilege, on), privilege, on);
  }
  const all = [...byId.values()];
  const kept = new Set([...all].sort((a, b) => weight(a) - weight(b)).slice(0, MAX_NEEDS));
  return all.filter((need) => kept.has(need));
}

/** Denied needs come before missing ones, and these before needs that hold. */
function weight(need: Need): number {
  return need.deniedBy.length && !need.holds ? 0 : need.holds ? 2 : 1;
}

function needId(says: string, on: string | null): string {
  return `need ${says} ${on ?? ""}`;
}

/** For a step that holds, the leaf steps that make it hold. */
function sufficing(step: Step): Step[] {
  if (!step.holds) return [];
  return step.steps.length ? step.steps.flatMap(sufficing) : [step];
}

/** For a step that fails, the leaf steps about which anything is stored. */
function failing(step: Step): Step[] {
  if (step.steps.length) return step.steps.flatMap(failing);
  return step.holds || step.allowed_by.length || step.denied_by.length ? [step] : [];
}

function union(a: string[], b: string[]): string[] {
  return [...new Set([...a, ...b])];
}

/** The statements that are drawn: each DENY, then one for each need, then as many as fit. */
function chosen(explanation: Explanation, needs: Need[]): { drawn: Statement[]; folded: number } {
  const deciding = explanation.named.filter((one) =>
    needs.some((need) => need.deniedBy.includes(one.id) || need.allowedBy.includes(one.id)),
  );
  const first = new Set(
    needs.flatMap((need) => deciding.find((one) => need.allowedBy.includes(one.id)) ?? []),
  );
  const rank = (one: Statement) =>
    needs.some((need) => need.deniedBy.includes(one.id)) ? 0 : first.has(one) ? 1 : 2;
  const kept = new Set([...deciding].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_STATEMENTS));
  return {
    drawn: deciding.filter((one) => kept.has(one)),
    folded: deciding.length - kept.size,
  };
}

function stateOf(id: string, needs: Need[]): NodeState {
  if (needs.some((need) => need.deniedBy.includes(id))) return "deny";
  const decided = needs.filter((need) => need.allowedBy.includes(id));
  return decided.some((need) => need.holds) ? "allow" : "beaten";
}

function privilegeOf(one: Statement, needs: Need[]): string {
  const decided = needs.filter(
    (need) => need.allowedBy.includes(one.id) || need.deniedBy.includes(one.id),
  );
  const named = decided.find((need) => one.privileges.includes(need.says));
  return named?.says ?? one.privileges[0] ?? "";
}

/**
 * The longest chain from each name to a statement, in boxes, so that lines only lead to the right.
 */
function layers(chains: string[][]): Map<string, number> {
  const depth = new Map<string, number>();
  const names = new Set(chains.flat());
  // Memberships have no cycles, so each round settles at least one name.
  for (let round = 0, moved = true; moved && round <= names.size; round += 1) {
    moved = false;
    for (const chain of chains)
      chain.forEach((name, place) => {
        const after = chain[place + 1];
        const least = after === undefined ? 1 : (depth.get(after) ?? 1) + 1;
        if ((depth.get(name) ?? 0) < least) {
          depth.set(name, least);
          moved = true;
        }
      });
  }
  return depth;
}
