import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { problemOf, type Problem } from "../../api/client";
import { managesPolicies } from "../../api/rights";
import { Page } from "../../parts/page";
import { Empty, Loading, NoRight, ProblemView } from "../../parts/states";
import { t } from "../../words";
import { Back, Draft } from "./draft";
import { EMPTY, NO_VERSION, policy, type PolicyInfo } from "./policy";

const one = getRouteApi("/r/$realm/policy");
const fresh = getRouteApi("/r/$realm/policy/new");

/** A stored policy. */
export default function PolicyPage() {
  const { realm } = one.useParams();
  const { urn = "" } = one.useSearch();
  const stored = useQuery(policy(realm, urn));
  if (!urn)
    return <Frame realm={realm} title={t("Policy")} fault={t("The address names no policy.")} />;
  if (stored.error && !stored.data)
    return (
      <Frame
        realm={realm}
        title={t("Policy")}
        problem={problemOf(stored.error)}
        onRetry={() => void stored.refetch()}
      />
    );
  if (!stored.data) return <Frame realm={realm} title={t("Policy")} />;
  return <Draft key={`${realm} ${urn}`} realm={realm} urn={urn} stored={stored.data} />;
}

/** A new policy, empty or as a copy. */
export function NewPolicy() {
  const { realm } = fresh.useParams();
  const { from = "" } = fresh.useSearch();
  const stored = useQuery(policy(realm, from));
  const isReader = useQuery(managesPolicies(realm)).data === false;
  if (isReader)
    return (
      <Page title={t("New policy")} where={<Back realm={realm} />}>
        <NoRight title={t("You may not create policies in this realm.")} />
      </Page>
    );
  if (from && stored.error)
    return (
      <Frame
        realm={realm}
        title={t("New policy")}
        problem={problemOf(stored.error)}
        onRetry={() => void stored.refetch()}
      />
    );
  if (from && !stored.data) return <Frame realm={realm} title={t("New policy")} />;
  const info = stored.data ? copied(stored.data.info) : EMPTY;
  return (
    <Draft
      key={`${realm} ${from}`}
      realm={realm}
      urn=""
      from={from}
      stored={{ info, version: NO_VERSION }}
    />
  );
}

function copied(info: PolicyInfo): PolicyInfo {
  const name = t("Copy of {name}", { name: info.displayName });
  return { ...info, displayName: name, state: "INACTIVE", editable: true };
}

function Frame({
  realm,
  title,
  problem,
  onRetry,
  fault,
}: {
  realm: string;
  title: string;
  problem?: Problem;
  onRetry?: () => void;
  fault?: string;
}) {
  return (
    <Page title={title} where={<Back realm={realm} />}>
      {problem ? (
        <ProblemView problem={problem} onRetry={onRetry} />
      ) : fault ? (
        <Empty title={fault} />
      ) : (
        <Loading rows={8} />
      )}
    </Page>
  );
}
