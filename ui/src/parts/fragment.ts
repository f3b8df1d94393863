import { forgetDraft, keepDraft, keptDraft } from "./draft";

const KEY = "fragment";

interface Kept {
  at: string;
  fragment: string;
}

/** Keeps the fragment of an address in this tab until the login has led back to the address. */
export function rememberFragment(at: string, fragment: string): void {
  if (fragment) keepDraft(KEY, { at, fragment } satisfies Kept);
  else forgetDraft(KEY);
}

/** Returns the kept fragment of an address once; empty if there is none. */
export function takeFragment(at: string): string {
  const kept = keptDraft<Kept>(KEY);
  forgetDraft(KEY);
  return kept?.at === at ? kept.fragment : "";
}
