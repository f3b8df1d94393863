// Draws the pictures of explanations: node draw-paths.mjs EXPLANATIONS.json PICTURES.json
//
// Takes a list of {person, explanation}, as the API gives them, and writes a list of pictures
// with their boxes placed. For the test that holds them against what was explained.
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { createServer } from "vite";

const [from, to] = process.argv.slice(2);
const server = await createServer({
  appType: "custom",
  configFile: false,
  logLevel: "error",
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
});
try {
  const { pathOf } = await server.ssrLoadModule("/src/pages/ask/path.ts");
  const { layoutOf } = await server.ssrLoadModule("/src/pages/ask/layout.ts");
  const given = JSON.parse(await readFile(from, "utf-8"));
  const pictures = given.map(({ person, explanation }) => {
    const path = pathOf(explanation, person);
    return { ...path, layout: layoutOf(path) };
  });
  await writeFile(to, JSON.stringify(pictures));
} finally {
  await server.close();
}
