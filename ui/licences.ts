import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

interface Licence {
  name: string;
  version: string;
  licence: string;
  text: string;
}

const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const TEXT = /^(licen[cs]e|ofl)(\.(md|txt))?$/i;

/** Writes `licences.json`: every package of which something is bundled, with its licence. */
export function licences(): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      const add = (file: string) => {
        const folder = PACKAGE.exec(file)?.[1];
        if (folder) folders.add(folder);
      };
      for (const id of this.getModuleIds()) if (/\.css(\?|$)/.test(id)) add(id);
      for (const file of Object.values(bundle)) {
        if (file.type === "asset") file.originalFileNames.forEach(add);
        else
          for (const [id, module] of Object.entries(file.modules))
            if (module.renderedLength > 0) add(id);
      }
      const listed = [...folders].map(licenceOf);
      listed.sort((one, other) => (one.name < other.name ? -1 : 1));
      this.emitFile({ type: "asset", fileName: "licences.json", source: JSON.stringify(listed) });
    },
  };
}

function licenceOf(folder: string): Licence {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf-8"),
  ) as { name: string; version: string; license?: string };
  const file = readdirSync(folder).find((one) => TEXT.test(one));
  if (!license) throw new Error(`${name} names no licence`);
  const text = file ? readFileSync(join(folder, file), "utf-8") : "";
  return { name, version, licence: license, text };
}
