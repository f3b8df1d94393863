/* eslint-disable no-restricted-globals -- the one place that keeps anything in this browser */

/** What a reader sets for this browser; nothing of a session is among it. */
export interface Preferences {
  theme: "auto" | "light" | "dark";
  rows: "normal" | "compact";
  keys: "on" | "off";
}

const DEFAULTS: Preferences = { theme: "auto", rows: "normal", keys: "on" };
const NAME = "lakewarden.preferences";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function preferences(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(NAME) ?? "{}") as object) };
  } catch {
    return DEFAULTS;
  }
}

export function setPreference<K extends keyof Preferences>(name: K, value: Preferences[K]): void {
  localStorage.setItem(NAME, JSON.stringify({ ...preferences(), [name]: value }));
  applyPreferences();
}

/** Calls back when the colours of the page became others; returns how to stop that. */
export function onTheme(listener: () => void): () => void {
  const seen = new MutationObserver(listener);
  seen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    seen.disconnect();
  };
}

/** The colours of the page as they are now. */
export function theme(): string {
  return document.documentElement.dataset.theme ?? "";
}

/** Puts theme and row height on the page; follows the system while the theme is `auto`. */
export function applyPreferences(): void {
  const { theme, rows } = preferences();
  const root = document.documentElement;
  root.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  root.dataset.rows = rows;
}

dark.addEventListener("change", applyPreferences);
