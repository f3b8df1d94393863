import { Link, useLocation, useParams } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { managesPolicies, useRights, useRightsIn } from "../api/rights";
import { governed, useReadiness, useRealms, type Realm } from "../api/server";
import { Icon } from "../parts/icon";
import { count, t } from "../words";
import styles from "./rail.module.css";

/** The pages, by groups. Pages that the caller may not open or the server lacks are omitted. */
export function Rail() {
  const known = useRealms().data?.realms;
  const realms = governed(known);
  const server = useRights();
  const { realm: here } = useParams({ strict: false });
  const may = useRightsIn(realms.map((one) => one.name));
  const among = [...realms.filter((one) => one.name === here), ...realms];
  /**
   * The current realm or else the first one, among those in which the caller may use the operation.
   */
  const first = (operation: string) => among.find((one) => may(one.name, operation));
  const [stated, searched, planned] = ["statement.list", "subject.search", "realm.plan"].map(first);
  const ofSystem = (isOf: (model: string) => boolean) => realms.filter((one) => isOf(one.model));
  return (
    <nav className={styles.rail} aria-label={t("Main")}>
      <Link to="/" className={styles.logo}>
        <img src="/ui/icon.svg" alt="" width="24" height="24" />
        {t("lakewarden")}
      </Link>
      <Group title={t("Ask")}>
        <Item to="/" icon="home" text={t("Overview")} exact />
        <Item to="/ask" icon="ask" text={t("Ask")} />
        <Item to="/assets" icon="assets" text={t("Assets")} within={["/asset"]} />
        <Item to="/people" icon="people" text={t("People")} within={["/principal"]} />
      </Group>
      <Group title={t("Rules")}>
        {ofSystem((model) => model === "datahub").map((realm, _, all) => (
          <Policies key={realm.name} realm={realm} text={named(t("Policies"), realm, all)} />
        ))}
        {ofSystem((model) => model === "gravitino")
          .filter((realm) => may(realm.name, "statement.list"))
          .map((realm, _, all) => (
            <RealmItem
              key={realm.name}
              realm={realm}
              page="roles"
              within={["role", "owners"]}
              icon="roles"
              text={named(t("Roles and grants"), realm, all)}
            />
          ))}
        {ofSystem((model) => model.startsWith("cdap"))
          .filter((realm) => may(realm.name, "statement.list"))
          .map((realm, _, all) => (
            <RealmItem
              key={realm.name}
              realm={realm}
              page="privileges"
              icon="privileges"
              text={named(t("Privileges"), realm, all)}
            />
          ))}
        {stated && (
          <RealmItem
            realm={stated}
            page="statements"
            within={["statement", "limit"]}
            icon="statements"
            text={t("Statements")}
          />
        )}
        {searched && <RealmItem realm={searched} page="matrix" icon="matrix" text={t("Matrix")} />}
        {planned && <RealmItem realm={planned} page="plan" icon="plan" text={t("Plan")} />}
      </Group>
      <Group title={t("Watch")}>
        {first("realm.lint") && <Item to="/findings" icon="findings" text={t("Findings")} />}
        {(server.may("audit.read") || first("audit.read")) && (
          <Item to="/audit" icon="audit" text={t("Audit")} />
        )}
      </Group>
      <Group title={t("System")}>
        <Item
          to="/realms"
          icon="links"
          text={t("Realms and links")}
          within={["/realm", "/links", "/targets", "/target"]}
        />
        <Item to="/playground" icon="playground" text={t("Playground")} />
        <Item to="/settings" icon="settings" text={t("Settings")} />
      </Group>
      <Foot realms={known && realms} />
    </nav>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={styles.group}>
      <h2>{title}</h2>
      <ul>{children}</ul>
    </div>
  );
}

interface ItemProps {
  to: string;
  icon: string;
  text: string;
  exact?: boolean;
  /** Other addresses that belong to this item: the pages of the things that it lists. */
  within?: string[];
}

function Item({ to, icon, text, exact = false, within = [] }: ItemProps) {
  const path = useLocation({ select: (here) => here.pathname });
  const isWithin = within.some((one) => path === one || path.startsWith(`${one}/`));
  return (
    <li>
      <Link
        to={to}
        activeOptions={{ exact, includeSearch: false }}
        aria-current={isWithin ? "true" : undefined}
      >
        <Icon name={icon} />
        {text}
      </Link>
    </li>
  );
}

/** A page of a system, with the realm's name if several realms have such a page. */
function named(text: string, realm: Realm, all: Realm[]): string {
  return all.length > 1 ? t("{text} of {realm}", { text, realm: realm.name }) : text;
}

/** DataHub's policies, for those who may manage them. */
function Policies({ realm, text }: { realm: Realm; text: string }) {
  const asked = useQuery(managesPolicies(realm.name));
  if (!asked.data) return null;
  return (
    <RealmItem realm={realm} page="policies" within={["policy"]} icon="policies" text={text} />
  );
}

function RealmItem({
  realm,
  page,
  within = [],
  ...rest
}: { realm: Realm; page: string } & Omit<ItemProps, "to">) {
  const pages = `/r/${encodeURIComponent(realm.name)}/`;
  return <Item to={pages + page} within={within.map((one) => pages + one)} {...rest} />;
}

function Foot({ realms }: { realms?: Realm[] }) {
  const readiness = useReadiness();
  const entities = realms?.reduce((sum, realm) => sum + (realm.entities ?? 0), 0) ?? 0;
  return (
    <div className={styles.foot}>
      <span data-state={readiness.down ? "down" : "up"}>
        {readiness.down ? t("Not healthy") : t("Healthy")}
      </span>
      {realms && (
        <span>
          {entities > 0
            ? t("{entities} entities in {realms, plural, one {# realm} other {# realms}}", {
                entities: count(entities),
                realms: realms.length,
              })
            : t("{realms, plural, one {# realm} other {# realms}}", { realms: realms.length })}
        </span>
      )}
    </div>
  );
}
