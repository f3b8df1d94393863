import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

import { quoted } from "./shell-word";

test.each(["ana", "o'hara", "a b", "$HOME", "`id`", "-x;rm", "*", "ü", '"', "a\nb", ""])(
  "the shell reads %j as one word",
  (word) => {
    const command = `printf '%s|' ${quoted(word)} end`;
    expect(execFileSync("/bin/sh", ["-c", command], { encoding: "utf-8" })).toBe(`${word}|end|`);
  },
);
