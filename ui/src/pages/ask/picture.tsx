import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useNavigate } from "@tanstack/react-router";

import { Glyph, type State } from "../../parts/glyph";
import { bare, Name } from "../../parts/name";
import { t } from "../../words";
import {
  BOX_HEIGHT,
  hasGlyph,
  layoutOf,
  linesOf,
  neighbour,
  tail,
  TEXT_LEFT,
  type Box,
} from "./layout";
import type { Path, PathNode } from "./path";
import styles from "./picture.module.css";

/** Columns from the person on the left to the needs of the operation on the right. */
export function Picture({ path, realm, person }: { path: Path; realm: string; person: string }) {
  const layout = useMemo(() => layoutOf(path), [path]);
  const { boxes, width, height } = layout;
  const [at, setAt] = useState(0);
  const frame = useRef<SVGSVGElement>(null);
  const navigate = useNavigate();
  const open = (node: Box) => {
    if (node.statement)
      void navigate({
        to: "/r/$realm/statement",
        params: { realm },
        search: { id: node.statement.id },
      });
    else if (node.kind !== "need")
      void navigate({ to: "/principal", search: { realm, p: node.name } });
    else if (node.on) void navigate({ to: "/asset", search: { realm, e: node.on } });
  };
  const walk = (event: KeyboardEvent) => {
    const here = boxes[at];
    if (!here) return;
    if (event.key === "Enter") {
      open(here);
      return;
    }
    const next = neighbour(layout, here, event.key);
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
        style={{ maxWidth: width, minWidth: width * SMALLEST }}
        role="group"
        aria-label={t("How the rules reach {person}", { person: bare(person) })}
        onKeyDown={walk}
      >
        {layout.headings.map(({ text, x }) => (
          <text key={text} className={styles.heading} x={x} y={13}>
            {text}
          </text>
        ))}
        {layout.lines.map(({ from, to, state, d }) => (
          <path
            key={`${from} ${to}`}
            className={styles.edge}
            data-state={state}
            data-edge={`${from} → ${to}`}
            d={d}
          />
        ))}
        {boxes.map((box, number) => (
          <g
            key={box.id}
            data-node={box.id}
            data-state={box.state}
            data-kind={box.kind}
            className={styles.node}
            tabIndex={number === at ? 0 : -1}
            role="link"
            aria-label={spoken(box)}
            transform={`translate(${String(box.x)} ${String(box.y)})`}
            onClick={() => {
              open(box);
            }}
            onFocus={() => {
              setAt(number);
            }}
          >
            <rect width={box.width} height={BOX_HEIGHT} rx={7} />
            <Content box={box} />
          </g>
        ))}
      </svg>
      <Folded path={path} />
    </div>
  );
}

/** The smallest scale before the picture scrolls, to keep its text legible. */
const SMALLEST = 0.85;

function Folded({ path }: { path: Path }) {
  if (path.folded === 0) return null;
  return (
    <p className={styles.folded}>
      {t("{n, plural, one {# more statement says} other {# more statements say}} the same.", {
        n: path.folded,
      })}
    </p>
  );
}

const GLYPHS: Record<PathNode["state"], State> = {
  allow: "allow",
  deny: "deny",
  beaten: "partial",
  missing: "unknown",
  plain: "none",
};

function Content({ box }: { box: Box }) {
  const isMarked = hasGlyph(box);
  const left = isMarked ? TEXT_LEFT.glyph : TEXT_LEFT.plain;
  const [first, second] = box.shown;
  return (
    <>
      {isMarked && (
        <g transform="translate(9 16)">
          <Glyph state={GLYPHS[box.state]} size={16} />
        </g>
      )}
      <text className={styles.first} x={left} y={second ? 20 : 29}>
        {first}
      </text>{" "}
      <text className={styles.second} x={left} y={37}>
        {second}
      </text>
    </>
  );
}

/** The text for screen readers: the box, the meaning of its colour, and the text that was cut. */
function spoken(box: Box): string {
  const says = {
    allow: t("allows"),
    deny: t("denies"),
    beaten: t("overridden by a DENY"),
    missing: t("missing"),
    plain: "",
  };
  const whole = box.lines.filter((line, at) => line !== box.shown[at]);
  return [box.shown.filter(Boolean).join(" "), says[box.state], ...whole]
    .filter(Boolean)
    .join(", ");
}

/** The same as an ordered list: for phones, for screen readers, and on demand. */
export function PathList({ path }: { path: Path }) {
  const byId = new Map(path.nodes.map((node) => [node.id, node]));
  const into = (id: string) =>
    path.edges.filter((edge) => edge.to === id).flatMap((edge) => byId.get(edge.from) ?? []);
  const way = (node: PathNode): string[] => {
    const [before] = into(node.id);
    return before ? [...way(before), tail(before.name)] : [];
  };
  return (
    <>
      <ol className={styles.list}>
        {path.nodes
          .filter((node) => node.kind === "need")
          .map((need) => {
            const [first, second] = linesOf(need);
            return (
              <li key={need.id}>
                <Glyph state={GLYPHS[need.state]} />
                <div>
                  <p>
                    <b>
                      <Name text={first} />
                    </b>{" "}
                    <Name text={second} />
                  </p>
                  {into(need.id).map((node) => (
                    <p key={node.id} className={styles.via}>
                      {node.kind === "person"
                        ? t("without a statement")
                        : `${linesOf(node).join(" ")} (${way(node).join(" → ")})`}
                    </p>
                  ))}
                </div>
              </li>
            );
          })}
      </ol>
      <Folded path={path} />
    </>
  );
}
