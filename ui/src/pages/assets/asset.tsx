import { getRouteApi, Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";

import { $api, problemOf, type Schemas } from "../../api/client";
import { useRealm } from "../../api/server";
import { Drawer } from "../../parts/drawer";
import { Glyph } from "../../parts/glyph";
import { buttonClass } from "../../parts/button";
import { bare, kindOf, Name } from "../../parts/name";
import { Card, Page, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { count, t } from "../../words";
import { History } from "../../parts/history";
import { Inside } from "./inside";
import { Rules } from "./rules";
import styles from "./asset.module.css";

const route = getRouteApi("/asset");

type Reach = Schemas["ReachResponse"];
type Person = Reach["people"][number];

/** One asset in all systems that know it: who reaches it, and what lies in it. */
export default function Asset() {
  const { realm, e: entity, tab } = route.useSearch();
  if (!realm || !entity)
    return (
      <Page title={t("Asset")}>
        <Empty title={t("The address names no asset.")}>
          <Link to="/assets">{t("All assets")}</Link>
        </Empty>
      </Page>
    );
  return <Known key={`${realm} ${entity}`} realm={realm} entity={entity} tab={tab ?? "access"} />;
}

function Known({ realm, entity, tab }: { realm: string; entity: string; tab: string }) {
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/entity",
    { params: { path: { realm }, query: { entity } } },
    { retry: false },
  );
  const title = useRealm(realm)?.title ?? realm;
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
        <Link to="/asset" search={{ realm, e: entity }} activeOptions={exact}>
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
        <History realm={realm} about={{ entity }} />
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

function Access({ realm, entity }: { realm: string; entity: string }) {
  const [open, setOpen] = useState<Person | null>(null);
  const reach = $api.useQuery(
    "post",
    "/api/v1/estate/access",
    { body: { asset: entity, realm, limit: 500 } },
    { retry: false },
  );
  if (reach.isPending) return <Loading rows={8} />;
  if (reach.error)
    return <ProblemView problem={problemOf(reach.error)} onRetry={() => void reach.refetch()} />;
  const { people, asked, total, left_out: leftOut } = reach.data;
  const realms = [...new Set(asked.map((one) => one.realm))];
  const differing = disagreement(reach.data, realms);
  return (
    <>
      {differing && (
        <p className={styles.differ} role="status">
          <Glyph state="partial" size={20} />
          <span>
            <b>{t("The systems do not agree.")}</b> {differing}
          </span>
        </p>
      )}
      {leftOut.length > 0 && (
        <p className={styles.left}>
          {t("Left out, since you may not ask there: {names}", { names: leftOut.join(", ") })}
        </p>
      )}
      <Card
        pad={false}
        title={t("{n, plural, =0 {Nobody reaches it} one {# person} other {# people}}", {
          n: total,
        })}
        note={t("a filled disc: may; a dot: may not")}
      >
        {people.length === 0 ? (
          <Empty title={t("No stored rule lets anybody see, read or change it.")} />
        ) : (
          <div
            className={styles.frame}
            tabIndex={0}
            role="region"
            aria-label={t("Who can do what")}
          >
            <table className={styles.matrix}>
              <thead>
                <tr>
                  <td />
                  {realms.map((one) => (
                    <th
                      key={one}
                      scope="colgroup"
                      colSpan={asked.filter((a) => a.realm === one).length}
                    >
                      {one}
                    </th>
                  ))}
                </tr>
                <tr>
                  <th scope="col">{t("Person")}</th>
                  {asked.map((path) => (
                    <th
                      key={path.realm + path.entity + path.way}
                      scope="col"
                      title={path.operation}
                    >
                      {t(path.way)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {people.map((person) => (
                  <tr key={person.person}>
                    <th scope="row">
                      <button
                        type="button"
                        className={styles.person}
                        onClick={() => {
                          setOpen(person);
                        }}
                      >
                        <Name text={person.person} />
                      </button>
                    </th>
                    {asked.map((path) => {
                      const may = person.by.some((by) => samePath(by, path));
                      return (
                        <td key={path.realm + path.entity + path.way} data-may={may}>
                          <Glyph
                            state={may ? "allow" : "none"}
                            size={15}
                            label={may ? t("may") : t("may not")}
                          />
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
              <tfoot>
                <tr>
                  <th scope="row">{t("People")}</th>
                  {asked.map((path) => (
                    <td key={path.realm + path.entity + path.way}>
                      {count(
                        people.filter((one) => one.by.some((by) => samePath(by, path))).length,
                      )}
                    </td>
                  ))}
                </tr>
              </tfoot>
            </table>
          </div>
        )}
        {people.length < total && (
          <p className={styles.left}>
            {t("The first {n} of {total} by name.", { n: people.length, total: count(total) })}
          </p>
        )}
      </Card>
      <Drawer
        open={open !== null}
        onClose={() => {
          setOpen(null);
        }}
        title={<Name text={open?.person ?? ""} />}
      >
        {open && <Because person={open} />}
      </Drawer>
    </>
  );
}

function Because({ person }: { person: Person }) {
  return (
    <>
      {person.by.map((by) => (
        <section key={by.realm + by.entity + by.way} className={styles.because}>
          <h3>{t("May {way} it in {realm}", { way: by.way, realm: by.realm })}</h3>
          {!by.told && <p>{t("You may not see why; auditors of this realm can.")}</p>}
          {by.statements.map((one) => (
            <p key={one.id}>
              <Glyph state="allow" size={14} />{" "}
              <Link to="/r/$realm/statement" params={{ realm: by.realm }} search={{ id: one.id }}>
                <Name text={one.title || one.id} />
              </Link>{" "}
              <code>{one.privileges.join(", ")}</code>
            </p>
          ))}
          {by.facts.map((fact) => (
            <p key={fact}>
              <Glyph state="allow" size={14} /> {fact}
            </p>
          ))}
          <Link
            to="/ask"
            search={{
              realm: by.realm,
              who: `user:${person.person}`,
              do: by.operation,
              on: by.entity,
            }}
          >
            {t("Explain")}
          </Link>
        </section>
      ))}
    </>
  );
}

interface PathName {
  realm: string;
  entity: string;
  way: string;
}

function samePath(a: PathName, b: PathName): boolean {
  return a.realm === b.realm && a.entity === b.entity && a.way === b.way;
}

/** How many read it in each system, where these numbers differ. */
function disagreement(reach: Reach, realms: string[]): string {
  if (realms.length < 2) return "";
  const readers = realms.map((realm) => {
    const who = reach.people.filter((one) =>
      one.by.some((by) => by.realm === realm && by.way === "read"),
    );
    return [realm, who.length] as const;
  });
  if (new Set(readers.map(([, n]) => n)).size < 2) return "";
  return readers
    .map(([realm, n]) => t("{n} can read it in {realm}", { n: count(n), realm }))
    .join("; ");
}

/** What people call an entity: the last part of its name. */
export function called(entity: string): string {
  if (!entity.startsWith("urn:li:")) return bare(entity).split(":").at(-1) ?? entity;
  const key = entity.split(":").slice(3).join(":");
  return /^\(.*,(.+),[A-Z]+\)$/.exec(key)?.[1] ?? key;
}
