import { Link, useParams } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { managesPolicies, useRights } from "../api/rights";
import { governed, useReadiness, useRealms, type Realm } from "../api/server";
import { Icon } from "../parts/icon";
import { count, t } from "../words";
import styles from "./rail.module.css";

/** The pages, by groups. What the caller may not open, or the server does not offer, is absent. */
export function Rail() {
  const realms = governed(useRealms().data?.realms);
  const server = useRights();
  const { realm: here } = useParams({ strict: false });
  const first = realms.find((one) => one.name === here) ?? realms[0];
  const reads = useRights(first?.name ?? "");
  return (
    <nav className={styles.rail} aria-label={t("Main")}>
      <Link to="/" className={styles.logo}>
        <img src="/ui/icon.svg" alt="" width="24" height="24" />
        {t("lakewarden")}
      </Link>
      <Group title={t("Ask")}>
        <Item to="/" icon="home" text={t("Overview")} exact />
        <Item to="/ask" icon="ask" text={t("Ask")} />
        <Item to="/assets" icon="assets" text={t("Assets")} />
        <Item to="/people" icon="people" text={t("People")} />
      </Group>
      <Group title={t("Rules")}>
        {realms
          .filter((realm) => realm.model === "datahub")
          .map((realm) => (
            <Policies key={realm.name} realm={realm} />
          ))}
        {realms
          .filter((realm) => realm.model === "gravitino" && reads.may("statement.list"))
          .map((realm) => (
            <RealmItem
              key={realm.name}
              realm={realm}
              page="roles"
              icon="roles"
              text={t("Roles and grants")}
            />
          ))}
        {realms
          .filter((realm) => realm.model.startsWith("cdap") && reads.may("statement.list"))
          .map((realm) => (
            <RealmItem
              key={realm.name}
              realm={realm}
              page="privileges"
              icon="privileges"
              text={t("Privileges")}
            />
          ))}
        {first && reads.may("statement.list") && (
          <RealmItem realm={first} page="statements" icon="statements" text={t("Statements")} />
        )}
        {first && reads.may("subject.search") && (
          <RealmItem realm={first} page="matrix" icon="matrix" text={t("Matrix")} />
        )}
        {first && reads.may("realm.plan") && (
          <RealmItem realm={first} page="plan" icon="plan" text={t("Plan")} />
        )}
      </Group>
      <Group title={t("Watch")}>
        {reads.may("realm.lint") && <Item to="/findings" icon="findings" text={t("Findings")} />}
        {(server.may("audit.read") || reads.may("audit.read")) && (
          <Item to="/audit" icon="audit" text={t("Audit")} />
        )}
      </Group>
      <Group title={t("System")}>
        <Item to="/realms" icon="links" text={t("Realms and links")} />
        <Item to="/playground" icon="playground" text={t("Playground")} />
        <Item to="/settings" icon="settings" text={t("Settings")} />
      </Group>
      <Foot realms={realms} />
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
}

function Item({ to, icon, text, exact = false }: ItemProps) {
  return (
    <li>
      <Link to={to} activeOptions={{ exact, includeSearch: false }}>
        <Icon name={icon} />
        {text}
      </Link>
    </li>
  );
}

/** DataHub's policies, for those who may manage them. */
function Policies({ realm }: { realm: Realm }) {
  const asked = useQuery(managesPolicies(realm.name));
  if (!asked.data) return null;
  return <RealmItem realm={realm} page="policies" icon="policies" text={t("Policies")} />;
}

function RealmItem({
  realm,
  page,
  ...rest
}: { realm: Realm; page: string } & Omit<ItemProps, "to">) {
  return <Item to={`/r/${encodeURIComponent(realm.name)}/${page}`} {...rest} />;
}

function Foot({ realms }: { realms: Realm[] }) {
  const readiness = useReadiness();
  const entities = realms.reduce((sum, realm) => sum + (realm.entities ?? 0), 0);
  return (
    <div className={styles.foot}>
      <span data-state={readiness.down ? "down" : "up"}>
        {readiness.down ? t("Not as it should be") : t("Healthy")}
      </span>
      <span>
        {entities > 0
          ? t("{entities} entities in {realms, plural, one {# realm} other {# realms}}", {
              entities: count(entities),
              realms: realms.length,
            })
          : t("{realms, plural, one {# realm} other {# realms}}", { realms: realms.length })}
      </span>
    </div>
  );
}
