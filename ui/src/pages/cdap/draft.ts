import type { Schemas } from "../../api/client";
import type { Draft } from "../../parts/effect";

type Statement = Pick<Schemas["StatementRow"], "id" | "to" | "privileges">;

/**
 * The stored grant of a principal on an entity, with other actions; other principals keep theirs.
 */
export function draftOf(
  stored: Statement[],
  whole: string,
  held: string[],
  scope: { on: string } | { matching: string },
): Draft {
  const own = stored.filter((one) => one.to.length === 1);
  const shared = stored.filter((one) => one.to.length > 1);
  const put = { active: true, mark: "", effect: "allow", title: "", ...scope } as const;
  const kept = held.length > 0 ? [own[0]?.id ?? `${whole}/${Object.values(scope)[0] ?? ""}`] : [];
  return {
    put: [
      ...shared.map((one) => ({
        ...put,
        id: one.id,
        privileges: one.privileges,
        to: one.to.filter((who) => who !== whole),
      })),
      ...kept.map((id) => ({ ...put, id, privileges: held, to: [whole] })),
    ],
    remove: own.map((one) => one.id).filter((id) => !kept.includes(id)),
  };
}
