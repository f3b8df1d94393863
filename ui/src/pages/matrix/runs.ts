/** The cells of a row as runs of the same letter. */
export function runs(cells: string): { letter: string; from: number; to: number }[] {
  const found: { letter: string; from: number; to: number }[] = [];
  for (let place = 0; place < cells.length; place += 1) {
    const letter = cells[place] ?? "";
    const run = found.at(-1);
    if (run?.letter === letter) run.to = place;
    else found.push({ letter, from: place, to: place });
  }
  return found;
}
