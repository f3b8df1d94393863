/* eslint-disable no-restricted-globals -- the one place that keeps anything in this browser */

/** The reader's settings for this browser; none of them belongs to a session. */
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

/** Calls back when the colours of the page change; returns a function that stops this. */
export function onTheme(listener: () => void): () => void {
  const seen = new MutationObserver(listener);
  seen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    seen.disconnect();
  };
}

/** The current colours of the page. */
export function theme(): string {
  return document.documentElement.dataset.theme ?? "";
}

/** Applies theme and row height to the page; follows the system while the theme is `auto`. */
export function applyPreferences(): void {
  const { theme, rows } = preferences();
  const root = document.documentElement;
  root.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  root.dataset.rows = rows;
}

dark.addEventListener("change", applyPreferences);
