import { expect, test } from "vitest";

import { columnsOf, rowsOf, textOfColumns, textOfRows } from "./lookup-text";

test("columns have a type, or are strings", () => {
  const columns = columnsOf(" email,since  date , ");
  expect(columns).toEqual([
    { name: "email", type: "string" },
    { name: "since", type: "date" },
  ]);
  expect(textOfColumns(columns)).toBe("email, since date");
});

test("values come back as they were written", () => {
  const columns = columnsOf("name, n integer, is boolean");
  const rows = [
    ["a", 1, true],
    [' b, "c"', -20, false],
    ["", 0, true],
    ["two\nlines, and\r\nmore", 7, true],
  ];
  expect(rowsOf(textOfRows(rows), columns)).toEqual(rows);
});

test("what is no number stays as it is", () => {
  expect(rowsOf("x,1.5\n\ny,2", columnsOf("a, n integer"))).toEqual([
    ["x", "1.5"],
    ["y", 2],
  ]);
});

test("a value alone in its line may be empty or have lines of its own", () => {
  const columns = columnsOf("name");
  const rows = [["a"], [""], ["b\n\nc"], ['"']];
  expect(rowsOf(textOfRows(rows), columns)).toEqual(rows);
  expect(rowsOf("\r\na\r\n  \n b ,\n", columns)).toEqual([["a"], ["b", ""]]);
});
