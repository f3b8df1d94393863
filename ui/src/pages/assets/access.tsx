import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useRef, useState, type KeyboardEvent } from "react";

import { $api, problemOf } from "../../api/client";
import { useTitleOf } from "../../api/server";
import { Button } from "../../parts/button";
import { Drawer } from "../../parts/drawer";
import { Glyph, type State } from "../../parts/glyph";
import { bare, Name, urnLabel } from "../../parts/name";
import { Card } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Segments } from "../../parts/tabs";
import { count, t } from "../../words";
import styles from "./access.module.css";
import { AccessReasons } from "./access-reasons";
import type { AccessTable, Column, Row } from "./access-table";
import { OwnAccess } from "./own-access";

const route = getRouteApi("/asset");
const PAGE = 100;
const MOST = 500;

type Rows = "groups" | "people" | "role_sets";
type Columns = "ways" | "operations";
interface Place {
  row: number;
  column: number;
}

const MOVES: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Who can do what to an asset, in all systems that know it. */
export function Access({ realm, entity }: { realm: string; entity: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const rows = (search.rows ?? "groups") as Rows;
  const columns = (search.columns ?? "ways") as Columns;
  const [limit, setLimit] = useState(PAGE);
  const [open, setOpen] = useState<{ row: Row; column: Column; may: number } | null>(null);
  const asked = $api.useQuery(
    "post",
    "/api/v1/estate/access/table",
    { body: { asset: entity, realm, rows, columns, limit, token: "" } },
    { retry: false, placeholderData: (before) => before },
  );
  const titles = useTitleOf();
  const show = (more: { rows?: Rows; columns?: Columns }) => {
    void navigate({ search: { ...search, ...more }, replace: true });
  };
  if (asked.isPending) return <Loading rows={8} />;
  if (asked.error) {
    const problem = problemOf(asked.error);
    if (problem.status === 403)
      return (
        <>
          <OwnAccess realm={realm} entity={entity} />
          <p className={styles.left}>
            {t("Who else has access is shown to users who may ask about others.")}{" "}
            {!!problem.may_grant?.length && (
              <>
                {t("Who can grant that:")} <Name text={problem.may_grant.join(", ")} />
              </>
            )}
          </p>
        </>
      );
    return <ProblemView problem={problem} onRetry={() => void asked.refetch()} />;
  }
  const table = asked.data;
  const differing = disagreement(table, titles);
  return (
    <>
      {differing && (
        <div className={styles.differ} role="status">
          <Glyph state="partial" size={20} />
          <p>
            <b>{t("The systems do not agree.")}</b> {differing}
          </p>
          {rows !== "people" && (
            <Button
              onClick={() => {
                show({ rows: "people" });
              }}
            >
              {t("Show the people")}
            </Button>
          )}
        </div>
      )}
      {table.left_out.length > 0 && (
        <p className={styles.left}>
          {t("Left out, since you may not ask there: {names}", {
            names: table.left_out.join(", "),
          })}
        </p>
      )}
      <Card
        pad={false}
        title={t("{n, plural, =0 {Nobody has access} one {# person} other {# people}}", {
          n: table.people,
        })}
        note={
          rows === "groups"
            ? t("of {known}; members of several groups count in each", {
                known: count(table.known),
              })
            : t("of {known}", { known: count(table.known) })
        }
      >
        <div className={styles.tools}>
          <Segments
            label={t("Rows")}
            value={rows}
            options={[
              ["groups", t("Groups")],
              ["people", t("People")],
              ["role_sets", t("Role sets")],
            ]}
            onChange={(value) => {
              setLimit(PAGE);
              show({ rows: value });
            }}
          />
          <Segments
            label={t("Columns")}
            value={columns}
            options={[
              ["ways", t("Ways")],
              ["operations", t("Operations")],
            ]}
            onChange={(value) => {
              show({ columns: value });
            }}
          />
        </div>
        {table.rows.length === 0 ? (
          <Empty title={t("No stored rule lets anybody see, read or change it.")} />
        ) : (
          <Cells table={table} realm={realm} kind={rows} onOpen={setOpen} />
        )}
        <Rest
          table={table}
          onMore={() => {
            setLimit(MOST);
          }}
        />
        <p className={styles.key}>
          <span data-state="allow">{t("all of them may")}</span>
          <span data-state="partial">{t("some may")}</span>
          <span>{t("· nobody may")}</span>
        </p>
      </Card>
      <Drawer
        open={open !== null}
        onClose={() => {
          setOpen(null);
        }}
        title={open && <CellTitle row={open.row} column={open.column} />}
      >
        {open && <AccessReasons realm={realm} entity={entity} {...open} />}
      </Drawer>
    </>
  );
}

/** What is not shown: rows without any access, and rows beyond the page. */
function Rest({ table, onMore }: { table: AccessTable; onMore: () => void }) {
  const { rows, total, closed } = table;
  return (
    <div className={styles.rest}>
      {closed.rows > 0 && (
        <p>
          {t(
            "Not shown: {people, plural, one {# person} other {# people}} in {rows, plural, one {# row} other {# rows}} without access.",
            { people: closed.people, rows: closed.rows },
          )}
        </p>
      )}
      {rows.length < total && (
        <p>
          {t("The first {n} of {total} rows.", { n: rows.length, total: count(total) })}{" "}
          {rows.length < MOST && (
            <Button onClick={onMore}>{t("Show more of {total}", { total: count(total) })}</Button>
          )}
        </p>
      )}
    </div>
  );
}

/** The table: rows of people by paths; arrow keys move between the cells. */
function Cells({
  table,
  realm,
  kind,
  onOpen,
}: {
  table: AccessTable;
  /** The realm whose columns come first. */
  realm: string;
  kind: Rows;
  onOpen: (cell: { row: Row; column: Column; may: number }) => void;
}) {
  const titles = useTitleOf();
  const frame = useRef<HTMLTableSectionElement>(null);
  const [at, setAt] = useState<Place>({ row: 0, column: 0 });
  const shown = useMemo(() => columnsOf(table, realm), [table, realm]);
  const realms = [...new Set(shown.map(({ column }) => column.realm))];
  const pressed = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const row = Math.min(table.rows.length - 1, Math.max(0, at.row + move[0]));
    const column = Math.min(shown.length - 1, Math.max(0, at.column + move[1]));
    setAt({ row, column });
    const cells = frame.current?.rows[row]?.querySelectorAll("button");
    cells?.[column]?.focus();
  };
  return (
    <div className={styles.frame}>
      <table className={styles.matrix}>
        <caption className="visually-hidden">{t("Who can do what")}</caption>
        <thead>
          <tr>
            <td />
            {realms.map((one) => (
              <th
                key={one}
                scope="colgroup"
                colSpan={shown.filter(({ column }) => column.realm === one).length}
              >
                <span>{titles(one)}</span>
              </th>
            ))}
          </tr>
          <tr>
            <th scope="col">{HEADS[kind]}</th>
            {shown.map(({ column, place }) => (
              <th key={place} scope="col" title={`${column.operation} · ${column.entity}`}>
                {column.way ? t(column.way) : <code>{column.operation}</code>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={frame} onKeyDown={pressed}>
          {table.rows.map((row, rowAt) => (
            <tr key={row.key}>
              <th scope="row">
                <RowName row={row} />
              </th>
              {shown.map(({ column, place }, columnAt) => (
                <td key={place}>
                  <Cell
                    may={row.counts[place] ?? 0}
                    of={row.people}
                    isHere={at.row === rowAt && at.column === columnAt}
                    onFocus={() => {
                      setAt({ row: rowAt, column: columnAt });
                    }}
                    onOpen={() => {
                      onOpen({ row, column, may: row.counts[place] ?? 0 });
                    }}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t("People")}</th>
            {shown.map(({ place }) => (
              <td key={place}>{count(table.counts[place] ?? 0)}</td>
            ))}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

const HEADS: Record<Rows, string> = {
  groups: t("Group"),
  people: t("Person"),
  role_sets: t("Role set"),
};

/**
 * The columns with their places in the counts, those of `realm` first; operations that nobody may
 * use are omitted.
 */
function columnsOf(table: AccessTable, realm: string): { column: Column; place: number }[] {
  return table.columns
    .map((column, place) => ({ column, place }))
    .filter(({ column, place }) => column.way !== "" || (table.counts[place] ?? 0) > 0)
    .sort((a, b) => Number(a.column.realm !== realm) - Number(b.column.realm !== realm));
}

function Cell({
  may,
  of,
  isHere,
  onFocus,
  onOpen,
}: {
  may: number;
  of: number;
  isHere: boolean;
  onFocus: () => void;
  onOpen: () => void;
}) {
  const state: State = may === 0 ? "none" : may === of ? "allow" : "partial";
  const label =
    may === 0
      ? t("nobody may")
      : may === of
        ? t("{of, plural, one {may} other {all # may}}", { of })
        : t("{may}/{of} may", { may: count(may), of: count(of) });
  return (
    <button
      type="button"
      className={styles.cell}
      data-state={state}
      tabIndex={isHere ? 0 : -1}
      aria-label={label}
      onFocus={onFocus}
      onClick={onOpen}
    >
      <Glyph state={state} size={15} />
      {may > 0 && of > 1 && <b>{may === of ? count(may) : `${count(may)}/${count(of)}`}</b>}
    </button>
  );
}

/** The label of a row: a person, a group, or what a set of roles acts as. */
function RowName({ row }: { row: Row }) {
  const people = t("{n, plural, one {# person} other {# people}}", { n: row.people });
  if (row.key.startsWith("user:")) return <Name text={bare(row.key)} />;
  if (row.key.startsWith("group:"))
    return (
      <>
        <Name text={bare(row.key)} /> <small>{people}</small>
      </>
    );
  if (row.key === "others:")
    return (
      <>
        {t("in no group")} <small>{people}</small>
      </>
    );
  return (
    <>
      <Name text={roleSet(row)} cut={60} /> <small>{people}</small>
    </>
  );
}

/** A set of roles by what it acts as, or by its only person. */
export function roleSet(row: Row): string {
  const named = row.acts_as
    .map((one) => one.principal)
    .filter((one) => !one.startsWith("user:"))
    .map(shortName);
  const unique = [...new Set(named)];
  const shown = unique.slice(0, 3).join(" + ");
  const more = unique.length > 3 ? ` + ${String(unique.length - 3)}` : "";
  return shown ? shown + more : row.sample.slice(0, 3).join(", ");
}

/** The last part of a name: `role:quillmere:readers` is `readers`. */
function shortName(name: string): string {
  const rest = bare(name);
  return rest.startsWith("urn:li:") ? urnLabel(rest) : rest.slice(rest.lastIndexOf(":") + 1);
}

function CellTitle({ row, column }: { row: Row; column: Column }) {
  const who = row.key === "others:" ? t("in no group") : shortTitle(row);
  return (
    <>
      <Name text={who} cut={60} /> <small>{t("{what} in {realm}", whatOf(column))}</small>
    </>
  );
}

function shortTitle(row: Row): string {
  return row.key.startsWith("roles:") ? roleSet(row) : bare(row.key);
}

function whatOf({ way, operation, realm }: Column): { what: string; realm: string } {
  return { what: way || operation, realm };
}

/** How many users read it in each system, if these numbers differ. */
function disagreement(table: AccessTable, titles: (realm: string) => string): string {
  const reading = table.columns
    .map((column, place) => ({ column, n: table.counts[place] ?? 0 }))
    .filter(({ column }) => column.way === "read");
  if (new Set(reading.map(({ n }) => n)).size < 2) return "";
  return reading
    .map(({ column, n }) =>
      t("{n} can read it in {realm}", { n: count(n), realm: titles(column.realm) }),
    )
    .join("; ");
}
