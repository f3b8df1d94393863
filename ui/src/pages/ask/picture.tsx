import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useNavigate } from "@tanstack/react-router";

import { Glyph, type State } from "../../parts/glyph";
import { bare, kindOf, Name } from "../../parts/name";
import { t } from "../../words";
import type { Path, PathEdge, PathNode } from "./path";
import styles from "./picture.module.css";

const WIDTH = 122;
const STATEMENT_WIDTH = 196;
const HEIGHT = 46;
const GAP_X = 34;
const GAP_Y = 16;
const TOP = 24;

interface Placed extends PathNode {
  x: number;
  y: number;
  width: number;
}

/** Columns from the person on the left to what the act needs on the right. */
export function Picture({ path, realm, person }: { path: Path; realm: string; person: string }) {
  const { placed, width, height } = useMemo(() => place(path), [path]);
  const [at, setAt] = useState(0);
  const frame = useRef<SVGSVGElement>(null);
  const navigate = useNavigate();
  const byId = new Map(placed.map((node) => [node.id, node]));
  const headings = headingsOf(path);

  const open = (node: Placed) => {
    if (node.kind === "level") void navigate({ to: "/asset", search: { realm, e: node.name } });
    else if (node.statement)
      void navigate({
        to: "/r/$realm/statement",
        params: { realm },
        search: { id: node.statement.id },
      });
    else void navigate({ to: "/principal", search: { realm, p: node.name } });
  };
  const walk = (event: KeyboardEvent) => {
    const here = placed[at];
    if (!here) return;
    if (event.key === "Enter") {
      open(here);
      return;
    }
    const next = neighbour(placed, path.edges, here, event.key);
    if (next < 0) return;
    event.preventDefault();
    setAt(next);
    frame.current?.querySelectorAll<SVGGElement>("[data-node]")[next]?.focus();
  };

  return (
    <div className={styles.frame}>
      <svg
        ref={frame}
        viewBox={`0 0 ${String(width)} ${String(height)}`}
        style={{ maxWidth: width }}
        role="group"
        aria-label={t("How the rules reach {person}", { person: bare(person) })}
        onKeyDown={walk}
      >
        {headings.map(({ text, column }) => (
          <text key={text} className={styles.heading} x={xOf(path, column)} y={12}>
            {text}
          </text>
        ))}
        {path.edges.map((edge) => (
          <Line
            key={`${edge.from} ${edge.to}`}
            edge={edge}
            from={byId.get(edge.from)}
            to={byId.get(edge.to)}
          />
        ))}
        {placed.map((node, number) => (
          <g
            key={node.id}
            data-node={node.id}
            data-state={node.state}
            data-kind={node.kind}
            className={styles.node}
            tabIndex={number === at ? 0 : -1}
            role="link"
            aria-label={spoken(node)}
            transform={`translate(${String(node.x)} ${String(node.y)})`}
            onClick={() => {
              open(node);
            }}
            onFocus={() => {
              setAt(number);
            }}
          >
            <rect width={node.width} height={HEIGHT} rx={7} />
            <Content node={node} />
          </g>
        ))}
      </svg>
      {path.folded > 0 && (
        <p className={styles.folded}>{t("{n} more statements", { n: path.folded })}</p>
      )}
    </div>
  );
}

/** Where the lines begin that have a glyph before them. */
const LEFT = 30;

const GLYPHS: Record<PathNode["state"], State | null> = {
  allow: "allow",
  deny: "deny",
  beaten: "partial",
  missing: "unknown",
  plain: null,
};

function Content({ node }: { node: Placed }) {
  const glyph = node.kind === "statement" || node.kind === "level" ? GLYPHS[node.state] : null;
  const left = glyph ? LEFT : 10;
  const [first, second] = shown(node);
  return (
    <>
      {glyph && (
        <g transform="translate(8 14)">
          <Glyph state={glyph} size={16} />
        </g>
      )}
      <text className={styles.first} x={left} y={19}>
        {first}
      </text>{" "}
      <text className={styles.second} x={left} y={35}>
        {second}
      </text>
    </>
  );
}

/** The two lines of a box. */
export function lines(node: PathNode): [string, string] {
  const { statement } = node;
  if (statement) {
    const more = statement.privileges.length - 1;
    const effect = statement.effect === "deny" ? t("DENY") : t("ALLOW");
    const privilege = statement.privileges[0] ?? "";
    const second = statement.on ? t("on {entity}", { entity: tail(statement.on) }) : node.name;
    return [`${effect} ${privilege}${more > 0 ? ` +${String(more)}` : ""}`, second];
  }
  if (node.kind === "level")
    return [
      tail(node.name),
      node.lacks.length ? t("lacks {what}", { what: node.lacks.join(", ") }) : kindOf(node.name),
    ];
  return [tail(node.name), kindOf(node.name)];
}

/** The two lines, cut in their middle where the box has no room. */
function shown(node: Placed): [string, string] {
  const [first, second] = lines(node);
  const left = node.kind === "statement" || node.kind === "level" ? LEFT : 10;
  const room = Math.floor((node.width - left - 8) / 7);
  return [short(first, room), short(second, room + 2)];
}

/** What is seen, what the colour says, and what was cut. */
function spoken(node: Placed): string {
  const seen = shown(node);
  const says = {
    allow: t("allows"),
    deny: t("denies"),
    beaten: t("beaten by a DENY"),
    missing: t("missing"),
    plain: "",
  };
  const whole = lines(node).filter((line, at) => line !== seen[at]);
  return [seen.join(" "), says[node.state], ...whole].filter(Boolean).join(", ");
}

function tail(name: string): string {
  const rest = bare(name);
  return rest.slice(rest.lastIndexOf(":") + 1) || rest;
}

function short(text: string, room: number): string {
  if (text.length <= room) return text;
  const half = Math.max(2, Math.floor((room - 1) / 2));
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function Line({ edge, from, to }: { edge: PathEdge; from?: Placed; to?: Placed }) {
  if (!from || !to) return null;
  const x1 = from.x + from.width;
  const y1 = from.y + HEIGHT / 2;
  const y2 = to.y + HEIGHT / 2;
  const middle = (x1 + to.x) / 2;
  const d = `M${String(x1)} ${String(y1)}C${String(middle)} ${String(y1)} ${String(middle)} ${String(y2)} ${String(to.x)} ${String(y2)}`;
  return (
    <path
      className={styles.edge}
      data-state={edge.state}
      data-edge={`${edge.from} → ${edge.to}`}
      d={d}
    />
  );
}

function xOf(path: Path, column: number): number {
  let x = 1;
  for (let before = 0; before < column; before += 1)
    x += (before === path.columns - 2 ? STATEMENT_WIDTH : WIDTH) + GAP_X;
  return x;
}

function headingsOf(path: Path): { text: string; column: number }[] {
  const headings = [{ text: t("person"), column: 0 }];
  if (path.columns > 3) headings.push({ text: t("acts as"), column: 1 });
  headings.push({ text: t("statements"), column: path.columns - 2 });
  headings.push({ text: t("what it needs"), column: path.columns - 1 });
  return headings;
}

/** Boxes of a column stand in the order of what they lead to, so that few lines cross. */
function place(path: Path): { placed: Placed[]; width: number; height: number } {
  const columns = Array.from({ length: path.columns }, (_, column) =>
    path.nodes.filter((node) => node.column === column),
  );
  const rank = new Map<string, number>();
  for (let column = path.columns - 1; column >= 0; column -= 1) {
    const here = columns[column] ?? [];
    const order = (node: PathNode) => {
      const after = path.edges
        .filter((edge) => edge.from === node.id)
        .map((edge) => rank.get(edge.to) ?? 0);
      return after.length ? after.reduce((a, b) => a + b) / after.length : 0;
    };
    if (column < path.columns - 1) here.sort((a, b) => order(a) - order(b));
    here.forEach((node, number) => rank.set(node.id, number / Math.max(1, here.length - 1)));
  }
  const tallest = Math.max(1, ...columns.map((column) => column.length));
  const height = tallest * (HEIGHT + GAP_Y);
  const placed = columns.flatMap((column, number) => {
    const slot = height / Math.max(1, column.length);
    return column.map((node, row) => ({
      ...node,
      x: xOf(path, number),
      y: TOP + slot * row + (slot - HEIGHT) / 2,
      width:
        number === path.columns - 2
          ? STATEMENT_WIDTH
          : WIDTH + (number === path.columns - 1 ? 40 : 0),
    }));
  });
  return { placed, width: xOf(path, path.columns - 1) + WIDTH + 42, height: height + TOP };
}

function neighbour(placed: Placed[], edges: PathEdge[], here: Placed, key: string): number {
  const index = (node?: Placed) => (node ? placed.indexOf(node) : -1);
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const right = key === "ArrowRight";
    const ids = edges
      .filter((edge) => (right ? edge.from : edge.to) === here.id)
      .sort((a, b) => Number(b.state === "deny") - Number(a.state === "deny"))
      .map((edge) => (right ? edge.to : edge.from));
    return index(placed.find((node) => node.id === ids[0]));
  }
  if (key !== "ArrowDown" && key !== "ArrowUp") return -1;
  const column = placed.filter((node) => node.column === here.column).sort((a, b) => a.y - b.y);
  return index(column[column.indexOf(here) + (key === "ArrowDown" ? 1 : -1)]);
}

/** The same as an ordered list: for phones, for readers of the screen, and on demand. */
export function PathList({ path }: { path: Path }) {
  const levels = path.nodes.filter((node) => node.kind === "level");
  const into = (id: string) => path.edges.filter((edge) => edge.to === id).map((edge) => edge.from);
  const byId = new Map(path.nodes.map((node) => [node.id, node]));
  const way = (id: string): string[] => {
    const before = into(id)[0];
    return before ? [...way(before), before] : [];
  };
  return (
    <ol className={styles.list}>
      {levels.map((level) => (
        <li key={level.id}>
          <Glyph state={GLYPHS[level.state] ?? "none"} />
          <div>
            <p>
              {kindOf(level.name)}{" "}
              <b>
                <Name text={tail(level.name)} />
              </b>
              {level.lacks.length > 0 && (
                <>
                  {" "}
                  {t("lacks")} <code>{level.lacks.join(", ")}</code>
                </>
              )}
            </p>
            {into(level.id).map((id) => {
              const node = byId.get(id);
              if (!node) return null;
              return (
                <p key={id} className={styles.via}>
                  {lines(node).join(" ")} ({[...way(id)].map(tail).join(" → ")})
                </p>
              );
            })}
          </div>
        </li>
      ))}
    </ol>
  );
}
