/** Unsaved input that this tab kept; null if there is none. */
export function keptDraft<Draft>(key: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

/** Keeps a draft until the page is opened again; one that is too large stays only on the page. */
export function keepDraft(key: string, draft: unknown): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
    if (owner !== undefined) sessionStorage.setItem(OWNER, JSON.stringify(owner));
  } catch {
    sessionStorage.removeItem(key);
  }
}

/** Forgets a draft after it was saved or discarded. */
export function forgetDraft(key: string): void {
  sessionStorage.removeItem(key);
}

const OWNER = "drafts of";
let owner: string | undefined;

/** Forgets another user's drafts in this tab; drafts from now on belong to `who`. */
export function claimDrafts(who: string): void {
  const before = keptDraft<string>(OWNER);
  if (before !== null && before !== who) sessionStorage.clear();
  owner = who;
}
