import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { compressed } from "./compress.ts";
import { licences } from "./licences.ts";

const built = "../src/lakewarden/ui/dist";
const server = process.env.LAKEWARDEN_URL ?? "http://127.0.0.1:8787";
const token = process.env.LAKEWARDEN_TOKEN;
const proxied = {
  target: server,
  headers: token ? { Authorization: `Bearer ${token}` } : undefined,
};

export default defineConfig({
  base: "/ui/",
  plugins: [react(), licences(), compressed(built)],
  build: {
    outDir: built,
    emptyOutDir: true,
    // Inlined assets and the preload shim would break the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What docs/pages.md names.
    target: ["chrome111", "edge111", "firefox115", "safari16.4"],
  },
  // No test changes what another sees, so that they share one worker.
  test: { isolate: false },
  server: {
    proxy: { "/api": proxied, "/r/": proxied, "/openapi.json": proxied, "/readyz": proxied },
  },
});
