import { expect, test } from "vitest";

import { draftOf } from "./draft";

const ON = { on: "namespace:sales" };
const one = (id: string, to: string[], privileges: string[]) => ({ id, to, privileges });

test("a new grant is a statement of its own", () => {
  const draft = draftOf([], "user:ana", ["READ"], ON);
  expect(draft.remove).toEqual([]);
  expect(draft.put).toMatchObject([
    { id: "user:ana/namespace:sales", to: ["user:ana"], privileges: ["READ"], ...ON },
  ]);
});

test("what several statements give is one then, and goes with all of them", () => {
  const stored = [one("r", ["user:ana"], ["READ"]), one("w", ["user:ana"], ["WRITE"])];
  const less = draftOf(stored, "user:ana", ["READ"], ON);
  expect(less.put).toMatchObject([{ id: "r", privileges: ["READ"] }]);
  expect(less.remove).toEqual(["w"]);
  expect(draftOf(stored, "user:ana", [], ON)).toEqual({ put: [], remove: ["r", "w"] });
});

test("what others hold by the same statement stays theirs", () => {
  const stored = [one("both", ["user:ana", "group:staff"], ["READ", "WRITE"])];
  expect(draftOf(stored, "user:ana", ["READ"], ON)).toMatchObject({
    put: [
      { id: "both", to: ["group:staff"], privileges: ["READ", "WRITE"] },
      { id: "user:ana/namespace:sales", to: ["user:ana"], privileges: ["READ"] },
    ],
    remove: [],
  });
});
