import { getRouteApi, Link, useLocation } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";

import { $api, problemOf } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, governed, useRealms, useVocabulary } from "../../api/server";
import { suggest } from "../../api/suggest";
import { Filters, SelectField } from "../../parts/fields";
import { bare, Name } from "../../parts/name";
import { Beside, Card, Page } from "../../parts/page";
import { PickedFilter } from "../../parts/picker";
import { PLANNED, plannedIn } from "../../parts/planned";
import { Sentence, type Word } from "../../parts/sentence";
import { useSettled } from "../../parts/settled";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Segments } from "../../parts/tabs";
import { count, t } from "../../words";
import { Against, comparedWith, thenCalled } from "./against";
import { rowName, says, type Cell, type Matrix } from "./cell";
import { changes } from "./changes";
import { firstOperation, firstType } from "./first";
import { Grid } from "./grid";
import styles from "./matrix.module.css";

const route = getRouteApi("/r/$realm/matrix");
const PAUSE = 300;

/** Who may do an operation on what, as one picture: role sets by classes of entities. */
export default function MatrixPage() {
  const { realm } = route.useParams();
  const { ask, type, within, against } = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const vocabulary = useVocabulary(realm);
  const operations = (vocabulary.data?.operations ?? []).filter((one) =>
    one.types.some((on) => on !== "none"),
  );
  const chosen = operations.find((one) => one.name === ask) ?? firstOperation(operations);
  const types = (chosen?.types ?? []).filter((on) => on !== "none" && on !== "any");
  const about = type ?? firstType(types);
  return (
    <Page title={t("Matrix")}>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ to: "/r/$realm/matrix", params: { realm: event.target.value } });
          }}
        />
        <SelectField
          label={t("Who may")}
          value={chosen?.name ?? ""}
          options={operations.map((one) => [one.name, `${one.title} (${one.name})`] as const)}
          onChange={(event) => {
            void navigate({ search: { ask: event.target.value, within, against } });
          }}
        />
        {types.length > 1 && (
          <SelectField
            label={t("On")}
            value={about ?? ""}
            options={types.map((one) => [one, one] as const)}
            onChange={(event) => {
              void navigate({ search: { ask, within, against, type: event.target.value } });
            }}
          />
        )}
        <PickedFilter
          label={t("Within")}
          placeholder={t("anywhere")}
          value={within ?? ""}
          onChange={(below) => {
            void navigate({ search: { ask, type, against, within: below } });
          }}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
        />
        <Against
          realm={realm}
          against={against}
          onChange={(other) => {
            void navigate({ search: { ask, type, within, against: other } });
          }}
        />
      </Filters>
      {vocabulary.error && (
        <ProblemView
          problem={problemOf(vocabulary.error)}
          onRetry={() => void vocabulary.refetch()}
        />
      )}
      {chosen && (
        <Answer
          question={{
            realm,
            ask: chosen.name,
            type: about,
            within,
            against: comparedWith(against),
          }}
        />
      )}
    </Page>
  );
}

/** The chosen cell of each history entry, for going back to it. */
const chosenCells = new Map<string, Cell>();

/** The question: `against` is a revision, a time or the plan that the matrix is compared with. */
interface MatrixQuestion {
  realm: string;
  ask: string;
  type?: string;
  within?: string;
  against?: number | string;
}

/** The matrix, with reasons for the cells in `explain`. */
function useMatrix(question: MatrixQuestion, explain: [number, number][], enabled = true) {
  const { realm, ask, type, within } = question;
  const isPlanned = question.against === PLANNED;
  const against = isPlanned ? (plannedIn(realm) ?? NO_PLAN) : question.against;
  return $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/matrix",
    {
      params: { path: { realm } },
      body: {
        ask,
        type: type ?? null,
        within: within || null,
        limit_rows: 400,
        limit_columns: 400,
        explain,
        ...(against === undefined ? {} : { against }),
      },
    },
    { retry: false, enabled, select: (found) => (isPlanned ? afterPlan(found) : found) },
  );
}

const NO_PLAN = { put: [], remove: [], members: { add: [], remove: [] } };

/** The same with the plan as the current state, compared with the stored one. */
function afterPlan(found: Matrix): Matrix {
  return {
    ...found,
    cells: found.cells_then ?? found.cells,
    cells_then: found.cells,
    reasons: found.reasons.map((reason) => ({
      ...reason,
      summary: reason.summary_then ?? reason.summary,
      statements: reason.statements_then ?? reason.statements,
      summary_then: reason.summary,
      statements_then: reason.statements,
    })),
  };
}

function Answer({ question }: { question: MatrixQuestion }) {
  const { against } = question;
  const asked = useMatrix(question, []);
  const visit = useLocation({ select: (location) => location.state.__TSR_key ?? "" });
  const [cell, setCell] = useState<Cell>(() => chosenCells.get(visit) ?? { row: 0, column: 0 });
  const [shape, setShape] = useState<"picture" | "table">("picture");
  const told = useRef<HTMLDivElement>(null);
  const picture = useRef<HTMLDivElement>(null);
  const matrix = asked.data;
  const marks = useMemo(() => (matrix ? changes(matrix.cells, matrix.cells_then) : []), [matrix]);
  if (asked.isPending) return <Loading rows={10} />;
  if (asked.error)
    return <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />;
  if (!matrix?.rows.length || !matrix.columns.length)
    return <Empty title={t("No user, or no entity of this type, is stored here.")} />;
  const at = {
    row: Math.min(cell.row, matrix.rows.length - 1),
    column: Math.min(cell.column, matrix.columns.length - 1),
  };
  return (
    <Beside
      side={
        <div
          ref={told}
          onKeyDown={(event) => {
            if (event.key === "Escape") focusIn(picture.current);
          }}
        >
          <Chosen question={question} matrix={matrix} cell={at} />
        </div>
      }
    >
      <Card
        title={t(
          "{rows, plural, one {# role set} other {# role sets}} × {columns, plural, one {# class} other {# classes}}",
          { rows: matrix.rows.length, columns: matrix.columns.length },
        )}
        note={
          against === undefined
            ? t("{pairs} pairs of user and entity are allowed", {
                pairs: count(pairs(matrix, marks, "a")),
              })
            : against === PLANNED
              ? t("+{gained} −{lost} pairs of user and entity by the plan", {
                  gained: count(pairs(matrix, marks, "+")),
                  lost: count(pairs(matrix, marks, "-")),
                })
              : t("+{gained} −{lost} pairs of user and entity since {then}", {
                  gained: count(pairs(matrix, marks, "+")),
                  lost: count(pairs(matrix, marks, "-")),
                  then: thenCalled(against),
                })
        }
      >
        <div className={styles.shape}>
          <Segments
            label={t("Show as")}
            value={shape}
            options={[
              ["picture", t("Picture")],
              ["table", t("Table")],
            ]}
            onChange={setShape}
          />
        </div>
        {shape === "picture" ? (
          <div ref={picture}>
            <Grid
              matrix={matrix}
              marks={marks}
              cell={at}
              onCell={(next) => {
                chosenCells.set(visit, next);
                setCell(next);
              }}
              onOpen={() => {
                focusIn(told.current);
              }}
            />
          </div>
        ) : (
          <AsTable matrix={matrix} />
        )}
        <Legend matrix={matrix} isCompared={against !== undefined} />
      </Card>
    </Beside>
  );
}

/** Focuses the first focusable element; in the picture, the matrix itself. */
function focusIn(part: HTMLElement | null): void {
  part?.querySelector<HTMLElement>("[role=application], a[href]")?.focus();
}

/** Pairs of user and entity in the cells that have a mark. */
export function pairs(matrix: Matrix, marks: string[], mark: string): number {
  return matrix.rows.reduce(
    (all, row, at) =>
      all +
      row.users *
        matrix.columns.reduce(
          (inRow, column, place) => inRow + (marks[at]?.[place] === mark ? column.entities : 0),
          0,
        ),
    0,
  );
}

function Legend({ matrix, isCompared }: { matrix: Matrix; isCompared: boolean }) {
  const { other } = matrix;
  return (
    <div className={styles.legend} data-compared={isCompared || undefined}>
      {isCompared && (
        <>
          <span data-cell="+">{t("gained")}</span>
          <span data-cell="-">{t("lost")}</span>
          <span data-cell="~">{t("changed otherwise")}</span>
        </>
      )}
      <span data-cell="a">{isCompared ? t("allowed as before") : t("allowed")}</span>
      <span data-cell="o">{t("allowed to owners")}</span>
      <span data-cell="?">{t("differs from one to another")}</span>
      <span data-cell=".">{t("denied")}</span>
      {(other.rows > 0 || other.columns > 0) && (
        <span>
          {t(
            "Not shown: {users} people in {rows} role sets, {entities} entities in {columns} classes",
            {
              users: count(other.users),
              rows: count(other.rows),
              entities: count(other.entities),
              columns: count(other.columns),
            },
          )}
        </span>
      )}
    </div>
  );
}

function Chosen({
  question,
  matrix,
  cell,
}: {
  question: MatrixQuestion;
  matrix: Matrix;
  cell: Cell;
}) {
  const { realm, ask } = question;
  const row = matrix.rows[cell.row];
  const column = matrix.columns[cell.column];
  if (!row || !column) return null;
  const user = row.sample[0];
  return (
    <Card
      title={t("{users} × {entities}", {
        users: t("{n, plural, one {# person} other {# people}}", { n: row.users }),
        entities: t("{n, plural, one {# entity} other {# entities}}", { n: column.entities }),
      })}
      label={t("The chosen cell")}
    >
      <dl className={styles.chosen} aria-live="polite">
        <dt>{t("Verdict")}</dt>
        <dd>{says(matrix, cell)}</dd>
        <dt>{t("Who")}</dt>
        <dd>
          {row.sample.slice(0, 8).map((name, place) => (
            <span key={name}>
              {place > 0 && ", "}
              <Link to="/principal" search={{ realm, p: `user:${name}` }}>
                <Name text={name} />
              </Link>
            </span>
          ))}
          {row.users > 8 && t(" and {n} more", { n: count(row.users - 8) })}
        </dd>
        <dt>{t("Acts as")}</dt>
        <dd>
          {row.principals.length === 0
            ? t("nothing that a statement names")
            : row.principals.map((name, place) => (
                <span key={name}>
                  {place > 0 && ", "}
                  <Link to="/principal" search={{ realm, p: name }}>
                    <Name text={bare(name)} />
                  </Link>
                </span>
              ))}
        </dd>
        <dt>{t("What")}</dt>
        <dd>
          <Link to="/asset" search={{ realm, e: column.sample }}>
            <Name text={bare(column.sample)} cut={70} />
          </Link>
          {column.entities > 1 && t(" and {n} more", { n: count(column.entities - 1) })}
          {column.within && (
            <>
              {" "}
              {t("in")} <Name text={bare(column.within)} cut={60} />
            </>
          )}
        </dd>
      </dl>
      <CellReason question={question} cell={cell} />
      {user && (
        <p className={styles.acts}>
          <Link to="/ask" search={{ realm, who: `user:${user}`, do: ask, on: column.sample }}>
            {t("Why?")}
          </Link>
          <Link to="/ask/who" search={{ realm, do: ask, on: column.sample }}>
            {t("Who else may?")}
          </Link>
        </p>
      )}
    </Card>
  );
}

/** Why the chosen cell is as it is, for its first user and entity, once it stays chosen. */
function CellReason({ question, cell }: { question: MatrixQuestion; cell: Cell }) {
  const may = useRights(question.realm).may("explain.ask");
  const chosen = useSettled(`${String(cell.row)} ${String(cell.column)}`, PAUSE);
  const [row = 0, column = 0] = chosen.split(" ").map(Number);
  const asked = useMatrix(question, [[row, column]], may);
  if (!may) return null;
  if (asked.error)
    return <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />;
  const reason = asked.data?.reasons[0];
  const isCurrent = row === cell.row && column === cell.column;
  if (!reason || !isCurrent) return <Loading rows={2} />;
  const { summary, summary_then: before } = reason;
  return (
    <div className={styles.reason} aria-live="polite">
      <p>
        <Sentence words={summary} />
      </p>
      {before && text(before) !== text(summary) && (
        <p className={styles.before}>
          <b>{t("Before:")}</b> <Sentence words={before} />
        </p>
      )}
    </div>
  );
}

function text(words: Word[]): string {
  return words.map((one) => one.text).join("");
}

const TABLE_ROWS = 100;
const TABLE_COLUMNS = 40;

function AsTable({ matrix }: { matrix: Matrix }) {
  const columns = matrix.columns.slice(0, TABLE_COLUMNS);
  const rows = matrix.rows.slice(0, TABLE_ROWS);
  const isCut = rows.length < matrix.rows.length || columns.length < matrix.columns.length;
  return (
    <div className={styles.scroll} tabIndex={0} role="region" aria-label={t("Matrix as a table")}>
      {isCut && (
        <p role="note">
          {t("The first {rows} role sets and {columns} classes: the picture has all.", {
            rows: rows.length,
            columns: columns.length,
          })}
        </p>
      )}
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{t("Role set")}</th>
            {columns.map((one) => (
              <th key={one.sample} scope="col">
                <Name text={bare(one.sample)} cut={24} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={`${rowName(row)} ${row.sample[0] ?? ""}`}>
              <th scope="row">
                <Name text={rowName(row)} cut={40} /> ({row.users})
              </th>
              {columns.map((one, place) => (
                <td key={one.sample}>{says(matrix, { row: at, column: place })}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
