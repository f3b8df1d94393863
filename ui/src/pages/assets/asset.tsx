import { getRouteApi, Link } from "@tanstack/react-router";
import { Fragment } from "react";

import { $api, type Schemas } from "../../api/client";
import { useTitleOf } from "../../api/server";
import { FRAME } from "../../api/unread";
import { buttonClass } from "../../parts/button";
import { bare, kindOf, Name } from "../../parts/name";
import { Page, Tag } from "../../parts/page";
import { Empty } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { t } from "../../words";
import { History } from "../../parts/history";
import { Access } from "./access";
import { Inside } from "./inside";
import { Rules } from "./rules";
import styles from "./asset.module.css";

const route = getRouteApi("/asset");

/** One asset in all systems that know it: who reaches it, and what it contains. */
export default function Asset() {
  const { realm, e: entity, tab, rows, columns } = route.useSearch();
  if (!realm || !entity)
    return (
      <Page title={t("Asset")}>
        <Empty title={t("The address names no asset.")}>
          <Link to="/assets">{t("All assets")}</Link>
        </Empty>
      </Page>
    );
  return (
    <Known
      key={`${realm} ${entity}`}
      realm={realm}
      entity={entity}
      tab={tab ?? "access"}
      shown={{ rows, columns }}
    />
  );
}

function Known({
  realm,
  entity,
  tab,
  shown,
}: {
  realm: string;
  entity: string;
  tab: string;
  /** How the table of access is shown. */
  shown: { rows?: string; columns?: string };
}) {
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/entity",
    { params: { path: { realm }, query: { entity } } },
    { meta: FRAME },
  );
  const title = useTitleOf()(realm);
  const name = called(entity);
  const exact = { exact: true, includeSearch: true };
  return (
    <Page
      title={name}
      heading={<Name text={name} />}
      where={
        <>
          <Link to="/assets" search={{ realm }}>
            {t("Assets")}
          </Link>
          {stored.data?.parent && (
            <>
              {" / "}
              <Link to="/asset" search={{ realm, e: stored.data.parent }}>
                <Name text={called(stored.data.parent)} />
              </Link>
            </>
          )}
        </>
      }
      tags={<Tag>{`${title} ${stored.data?.type ?? kindOf(entity)}`}</Tag>}
      acts={
        <Link className={buttonClass()} to="/ask" search={{ realm, on: entity }}>
          {t("Ask about it")}
        </Link>
      }
    >
      {stored.data && <Facts stored={stored.data} realm={realm} />}
      <Tabs label={t("About this asset")}>
        <Link to="/asset" search={{ realm, e: entity, ...shown }} activeOptions={exact}>
          {t("Who can do what")}
        </Link>
        <Link to="/asset" search={{ realm, e: entity, tab: "inside" }} activeOptions={exact}>
          {t("Inside")}
        </Link>
        <Link to="/asset" search={{ realm, e: entity, tab: "rules" }} activeOptions={exact}>
          {t("Rules here")}
        </Link>
        <Link to="/asset" search={{ realm, e: entity, tab: "history" }} activeOptions={exact}>
          {t("History")}
        </Link>
      </Tabs>
      {tab === "inside" ? (
        <Inside realm={realm} entity={entity} />
      ) : tab === "rules" ? (
        <Rules realm={realm} entity={entity} />
      ) : tab === "history" ? (
        <History realm={realm} about={{ entity }} alone />
      ) : (
        <Access realm={realm} entity={entity} />
      )}
    </Page>
  );
}

function Facts({ stored, realm }: { stored: Schemas["EntityResponse"]; realm: string }) {
  const attributes = Object.entries(stored.attributes).filter(([, values]) => values.length);
  return (
    <dl className={styles.facts}>
      {stored.owners.length > 0 && (
        <div>
          <dt>{t("Owner")}</dt>
          <dd>
            {stored.owners.map((one, place) => (
              <Fragment key={one.principal + (one.ownership ?? "")}>
                {place > 0 && ", "}
                <Link to="/principal" search={{ realm, p: one.principal }}>
                  <Name text={bare(one.principal)} />
                </Link>
              </Fragment>
            ))}
          </dd>
        </div>
      )}
      {attributes.map(([name, values]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Name text={values.map(called).join(", ")} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The display name of an entity: the last part of its name. */
export function called(entity: string): string {
  if (!entity.startsWith("urn:li:")) return bare(entity).split(":").at(-1) ?? entity;
  const key = entity.split(":").slice(3).join(":");
  return /^\(.*,(.+),[A-Z]+\)$/.exec(key)?.[1] ?? key;
}
