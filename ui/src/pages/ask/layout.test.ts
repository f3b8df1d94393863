import { expect, test } from "vitest";

import { BOX_HEIGHT, layoutOf, linesOf, neighbour, type Box } from "./layout";
import { pathOf, type Explanation, type Step } from "./path";

const TABLE = "table:quillmere:lake.sales.forecasts";

function leaf(says: string, holds: boolean, allowed: string[] = [], denied: string[] = []): Step {
  return { says, holds, entity: TABLE, allowed_by: allowed, denied_by: denied, steps: [] };
}

function node(says: string, holds: boolean, ...steps: Step[]): Step {
  return { says, holds, entity: TABLE, allowed_by: [], denied_by: [], steps };
}

/** A person who owns the table and is denied its schema, as in the sample estate. */
const DENIED = {
  allow: false,
  reason: "denied",
  revision: 8,
  notes: [],
  statements: ["catalog", "schema", "never"],
  ways: [{ allow: [], lift: [], leave: [], join: [], opens: [], others: null }],
  summary: [],
  rule: node(
    "all of",
    false,
    leaf("MEMBER", true, ["implied:member:quillmere"]),
    node(
      "any of",
      false,
      leaf("owner of metalake", false),
      node(
        "all of",
        false,
        leaf("USE_CATALOG", true, ["catalog"]),
        leaf("USE_SCHEMA", false, ["schema"], ["never"]),
        node("any of", true, leaf("owner of self", true), leaf("MODIFY_TABLE", false)),
      ),
    ),
  ),
  named: [
    statement("catalog", "role:lake_user", ["USE_CATALOG"], "catalog:quillmere:lake"),
    statement("schema", "role:sales_reader", ["SELECT_TABLE", "USE_SCHEMA"], "schema:q:lake.sales"),
    {
      ...statement("never", "role:marts_only", ["USE_SCHEMA"], "schema:q:lake.sales"),
      effect: "deny",
    },
  ],
  reaching: [
    { statement: "catalog", over: ["group:sales", "role:lake_user"] },
    { statement: "schema", over: ["group:sales", "role:sales_reader"] },
    { statement: "never", over: ["role:marts_only"] },
  ],
} as unknown as Explanation;

function statement(id: string, to: string, privileges: string[], on: string) {
  return { id, title: id, to: [to], privileges, on };
}

const path = pathOf(DENIED, "user:hugo");
const layout = layoutOf(path);
const box = (id: string) => layout.boxes.find((one) => one.id === id) as Box;

test("the columns are person, groups, roles, statements and what is needed", () => {
  const column = (id: string) => box(id).column;
  expect(path.columns).toBe(5);
  expect(column("user:hugo")).toBe(0);
  expect(column("group:sales")).toBe(1);
  expect(["role:lake_user", "role:sales_reader", "role:marts_only"].map(column)).toEqual([2, 2, 2]);
  expect(column("statement never")).toBe(3);
  expect(column(`need USE_SCHEMA ${TABLE}`)).toBe(4);
});

test("the broken need, what breaks it, and what it overrides are marked", () => {
  expect(box(`need USE_SCHEMA ${TABLE}`).state).toBe("deny");
  expect(box("statement never").state).toBe("deny");
  expect(box("statement schema").state).toBe("beaten");
  expect(box("statement catalog").state).toBe("allow");
  expect(path.edges.filter((edge) => edge.state === "deny").map((edge) => edge.from)).toEqual([
    "user:hugo",
    "role:marts_only",
    "statement never",
  ]);
});

test("what holds without a statement leads from the person", () => {
  const facts = path.edges.filter((edge) => edge.from === "user:hugo" && edge.state === "allow");
  expect(facts.map((edge) => edge.to)).toEqual([
    `need MEMBER ${TABLE}`,
    `need owner of self ${TABLE}`,
  ]);
});

test("a stored grant is one, whatever the name of its metalake", () => {
  const id = "implied:readers/table:lake.sales.forecasts/allow";
  const found = pathOf(
    {
      ...DENIED,
      allow: true,
      rule: leaf("SELECT_TABLE", true, [id]),
      named: [statement(id, "role:implied:readers", ["SELECT_TABLE"], TABLE)],
      reaching: [{ statement: id, over: ["role:implied:readers"] }],
    } as unknown as Explanation,
    "user:hugo",
  );
  expect(found.edges.map(({ from, to }) => [from, to])).toEqual([
    ["user:hugo", "role:implied:readers"],
    ["role:implied:readers", `statement ${id}`],
    [`statement ${id}`, `need SELECT_TABLE ${TABLE}`],
  ]);
});

test("an alternative that holds without it is not drawn", () => {
  expect(path.nodes.map((one) => one.name)).not.toContain("MODIFY_TABLE");
  expect(path.nodes.map((one) => one.name)).not.toContain("owner of metalake");
});

test("boxes of a column do not overlap, and all lie inside the picture", () => {
  for (const one of layout.boxes) {
    expect(one.x).toBeGreaterThanOrEqual(0);
    expect(one.x + one.width).toBeLessThanOrEqual(layout.width);
    expect(one.y + BOX_HEIGHT).toBeLessThanOrEqual(layout.height);
    const beside = layout.boxes.filter((other) => other.column === one.column && other !== one);
    for (const other of beside)
      expect(Math.abs(other.y - one.y)).toBeGreaterThanOrEqual(BOX_HEIGHT);
  }
});

test("a box says privilege and place; an overridden one says so", () => {
  expect(linesOf(box("statement schema"))).toEqual([
    "ALLOW USE_SCHEMA +1",
    "on schema lake.sales, overridden",
  ]);
  expect(linesOf(box(`need USE_SCHEMA ${TABLE}`))).toEqual(["USE_SCHEMA", "on schema lake.sales"]);
});

test("arrow keys follow the line that denies, and go up and down", () => {
  const at = (from: string, key: string) => layout.boxes[neighbour(layout, box(from), key)]?.id;
  expect(at("user:hugo", "ArrowRight")).toBe("role:marts_only");
  expect(at("role:marts_only", "ArrowRight")).toBe("statement never");
  expect(at("statement never", "ArrowRight")).toBe(`need USE_SCHEMA ${TABLE}`);
  expect(at(`need USE_SCHEMA ${TABLE}`, "ArrowUp")).toBe(`need USE_CATALOG ${TABLE}`);
  expect(at(`need USE_SCHEMA ${TABLE}`, "ArrowLeft")).toBe("statement never");
  expect(at("user:hugo", "ArrowLeft")).toBeUndefined();
});
