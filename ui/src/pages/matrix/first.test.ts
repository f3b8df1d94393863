import { expect, test } from "vitest";

import { firstOperation, firstType } from "./first";

const operation = (name: string, ways: string[], ...types: string[]) => ({ name, ways, types });

test("the first matrix is about reading tables, or else about reading", () => {
  const list = operation("list", ["see"], "table");
  const stream = operation("stream.read", ["read"], "stream");
  const table = operation("table.load", ["read"], "table");
  expect(firstOperation([list, stream, table])).toBe(table);
  expect(firstOperation([list, stream])).toBe(stream);
  expect(firstOperation([list])).toBe(list);
  expect(firstOperation([])).toBeUndefined();
});

test("of several types it is about the one that holds data", () => {
  expect(firstType(["dataPlatformInstance", "dataset"])).toBe("dataset");
  expect(firstType(["folder", "document"])).toBe("folder");
});
