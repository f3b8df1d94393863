import { bare, kindOf } from "../../parts/name";
import { t } from "../../words";
import type { Path, PathEdge, PathNode } from "./path";

/** A box with its place and its two lines of text; lengths are pixels of the picture. */
export interface Box extends PathNode {
  x: number;
  y: number;
  width: number;
  lines: [string, string];
  /** The lines as they are drawn: cut in the middle if the box is too narrow. */
  shown: [string, string];
}

export interface Layout {
  boxes: Box[];
  /** Each line with its path, as the `d` of an SVG path. */
  lines: (PathEdge & { d: string })[];
  headings: { text: string; x: number }[];
  width: number;
  height: number;
}

export const BOX_HEIGHT = 48;
/** Where the text of a box starts: after its glyph, or without one. */
export const TEXT_LEFT = { glyph: 32, plain: 11 } as const;

const GAP_X = 30;
const GAP_Y = 18;
const TOP = 28;
/** The height that a line needs where it passes a column. */
const PASSING = 6;
const RIGHT = 11;
// The widest column of each kind; longer text is cut.
const WIDEST = { person: 130, through: 150, statement: 230, need: 210 } as const;
const NARROWEST = 76;
// Width of a character: semibold at 13 pixels, and regular at 12.
const FIRST_CHARACTER = 7.3;
const SECOND_CHARACTER = 6.4;

/** Whether a glyph precedes the text of a box. */
export function hasGlyph(node: PathNode): boolean {
  return node.kind === "statement" || node.kind === "need";
}

/** An item of a column: a box, or the place where a line to a further column passes. */
interface Item {
  id: string;
  height: number;
  node?: PathNode;
}

/** Places the boxes in columns, ordered by the boxes that they lead to, to keep crossings few. */
export function layoutOf(path: Path): Layout {
  const columns: Item[][] = Array.from({ length: path.columns }, (_, column) =>
    path.nodes
      .filter((node) => node.column === column)
      .map((node) => ({ id: node.id, height: BOX_HEIGHT, node })),
  );
  const routes = path.edges.map((edge) => ({ edge, stops: stopsOf(edge, path, columns) }));
  order(
    columns,
    routes.flatMap(({ stops }) => stops.slice(1).map((to, at) => [stops[at] ?? "", to] as const)),
  );
  const height = Math.max(...columns.map(heightOf));
  let x = 1;
  const lefts: number[] = [];
  const places = new Map<string, { x: number; y: number; width: number }>();
  const boxes: Box[] = [];
  for (const column of columns) {
    const width = widthOf(column.flatMap((item) => item.node ?? []));
    let y = TOP + (height - heightOf(column)) / 2;
    lefts.push(x);
    for (const { id, node, height: own } of column) {
      places.set(id, { x, y: y + own / 2, width });
      if (node)
        boxes.push({ ...node, x, y, width, lines: linesOf(node), shown: fitted(node, width) });
      y += own + GAP_Y;
    }
    if (column.length) x += width + GAP_X;
  }
  return {
    boxes,
    lines: routes.map(({ edge, stops }) => ({
      ...edge,
      d: curve(stops.flatMap((stop) => places.get(stop) ?? [])),
    })),
    headings: headings(path, lefts),
    width: x - GAP_X + 1,
    height: TOP + height + 1,
  };
}

/** The line's ends, and between them a stop in each column that it passes. */
function stopsOf(edge: PathEdge, path: Path, columns: Item[][]): string[] {
  const columnOf = (id: string) => path.nodes.find((node) => node.id === id)?.column ?? 0;
  const stops = [edge.from];
  for (let column = columnOf(edge.from) + 1; column < columnOf(edge.to); column += 1) {
    const here = columns[column];
    if (!here?.some((item) => item.node)) continue;
    const id = `${edge.from} past ${String(column)} to ${edge.to}`;
    here.push({ id, height: PASSING });
    stops.push(id);
  }
  return [...stops, edge.to];
}

function heightOf(column: Item[]): number {
  return column.reduce((sum, item) => sum + item.height, GAP_Y * Math.max(0, column.length - 1));
}

// From the right, where the rule gives the order, each column follows the one that it leads to.
function order(columns: Item[][], links: (readonly [string, string])[]): void {
  const rank = new Map<string, number>();
  for (let column = columns.length - 1; column >= 0; column -= 1) {
    const here = columns[column] ?? [];
    const wanted = new Map(
      here.map((item) => {
        const after = links.filter(([from]) => from === item.id).map(([, to]) => rank.get(to) ?? 0);
        return [item, after.reduce((sum, one) => sum + one, 0) / Math.max(1, after.length)];
      }),
    );
    if (column < columns.length - 1)
      here.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    here.forEach((item, place) => rank.set(item.id, (place + 0.5) / here.length));
  }
}

/** A line through places: curved between the columns, straight past the boxes in them. */
function curve(places: { x: number; y: number; width: number }[]): string {
  const points = places.slice(1).map((to, at) => {
    const from = places[at] ?? to;
    const [x, y] = [from.x + from.width, from.y];
    const middle = (x + to.x) / 2;
    const bend = `C${String(middle)} ${String(y)} ${String(middle)} ${String(to.y)} ${String(to.x)} ${String(to.y)}`;
    return at === 0 ? `M${String(x)} ${String(y)}${bend}` : `H${String(x)}${bend}`;
  });
  return points.join("");
}

function widthOf(column: PathNode[]): number {
  const widths = column.map((node) => {
    const [first, second] = linesOf(node);
    const text = Math.max(first.length * FIRST_CHARACTER, second.length * SECOND_CHARACTER);
    return Math.min(WIDEST[node.kind], left(node) + text + RIGHT);
  });
  return Math.round(Math.max(NARROWEST, ...widths));
}

function left(node: PathNode): number {
  return hasGlyph(node) ? TEXT_LEFT.glyph : TEXT_LEFT.plain;
}

function fitted(node: PathNode, width: number): [string, string] {
  const [first, second] = linesOf(node);
  const room = width - left(node) - RIGHT;
  return [
    short(first, Math.floor(room / FIRST_CHARACTER)),
    short(second, Math.floor(room / SECOND_CHARACTER)),
  ];
}

function short(text: string, room: number): string {
  const letters = Array.from(text);
  if (letters.length <= room) return text;
  const half = Math.max(1, Math.floor((room - 1) / 2));
  return `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

function headings(path: Path, lefts: number[]): { text: string; x: number }[] {
  const at = (column: number) => lefts[column] ?? 0;
  const found = [{ text: t("Person"), x: at(0) }];
  if (path.nodes.some((node) => node.kind === "through"))
    found.push({ text: t("acts as"), x: at(1) });
  if (path.nodes.some((node) => node.kind === "statement"))
    found.push({ text: t("statements"), x: at(path.columns - 2) });
  found.push({ text: t("what the act needs"), x: at(path.columns - 1) });
  return found;
}

/** The two lines of a box: its name and its kind. */
export function linesOf(node: PathNode): [string, string] {
  const { statement, on } = node;
  if (statement) {
    const more = statement.privileges.length - 1;
    const effect = statement.effect === "deny" ? t("DENY") : t("ALLOW");
    const where = statement.on ? t("on {entity}", { entity: typed(statement.on) }) : node.name;
    const first = `${effect} ${node.privilege ?? ""}${more > 0 ? ` +${String(more)}` : ""}`;
    return [first, node.state === "beaten" ? t("{where}, overridden", { where }) : where];
  }
  if (node.kind === "need") {
    const where = on ? t("on {entity}", { entity: typed(on) }) : "";
    if (node.state === "missing") return [node.name, t("missing {where}", { where })];
    return [node.name, where];
  }
  return [tail(node.name), kindOf(node.name)];
}

/** An entity with its type: `table lake.sales.forecasts`. */
function typed(entity: string): string {
  return [kindOf(entity), tail(entity)].filter(Boolean).join(" ");
}

/** The last part of a name: `lake.sales` for `table:metalake:lake.sales`. */
export function tail(name: string): string {
  const rest = bare(name);
  return rest.slice(rest.lastIndexOf(":") + 1) || rest;
}

/** The box that an arrow key reaches from a box; -1 if there is none. */
export function neighbour({ boxes, lines }: Layout, here: Box, key: string): number {
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const isRight = key === "ArrowRight";
    const ids = lines
      .filter((line) => (isRight ? line.from : line.to) === here.id)
      .sort((a, b) => Number(b.state === "deny") - Number(a.state === "deny"))
      .map((line) => (isRight ? line.to : line.from));
    return boxes.findIndex((box) => box.id === ids[0]);
  }
  if (key !== "ArrowDown" && key !== "ArrowUp") return -1;
  const column = boxes.filter((box) => box.column === here.column).sort((a, b) => a.y - b.y);
  const next = column[column.indexOf(here) + (key === "ArrowDown" ? 1 : -1)];
  return next ? boxes.indexOf(next) : -1;
}
