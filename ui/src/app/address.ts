/** The part of an address after `?`. Values stay text: a person may be called `123` or `true`. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

/** The inverse: omits unset and empty values. */
export function stringifySearch(search: Record<string, unknown>): string {
  const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString();
  return text ? `?${text}` : "";
}

/** The parameters that a page knows; others are dropped. */
export function known<Key extends string>(
  search: Record<string, unknown>,
  keys: readonly Key[],
): Partial<Record<Key, string>> {
  const chosen: Partial<Record<Key, string>> = {};
  for (const key of keys) {
    const value = search[key];
    if (typeof value === "string") chosen[key] = value;
  }
  return chosen;
}
