import type { Schemas } from "../api/client";
import { keepDraft, keptDraft } from "./draft";

type Plan = Schemas["PlanResponse"];
type Draft = Schemas["PreviewRequest"];
type Put = Schemas["StatementDraft"];

/** The parameter's value if the matrix is compared with the plan. */
export const PLANNED = "plan";

const keyOf = (realm: string) => `planned ${realm}`;

/** The changes of a plan, as the draft that the matrix is compared with. */
export function draftOf(plan: Plan): Draft {
  const { statements, members } = plan;
  const rows = (pairs: Plan["members"]["new"]) =>
    pairs.map(([member, of]) => ({ member: String(member), of: String(of) }));
  return {
    put: statements.flatMap(({ id, now }) => (now === null ? [] : [{ ...asked(now), id } as Put])),
    remove: statements.filter(({ now }) => now === null).map(({ id }) => id),
    members: { add: rows(members.new), remove: rows(members.gone) },
  };
}

/** A statement as the request needs it: plans write times in seconds. */
function asked(now: Record<string, unknown>): Record<string, unknown> {
  const moments = ["valid_from", "valid_until"].filter((key) => typeof now[key] === "number");
  return {
    ...now,
    ...Object.fromEntries(
      moments.map((key) => [key, new Date(Number(now[key]) * 1_000).toISOString()]),
    ),
  };
}

/** Keeps the latest plan of this tab, for the matrix. */
export function keepPlanned(realm: string, plan: Plan): void {
  keepDraft(keyOf(realm), draftOf(plan));
}

/** The latest plan of this tab. */
export function plannedIn(realm: string): Draft | null {
  return keptDraft<Draft>(keyOf(realm));
}
