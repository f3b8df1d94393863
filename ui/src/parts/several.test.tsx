import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { Several } from "./several";

const shown = (names: string[]) =>
  renderToStaticMarkup(<Several names={names} />).replace(/<[^>]*>/g, "");

test("each of several names is cut by itself, and the rest is counted", () => {
  expect(shown(["ana"])).toBe("ana");
  expect(shown(["ana", "ben", "cleo", "dora", "emil"])).toBe("ana, ben, cleo and 2 more");
  const long = "x".repeat(200);
  expect(shown(["ana", long, "ben"])).toMatch(/^ana, x{30}…x{29}, ben$/);
});
