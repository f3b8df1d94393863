import type { Word } from "./sentence";

const same = (one: Word | undefined, other: Word | undefined): boolean =>
  one?.text === other?.text && one?.ref?.name === other?.ref?.name;

/**
 * Merges two sentences: words that only `was` has are marked `del`, those that only `now` has
 * `ins`. Words that both have, in the same order, are unchanged.
 */
export function edited(was: Word[], now: Word[]): Word[] {
  const common = longest(was, now);
  const words: Word[] = [];
  let before = 0;
  let after = 0;
  for (const [left, right] of [...common, [was.length, now.length] as const]) {
    for (; before < left; before++) words.push({ ...(was[before] as Word), mark: "del" });
    for (; after < right; after++) words.push({ ...(now[after] as Word), mark: "ins" });
    if (right < now.length) words.push(now[right] as Word);
    before = left + 1;
    after = right + 1;
  }
  return words;
}

/** The places of the longest common subsequence of words. */
function longest(was: Word[], now: Word[]): [number, number][] {
  const lengths = Array.from({ length: was.length + 1 }, () =>
    new Array<number>(now.length + 1).fill(0),
  );
  const at = (left: number, right: number) => lengths[left]?.[right] ?? 0;
  for (let left = was.length - 1; left >= 0; left--)
    for (let right = now.length - 1; right >= 0; right--)
      (lengths[left] as number[])[right] = same(was[left], now[right])
        ? at(left + 1, right + 1) + 1
        : Math.max(at(left + 1, right), at(left, right + 1));
  const places: [number, number][] = [];
  let left = 0;
  let right = 0;
  while (left < was.length && right < now.length) {
    if (same(was[left], now[right])) places.push([left++, right++]);
    else if (at(left + 1, right) >= at(left, right + 1)) left++;
    else right++;
  }
  return places;
}
