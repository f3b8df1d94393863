/** What was typed and not saved, in this tab; null where nothing was. */
export function keptDraft<Draft>(key: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

/** Keeps a draft for when the page is opened again; a draft too large to keep stays on the page. */
export function keepDraft(key: string, draft: unknown): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
    if (owner !== undefined) sessionStorage.setItem(OWNER, JSON.stringify(owner));
  } catch {
    sessionStorage.removeItem(key);
  }
}

/** Forgets a draft, once it is saved or discarded. */
export function forgetDraft(key: string): void {
  sessionStorage.removeItem(key);
}

const OWNER = "drafts of";
let owner: string | undefined;

/** Forgets what somebody else has left in this tab; what is kept from now on is of `who`. */
export function claimDrafts(who: string): void {
  const before = keptDraft<string>(OWNER);
  if (before !== null && before !== who) sessionStorage.clear();
  owner = who;
}
