import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Problem } from "../../api/client";
import { useMayOn } from "../../api/rights";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/drawer";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { bare, Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { say } from "../../parts/toast";
import { count, t } from "../../words";
import { createRole, roleParts } from "./gravitino";
import styles from "./role.module.css";

const route = getRouteApi("/r/$realm/roles");
const MOST = 1_000;

/** The two pages of Gravitino's grants. */
export function RoleTabs({ realm }: { realm: string }) {
  return (
    <Tabs label={t("Grants")}>
      <Link to="/r/$realm/roles" params={{ realm }}>
        {t("Roles")}
      </Link>
      <Link to="/r/$realm/owners" params={{ realm }}>
        {t("Owners")}
      </Link>
    </Tabs>
  );
}

interface Row {
  role: string;
  members: string[];
  objects: number;
}

/**
 * The roles of a realm of Gravitino: who holds them, and on how many objects they have privileges.
 */
export default function Roles() {
  const { realm } = route.useParams();
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const at = { params: { path: { realm }, query: { "page.limit": MOST } } };
  const roles = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/principals",
    { params: { path: { realm }, query: { kind: "role", q, "page.limit": MOST } } },
    { retry: false, placeholderData: (before) => before },
  );
  const members = $api.useQuery("get", "/api/v1/realms/{realm}/memberships", at, { retry: false });
  const statements = $api.useQuery("get", "/api/v1/realms/{realm}/statements", at, {
    retry: false,
  });
  const hasMembers = isWhole(members.data?.memberships.length, members.data?.total);
  const hasObjects = isWhole(statements.data?.statements.length, statements.data?.total);
  const isCut = (members.data && !hasMembers) || (statements.data && !hasObjects);
  const rows: Row[] = (roles.data?.principals ?? []).map((role) => ({
    role,
    members: (members.data?.memberships ?? [])
      .filter((one) => one.of === role)
      .map((one) => one.member),
    objects: new Set(
      (statements.data?.statements ?? [])
        .filter((one) => one.to.includes(role))
        .map((one) => one.on),
    ).size,
  }));
  return (
    <Page title={t("Roles and grants")} acts={<Create realm={realm} />}>
      <RoleTabs realm={realm} />
      <Filters>
        <TextField
          label={t("Find a role")}
          value={q}
          onChange={(event) => {
            void navigate({ search: { q: event.target.value || undefined }, replace: true });
          }}
        />
      </Filters>
      {roles.isPending && <Loading rows={8} />}
      {roles.error && (
        <ProblemView problem={problemOf(roles.error)} onRetry={() => void roles.refetch()} />
      )}
      {roles.data && rows.length === 0 && (
        <Empty title={q ? t("No role has this name.") : t("There are no roles yet: create one.")} />
      )}
      {rows.length > 0 && (
        <Card pad={false}>
          {isCut && (
            <p role="note" className={styles.hint}>
              {t(
                "Counted are the first {n} memberships and statements: a role’s own page has all.",
                {
                  n: count(MOST),
                },
              )}
            </p>
          )}
          <Table
            label={t("Roles")}
            rows={rows}
            total={roles.data?.total}
            rowKey={(row) => row.role}
            columns={[
              {
                key: "role",
                title: t("Role"),
                cell: (row) => (
                  <Link to="/r/$realm/role" params={{ realm }} search={{ name: bare(row.role) }}>
                    <Name text={roleParts(row.role).name} />
                  </Link>
                ),
              },
              {
                key: "metalake",
                title: t("Metalake"),
                minor: true,
                cell: (row) => <Name text={roleParts(row.role).metalake} />,
              },
              {
                key: "members",
                title: t("Held by"),
                cell: (row) =>
                  row.members.length === 0 ? (
                    hasMembers ? (
                      t("nobody")
                    ) : (
                      "–"
                    )
                  ) : (
                    <Name
                      text={`${row.members.slice(0, 4).map(bare).join(", ")}${
                        row.members.length > 4
                          ? t(" and {n} more", { n: row.members.length - 4 })
                          : ""
                      }`}
                    />
                  ),
              },
              {
                key: "objects",
                title: t("Objects"),
                number: true,
                cell: (row) => (hasObjects || row.objects > 0 ? row.objects : "–"),
              },
            ]}
          />
        </Card>
      )}
    </Page>
  );
}

/** Whether a list is loaded to its end. */
function isWhole(length?: number, total?: number): boolean {
  return length !== undefined && total !== undefined && length >= total;
}

/** Creates a role in one of the metalakes where the caller may. */
function Create({ realm }: { realm: string }) {
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [metalake, setMetalake] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const metalakes = useMayOn(realm, "role.create").entities.map(bare);
  const chosen = metalake || metalakes[0] || "";
  const create = async () => {
    try {
      await createRole(realm, chosen, name);
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    }
    await queries.invalidateQueries();
    say(t("Role created"));
    await navigate({
      to: "/r/$realm/role",
      params: { realm },
      search: { name: `${chosen}:${name}` },
    });
  };
  if (metalakes.length === 0) return null;
  return (
    <>
      <Button
        look="main"
        aria-keyshortcuts="n"
        onClick={() => {
          setProblem(null);
          setOpen(true);
        }}
      >
        {t("New role")}
      </Button>
      <Confirm
        open={open}
        title={t("New role")}
        act={t("Create role")}
        disabled={!name.trim()}
        onAct={create}
        onClose={() => {
          setOpen(false);
        }}
      >
        <SelectField
          label={t("Metalake")}
          value={chosen}
          options={metalakes.map((one) => [one, one] as const)}
          onChange={(event) => {
            setMetalake(event.target.value);
          }}
        />
        <TextField
          label={t("Name")}
          value={name}
          onChange={(event) => {
            setName(event.target.value);
          }}
        />
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
