import {
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type KeyboardEvent,
} from "react";

import { Button } from "../../parts/button";
import { useKeys } from "../../parts/keys";
import { bare } from "../../parts/name";
import { onTheme, theme } from "../../parts/preferences";
import { t } from "../../words";
import styles from "./matrix.module.css";
import { rowName, says, type Cell, type Matrix } from "./cell";
import { runs } from "./runs";

const WIDTH = 860;
const GAP = 1;
const LEAST = 2;
const LARGEST = 4;
const MARGIN = 16;

const MOVES: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The start and size of each row or column: by the square root of its count. */
export function layout(sizes: number[], whole: number): { at: number; size: number }[] {
  const roots = sizes.map(Math.sqrt);
  const sum = roots.reduce((all, one) => all + one, 0) || 1;
  const free = Math.max(0, whole - sizes.length * (LEAST + GAP));
  let at = 0;
  return roots.map((root) => {
    const size = LEAST + (free * root) / sum;
    const place = { at, size };
    at += size + GAP;
    return place;
  });
}

/**
 * The matrix as rectangles on a canvas, one for each role set and class; arrow keys choose a cell,
 * `+` and `-` zoom. The chosen cell is described in words beside it.
 */
export function Grid({
  matrix,
  marks,
  cell,
  onCell,
  onOpen,
}: {
  matrix: Matrix;
  /** What is drawn, a letter for each cell: see `changes`. */
  marks: string[];
  cell: Cell;
  onCell: (cell: Cell) => void;
  /** Moves to the description of the chosen cell. */
  onOpen: () => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<Cell | null>(null);
  const [zoom, setZoom] = useState(1);
  const colours = useSyncExternalStore(onTheme, theme);
  const larger = () => {
    setZoom((before) => Math.min(LARGEST, before * 2));
  };
  const smaller = () => {
    setZoom((before) => Math.max(1, before / 2));
  };
  useKeys({ "+": larger, "-": smaller });
  const shown = Math.min(620, Math.max(160, matrix.rows.length * 16));
  const [width, height] = [WIDTH * zoom, shown * zoom];
  const columns = useMemo(
    () =>
      layout(
        matrix.columns.map((one) => one.entities),
        width,
      ),
    [matrix, width],
  );
  const rows = useMemo(
    () =>
      layout(
        matrix.rows.map((one) => one.users),
        height,
      ),
    [matrix, height],
  );
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current) return;
    draw(context, getComputedStyle(canvas.current), {
      marks,
      isCompared: matrix.cells_then !== null,
      rows,
      columns,
      cell,
      width,
      height,
    });
  }, [matrix, marks, rows, columns, cell, width, height, colours]);
  useEffect(() => {
    const [box, row, column] = [frame.current, rows[cell.row], columns[cell.column]];
    if (!box || !row || !column) return;
    const scale = box.scrollWidth / width;
    scrollTo(box, "Left", column, scale, box.clientWidth);
    scrollTo(box, "Top", row, scale, box.clientHeight);
  }, [rows, columns, cell, width]);
  const under = (x: number, y: number): Cell | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return null;
    const row = place(rows, ((y - box.top) * height) / box.height);
    const column = place(columns, ((x - box.left) * width) / box.width);
    return row < 0 || column < 0 ? null : { row, column };
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      onOpen();
      return;
    }
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    onCell({
      row: Math.min(rows.length - 1, Math.max(0, cell.row + move[0])),
      column: Math.min(columns.length - 1, Math.max(0, cell.column + move[1])),
    });
  };
  return (
    <>
      <div
        className={styles.grid}
        ref={frame}
        role="application"
        tabIndex={0}
        aria-label={t(
          "Matrix: arrow keys choose a cell, Enter leads to what is said about it. {cell}",
          { cell: told(matrix, cell) },
        )}
        onKeyDown={pressed}
      >
        <canvas
          ref={canvas}
          width={width * sharpness(zoom)}
          height={height * sharpness(zoom)}
          style={{ inlineSize: `${String(zoom * 100)}%` }}
          aria-hidden="true"
          onMouseMove={(event) => {
            setHover(under(event.clientX, event.clientY));
          }}
          onMouseLeave={() => {
            setHover(null);
          }}
          onClick={(event) => {
            const chosen = under(event.clientX, event.clientY);
            if (chosen) onCell(chosen);
          }}
        />
      </div>
      <div className={styles.below}>
        <p className={styles.hover}>{told(matrix, hover ?? cell)}</p>
        <Button look="quiet" onClick={smaller} disabled={zoom === 1} aria-keyshortcuts="-">
          {t("Smaller")}
        </Button>
        <Button look="quiet" onClick={larger} disabled={zoom === LARGEST} aria-keyshortcuts="+">
          {t("Larger")}
        </Button>
      </div>
    </>
  );
}

/** Canvas pixels per page pixel: a large canvas is no sharper than the screen. */
function sharpness(zoom: number): number {
  return zoom === 1 ? 2 : 1;
}

/** Scrolls the frame to show the row or column of the chosen cell. */
function scrollTo(
  frame: HTMLElement,
  side: "Left" | "Top",
  { at, size }: { at: number; size: number },
  scale: number,
  room: number,
): void {
  const [first, last] = [at * scale, (at + size) * scale];
  const now = frame[`scroll${side}`];
  if (first < now) frame[`scroll${side}`] = first - MARGIN;
  else if (last > now + room) frame[`scroll${side}`] = last - room + MARGIN;
}

function place(of: { at: number; size: number }[], where: number): number {
  let low = 0;
  let high = of.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((of[middle]?.at ?? 0) <= where) low = middle;
    else high = middle - 1;
  }
  return of.length ? low : -1;
}

function told(matrix: Matrix, { row, column }: Cell): string {
  const people = matrix.rows[row];
  const what = matrix.columns[column];
  if (!people || !what) return "";
  return t("{who} ({users}) × {what} ({entities}): {says}", {
    who: rowName(people),
    users: people.users,
    what: bare(what.sample),
    entities: what.entities,
    says: says(matrix, { row, column }),
  });
}

interface Drawn {
  marks: string[];
  isCompared: boolean;
  rows: { at: number; size: number }[];
  columns: { at: number; size: number }[];
  cell: Cell;
  width: number;
  height: number;
}

function draw(
  context: CanvasRenderingContext2D,
  style: CSSStyleDeclaration,
  { marks, isCompared, rows, columns, cell, width, height }: Drawn,
): void {
  const colour = (name: string) => style.getPropertyValue(name);
  const colours: Record<string, string> = {
    // Unchanged cells are pale beside changed ones.
    a: colour(isCompared ? "--allow-line" : "--allow"),
    "?": colour("--partial-line"),
    "+": colour("--allow"),
    "-": colour("--deny"),
    "~": colour("--partial"),
  };
  const scale = context.canvas.width / width;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  // Most cells are denied: they are the background, and the others are drawn on it in runs.
  context.fillStyle = colour("--sunk");
  context.fillRect(0, 0, end(columns), end(rows));
  rows.forEach((row, at) => {
    for (const { letter, from, to } of runs(marks[at] ?? "")) {
      const [first, last] = [columns[from], columns[to]];
      if (!first || !last || !(letter in colours)) continue;
      context.fillStyle = colours[letter] ?? "";
      context.fillRect(first.at, row.at, last.at + last.size - first.at, row.size);
    }
  });
  for (const one of columns) context.clearRect(one.at + one.size, 0, GAP, height);
  for (const one of rows) context.clearRect(0, one.at + one.size, width, GAP);
  rows.forEach((row, at) => {
    const letters = marks[at] ?? "";
    columns.forEach((column, place) => {
      const letter = letters[place];
      if (letter === "o") mark(context, colour("--allow"), column, row);
      if (letter === "+" || letter === "-") sign(context, colour("--paper"), column, row, letter);
    });
  });
  const row = rows[cell.row];
  const column = columns[cell.column];
  if (!row || !column) return;
  context.strokeStyle = colour("--focus");
  context.lineWidth = 2;
  context.strokeRect(column.at - 1, row.at - 1, column.size + 2, row.size + 2);
}

function end(places: { at: number; size: number }[]): number {
  const last = places.at(-1);
  return last ? last.at + last.size : 0;
}

/** A dot for cells that ownership decides, so that not only the colour tells. */
function mark(
  context: CanvasRenderingContext2D,
  colour: string,
  column: { at: number; size: number },
  row: { at: number; size: number },
): void {
  if (column.size < 6 || row.size < 6) return;
  context.fillStyle = colour;
  context.beginPath();
  context.arc(column.at + column.size / 2, row.at + row.size / 2, 2, 0, 7);
  context.fill();
}

/** A plus or minus for gained or lost cells, for the same reason. */
function sign(
  context: CanvasRenderingContext2D,
  colour: string,
  column: { at: number; size: number },
  row: { at: number; size: number },
  letter: "+" | "-",
): void {
  if (column.size < 8 || row.size < 8) return;
  const [x, y] = [column.at + column.size / 2, row.at + row.size / 2];
  context.fillStyle = colour;
  context.fillRect(x - 3, y - 0.75, 6, 1.5);
  if (letter === "+") context.fillRect(x - 0.75, y - 3, 1.5, 6);
}
