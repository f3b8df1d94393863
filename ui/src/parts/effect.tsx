import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { api, problemOf, type Problem, type Schemas } from "../api/client";
import { count, t } from "../words";
import styles from "./effect.module.css";
import { Glyph } from "./glyph";
import { bare, Name } from "./name";
import { Card } from "./page";
import { Sentence } from "./sentence";
import { Loading, ProblemView } from "./states";

/** A draft as the server takes it; values of policies are as their system writes them. */
export type Draft = Partial<Omit<Schemas["PreviewRequest"], "policies">> & {
  policies?: { put?: { name: string; value: object }[]; remove?: string[] };
};
type Access = Schemas["AccessDifference"];
type Line = Schemas["EffectChange"];

const PAUSE = 400;
const LINES = 8;

/** A value once it has not changed for a while. */
function useSettled<Value>(value: Value, wait: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, wait);
    return () => {
      clearTimeout(timer);
    };
  }, [value, wait]);
  return settled;
}

export interface Effect {
  shown?: Schemas["PreviewResponse"];
  problem?: Problem;
  /** Whether what is shown is of the draft as it is now. */
  isCurrent: boolean;
  /** Whether the caller may not preview here: then nothing has to be waited for. */
  isDenied: boolean;
}

/** What a draft would change, asked again when it stops changing; None: there is no draft. */
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
  return {
    shown: asked && !problem ? preview.data : undefined,
    problem,
    isCurrent: isSettled && (preview.isSuccess || preview.isError),
    isDenied: problem?.status === 403,
  };
}

/** What a draft would change, beside the draft. */
export function EffectCard({
  realm,
  effect,
  title = t("If you save this"),
}: {
  realm: string;
  effect: Effect;
  title?: string;
}) {
  const { shown, problem, isCurrent, isDenied } = effect;
  return (
    <Card
      title={title}
      label={t("If you save this")}
      note={shown && t("at revision {revision}", { revision: shown.revision })}
    >
      {isDenied ? (
        <p>{t("The effect is shown to those who may read the realm. You may save without it.")}</p>
      ) : problem ? (
        <ProblemView problem={problem} />
      ) : shown ? (
        <div className={styles.panel} aria-busy={!isCurrent} data-stale={!isCurrent || undefined}>
          <Shown realm={realm} shown={shown} />
        </div>
      ) : (
        <Loading rows={3} />
      )}
    </Card>
  );
}

function Shown({ realm, shown }: { realm: string; shown: Schemas["PreviewResponse"] }) {
  return (
    <>
      {shown.refused.map((said) => (
        <p key={said} className={styles.refused}>
          <Glyph state="deny" /> {said}
        </p>
      ))}
      <AccessChange access={shown.access} />
      {shown.used.acts > 0 && (
        <p className={styles.used}>
          {t(
            "{acts, plural, one {# act} other {# acts}} of {people} in the last {days} days would be refused.",
            {
              acts: shown.used.acts,
              people: named(shown.used.people),
              days: shown.used.days,
            },
          )}
        </p>
      )}
      <Findings title={t("New findings")} found={shown.lint_new} />
      <Findings title={t("Findings that go")} found={shown.lint_gone} />
      {shown.changes.map((one) => (
        <div key={one.id} className={styles.words} data-realm={realm}>
          {one.words_was.length > 0 && (
            <p>
              <del>
                <Sentence words={one.words_was} />
              </del>
            </p>
          )}
          {one.words_now.length > 0 && (
            <p>
              <ins>
                <Sentence words={one.words_now} />
              </ins>
            </p>
          )}
        </div>
      ))}
    </>
  );
}

function named(people: string[]): string {
  const first = people.slice(0, 3).join(", ");
  return people.length > 3 ? t("{first} and {n} more", { first, n: people.length - 3 }) : first;
}

function Findings({ title, found }: { title: string; found: Schemas["FindingResponse"][] }) {
  if (found.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className={styles.findings}>
        {found.slice(0, LINES).map((one) => (
          <li key={one.fingerprint}>
            <code>{one.rule}</code> <Name text={one.name} cut={60} /> {one.says}
          </li>
        ))}
      </ul>
      {found.length > LINES && <p>{t("and {n} more", { n: found.length - LINES })}</p>}
    </div>
  );
}

/** Who gains and who loses what: the sums by way, then line by line, the largest groups first. */
export function AccessChange({ access }: { access: Access }) {
  const [all, setAll] = useState(false);
  const ways = access.ways.filter((one) => one.entities > 0);
  const lines = [...access.effect].sort(
    (one, other) =>
      Number(other.ways.length > 0) - Number(one.ways.length > 0) || other.pairs - one.pairs,
  );
  if (lines.length === 0)
    return <p className={styles.none}>{t("Nobody can do anything more, or less.")}</p>;
  const shown = all ? lines : lines.slice(0, LINES);
  return (
    <>
      <ul className={styles.ways}>
        {ways.map((one) => (
          <li key={one.way + String(one.gained)} data-gained={one.gained}>
            <b>{one.gained ? "+" : "−"}</b>{" "}
            {one.gained
              ? t("{users, plural, one {# person} other {# people}} can {way} {entities} more", {
                  users: one.users,
                  way: one.way,
                  entities: count(one.entities),
                })
              : t(
                  "{users, plural, one {# person} other {# people}} can no longer {way} {entities}",
                  {
                    users: one.users,
                    way: one.way,
                    entities: count(one.entities),
                  },
                )}
          </li>
        ))}
      </ul>
      <ul className={styles.lines}>
        {shown.map((line, place) => (
          <li key={place} data-gained={line.gained}>
            <Bar line={line} most={Math.max(...lines.map((one) => one.pairs))} />
            <span>
              <b>{line.gained ? "+" : "−"}</b> <People access={access} line={line} />{" "}
              {line.gained ? t("can") : t("can no longer")}{" "}
              <code>{(line.ways.length ? line.ways : line.operations.slice(0, 3)).join(", ")}</code>{" "}
              {line.entities === 1 ? (
                <Name text={line.sample.name} cut={60} />
              ) : (
                t("{n} × {type}, such as", { n: count(line.entities), type: line.type })
              )}{" "}
              {line.entities > 1 && <Name text={line.sample.name} cut={60} />}
            </span>
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
        <p>{t("There is more than was worked out here; what is told is true, but not all.")}</p>
      )}
    </>
  );
}

/** How much of the largest change this is, as a bar. */
function Bar({ line, most }: { line: Line; most: number }) {
  const width = Math.max(2, Math.round((64 * line.pairs) / most));
  return (
    <svg width="64" height="8" viewBox="0 0 64 8" aria-hidden="true" className={styles.bar}>
      <rect width={width} height="8" rx="2" fill="currentColor" />
    </svg>
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

/** The people of a crowd: places in the list of people, and pairs of first and last places. */
export function crowd(access: Access, place: number): string[] {
  return (access.crowds[place] ?? []).flatMap((run) => {
    const [first, last] = (Array.isArray(run) ? run : [run, run]) as [number, number];
    return access.people.slice(first, last + 1);
  });
}
