import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { api, problemOf, type Problem, type Schemas } from "../api/client";
import { count, t } from "../words";
import { edited } from "./edited";
import styles from "./effect.module.css";
import { Glyph, type State } from "./glyph";
import { bare, Name, urnLabel } from "./name";
import { Card } from "./page";
import { MessageText } from "./message-text";
import { Sentence } from "./sentence";
import { useSettled } from "./settled";
import { Loading, ProblemView } from "./states";

/** A draft as the server accepts it; values of policies are as their system writes them. */
export type Draft = Partial<Omit<Schemas["PreviewRequest"], "policies">> & {
  policies?: { put?: { name: string; value: object }[]; remove?: string[] };
};
type Access = Schemas["AccessDifference"];
type Line = Schemas["EffectChange"];

const PAUSE = 400;
const LINES = 8;

export interface Effect {
  shown?: Schemas["PreviewResponse"];
  problem?: Problem;
  /** Whether the effect shown is of the current draft. */
  isCurrent: boolean;
  /** Whether the caller may not preview here: then there is nothing to wait for. */
  isDenied: boolean;
  /** Whether the draft may be saved: its effect is shown, or the caller may not see it. */
  isSeen: boolean;
  /** Tries again after a failure. */
  retry: () => void;
}

/** The effect of a draft, requested again when it stops changing; null: there is no draft. */
export function useEffectOf(realm: string, draft: Draft | null, wait = PAUSE): Effect {
  const now = draft ? JSON.stringify(draft) : "";
  const asked = useSettled(now, wait);
  const preview = useQuery({
    queryKey: ["preview", realm, asked],
    queryFn: async ({ signal }) => {
      const { data, error } = await api.POST("/api/v1/realms/{realm}/preview", {
        params: { path: { realm } },
        body: JSON.parse(asked) as Schemas["PreviewRequest"],
        signal,
      });
      if (error) throw problemOf(error) as unknown as Error;
      return data as Schemas["PreviewResponse"];
    },
    enabled: asked !== "",
    retry: false,
    staleTime: 0,
    placeholderData: (before) => before,
  });
  const problem = preview.error ? problemOf(preview.error) : undefined;
  const isSettled = asked === now && !preview.isFetching && !preview.isPlaceholderData;
  const shown = asked && !problem ? preview.data : undefined;
  const isCurrent = isSettled && (preview.isSuccess || preview.isError);
  const isDenied = problem?.status === 403;
  return {
    shown,
    problem,
    isCurrent,
    isDenied,
    isSeen: isCurrent && (shown !== undefined || isDenied),
    retry: () => void preview.refetch(),
  };
}

/** The effect of a draft, beside it; `foot` stands below it, with the action. */
export function EffectCard({
  realm,
  effect,
  title = t("If you save this"),
  foot,
  hasWords = true,
  hint = "",
}: {
  realm: string;
  effect: Effect;
  title?: string;
  foot?: ReactNode;
  /** Whether the changed statements are worded here, not elsewhere on the page. */
  hasWords?: boolean;
  /** The text while there is no draft yet. */
  hint?: string;
}) {
  const { shown, problem, isCurrent, isDenied, retry } = effect;
  return (
    <Card
      title={title}
      label={t("If you save this")}
      note={shown && t("every person, every asset, revision {revision}", shown)}
      pad={false}
    >
      {hint ? (
        <p className={styles.note}>{hint}</p>
      ) : isDenied ? (
        <p className={styles.note}>
          {t("The effect is shown to those who may read the realm. You may save without it.")}
        </p>
      ) : problem ? (
        <div className={styles.note}>
          <ProblemView problem={problem} onRetry={retry} />
        </div>
      ) : shown ? (
        <div
          className={styles.panel}
          aria-busy={!isCurrent}
          data-stale={!isCurrent || undefined}
          aria-live="polite"
        >
          <Shown realm={realm} shown={shown} hasWords={hasWords} />
        </div>
      ) : (
        <Loading rows={3} />
      )}
      {foot}
    </Card>
  );
}

function Shown({
  realm,
  shown,
  hasWords,
}: {
  realm: string;
  shown: Schemas["PreviewResponse"];
  hasWords: boolean;
}) {
  const { access, used } = shown;
  return (
    <>
      {shown.refused.map((said) => (
        <Note key={said} state="deny">
          <b>
            <MessageText text={said} />
          </b>
        </Note>
      ))}
      <Limits limits={shown.limits} />
      {(shown.limits.length === 0 || access.effect.length > 0) && <AccessChange access={access} />}
      {access.lost > 0 && (
        <Note state={used.acts > 0 ? "deny" : "allow"}>
          <b>{t("In the last {days} days", { days: used.days })}</b>{" "}
          {used.acts > 0
            ? t("{acts, plural, one {# act} other {# acts}} of {people} would have been refused.", {
                acts: used.acts,
                people: named(used.people),
              })
            : t("Nobody who loses access used it.")}
        </Note>
      )}
      <Findings title={t("New findings")} state="partial" found={shown.lint_new} />
      <Findings title={t("Resolved findings")} state="allow" found={shown.lint_gone} />
      {hasWords &&
        shown.changes.map((one) => (
          <p key={one.id} className={styles.words} data-realm={realm}>
            <Sentence words={edited(one.words_was, one.words_now)} />
          </p>
        ))}
    </>
  );
}

const SEEN = {
  filter: { less: "see fewer rows of", more: "see more rows of", other: "see other rows of" },
  mask: { less: "see less of", more: "see more of", other: "see other values of" },
} as const;
const SIGNS = { less: "deny", more: "allow", other: "partial" } as const;

/** Who sees other rows and values because of the filters and masks of the draft. */
function Limits({ limits }: { limits: Schemas["LimitChangeResponse"][] }) {
  return limits.map((one, place) => (
    <Note key={place} state={SIGNS[one.change]}>
      <p>
        <b>
          <bdi>{named(one.people.map(short), one.users)}</bdi>
        </b>{" "}
        {t(SEEN[one.effect][one.change])}{" "}
        {one.entities > 1 && t("{n} assets, such as", { n: count(one.entities) })}{" "}
        <Name text={urnLabel(bare(one.sample))} cut={60} />
      </p>
      {one.owners && <p className={styles.small}>{t("Owners are told apart, and not counted.")}</p>}
    </Note>
  ));
}

/** A line of the panel with its sign. */
function Note({ state, children }: { state: State; children: ReactNode }) {
  return (
    <div className={styles.line} data-state={state}>
      <Glyph state={state} />
      <div>{children}</div>
    </div>
  );
}

function named(people: string[], all = people.length): string {
  const first = people.slice(0, 3).join(", ");
  return all > 3 ? t("{first} and {n} more", { first, n: all - 3 }) : first;
}

function Findings({
  title,
  state,
  found,
}: {
  title: string;
  state: State;
  found: Schemas["FindingResponse"][];
}) {
  if (found.length === 0) return null;
  return (
    <Note state={state}>
      <h3>{title}</h3>
      <ul className={styles.findings}>
        {found.slice(0, LINES).map((one) => (
          <li key={one.fingerprint}>
            <code>{one.rule}</code> <Name text={one.name} cut={60} />{" "}
            <MessageText text={one.says} />
          </li>
        ))}
      </ul>
      {found.length > LINES && <p>{t("and {n} more", { n: found.length - LINES })}</p>}
    </Note>
  );
}

/** Who gains and who loses what: totals first, then line by line, the largest groups first. */
export function AccessChange({ access }: { access: Access }) {
  const [all, setAll] = useState(false);
  const lines = [...access.effect].sort(
    (one, other) =>
      Number(other.ways.length > 0) - Number(one.ways.length > 0) || other.pairs - one.pairs,
  );
  if (lines.length === 0)
    return (
      <Note state="none">
        <p>{t("Nobody gains or loses access.")}</p>
        {access.privileges.length > 0 && (
          <p className={styles.small}>
            {t("What is granted or taken is open to them by other rules, or opens nothing alone.")}
          </p>
        )}
      </Note>
    );
  const shown = all ? lines : lines.slice(0, LINES);
  const most = Math.max(...lines.map((one) => one.pairs));
  return (
    <>
      <div className={styles.sums}>
        <Sum access={access} gained />
        <Sum access={access} gained={false} />
      </div>
      <ul className={styles.lines}>
        {shown.map((line, place) => (
          <li key={place} className={styles.line}>
            <Glyph state={line.gained ? "allow" : "deny"} />
            <div>
              <p>
                <b>
                  <People access={access} line={line} />
                </b>{" "}
                {line.gained ? t("can") : t("can no longer")}{" "}
                <code>
                  {(line.ways.length ? line.ways : line.operations.slice(0, 3)).join(", ")}
                </code>
              </p>
              <p className={styles.small}>
                {line.entities > 1 &&
                  t("{n} × {type}, such as", { n: count(line.entities), type: line.type })}{" "}
                <Name text={urnLabel(line.sample.name)} cut={60} />
              </p>
            </div>
            <Bar line={line} most={most} />
          </li>
        ))}
      </ul>
      {lines.length > LINES && (
        <button
          type="button"
          className={styles.more}
          onClick={() => {
            setAll(!all);
          }}
        >
          {all ? t("Show less") : t("Show all {n} lines", { n: lines.length })}
        </button>
      )}
      {!access.whole && (
        <Note state="partial">
          {t("Not all changes are shown: there are more than were computed.")}
        </Note>
      )}
    </>
  );
}

/** One side of the balance: pairs of person and asset, then by ways. */
function Sum({ access, gained }: { access: Access; gained: boolean }) {
  const pairs = gained ? access.gained : access.lost;
  const ways = access.ways.filter((one) => one.gained === gained && one.entities > 0);
  const state = pairs === 0 ? "none" : gained ? "allow" : "deny";
  return (
    <div data-state={state}>
      <strong>
        <Glyph state={state} size={24} />
        {gained ? "+" : "−"}
        {count(pairs)}
      </strong>
      {pairs === 0 && <span>{gained ? t("nobody gains") : t("nobody loses")}</span>}
      {pairs > 0 && ways.length === 0 && (
        <span>
          {t("{users, plural, one {# person} other {# people}} {verb}", {
            users: peopleOf(access, gained),
            verb: gained ? t("gain") : t("lose"),
          })}
        </span>
      )}
      {pairs > 0 &&
        ways.map((one) => (
          <span key={one.way}>
            {t("{users, plural, one {# person} other {# people}} {can} {way} {entities}", {
              users: one.users,
              can: gained ? t("can") : t("can no longer"),
              way: one.way,
              entities: count(one.entities),
            })}
          </span>
        ))}
    </div>
  );
}

/** How many people gain, or lose, any access. */
function peopleOf(access: Access, gained: boolean): number {
  const lines = access.effect.filter((one) => one.gained === gained);
  return new Set(lines.flatMap((one) => crowd(access, one.users))).size;
}

/** The share of the largest change, as a bar. */
function Bar({ line, most }: { line: Line; most: number }) {
  const width = Math.max(3, Math.round((92 * line.pairs) / most));
  return (
    <div className={styles.measure} data-gained={line.gained}>
      <svg viewBox="0 0 92 8" aria-hidden="true" preserveAspectRatio="none">
        <rect width="92" height="8" rx="3" fill="var(--sunk)" />
        <rect width={width} height="8" rx="3" fill="currentColor" />
      </svg>
      <span>{count(line.pairs)}</span>
    </div>
  );
}

function People({ access, line }: { access: Access; line: Line }) {
  const names = crowd(access, line.users).map(short);
  if (line.others) names.push(t("whoever is not stored"));
  return <bdi>{named(names)}</bdi>;
}

/** `user:urn:li:corpuser:ana` is `ana`. */
function short(principal: string): string {
  const name = bare(principal);
  return name.startsWith("urn:li:") ? name.slice(name.lastIndexOf(":") + 1) : name;
}

/** The people of a crowd: indexes into the list of people, and pairs of first and last indexes. */
export function crowd(access: Access, place: number): string[] {
  return (access.crowds[place] ?? []).flatMap((run) => {
    const [first, last] = (Array.isArray(run) ? run : [run, run]) as [number, number];
    return access.people.slice(first, last + 1);
  });
}
