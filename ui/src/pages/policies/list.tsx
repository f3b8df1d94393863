import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { $api, problemOf } from "../../api/client";
import { managesPolicies, useRights } from "../../api/rights";
import { useVocabulary } from "../../api/server";
import { suggest } from "../../api/suggest";
import { FRAME } from "../../api/unread";
import { Button, buttonClass } from "../../parts/button";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { Name, urnLabel } from "../../parts/name";
import { Card, Page, Tag } from "../../parts/page";
import { PickedFilter } from "../../parts/picker";
import { plain } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { count, t } from "../../words";
import styles from "./policies.module.css";
import { PAGE, policyRows, reachOf, type Row, type Wanted } from "./rows";
import { RowActs } from "./row-acts";

const route = getRouteApi("/r/$realm/policies");
const SHOWN = 3;

/** DataHub's policies: what each says, whether it is active, how far it reaches. */
export default function Policies() {
  const { realm } = route.useParams();
  const wanted: Wanted = route.useSearch();
  const rights = useRights(realm);
  const manages = useQuery(managesPolicies(realm));
  const reads = rights.may("statement.list") && manages.data === true;
  const found = useInfiniteQuery({
    ...policyRows(realm, wanted, reads),
    enabled: !manages.isPending && (rights.known || !manages.data),
  });
  const pages = found.data?.pages ?? [];
  const rows = pages.flatMap((one) => one.rows);
  const total = pages[0]?.total;
  const isNarrowed = Object.entries(wanted).some(([key, value]) => key !== "sort" && value);
  return (
    <Page
      title={t("Policies")}
      acts={
        manages.data && (
          <Link
            className={buttonClass("main")}
            to="/r/$realm/policy/new"
            params={{ realm }}
            aria-keyshortcuts="n"
          >
            {t("New policy")}
          </Link>
        )
      }
    >
      {manages.data !== false && (
        <Narrowing realm={realm} wanted={wanted} hasAll={reads} isNarrowed={isNarrowed} />
      )}
      <Card pad={false}>
        {found.isPending && <Loading rows={8} />}
        {found.error && (
          <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()}>
            {manages.data === false && rights.may("statement.list") && (
              <p>
                <Link to="/r/$realm/statements" params={{ realm }}>
                  {t("What the policies say is among the statements.")}
                </Link>
              </p>
            )}
          </ProblemView>
        )}
        {found.data && total === 0 && (
          <Empty
            title={isNarrowed ? t("No policy matches the filters.") : t("There is no policy yet.")}
          />
        )}
        {rows.length > 0 && (
          <List
            realm={realm}
            wanted={wanted}
            rows={rows}
            total={total ?? rows.length}
            pages={pages.length}
            reads={reads}
            onEnd={() => {
              if (found.hasNextPage && !found.isFetching) void found.fetchNextPage();
            }}
          />
        )}
        {found.hasNextPage && (
          <Button
            look="quiet"
            disabled={found.isFetching}
            onClick={() => void found.fetchNextPage()}
          >
            {t("Show {n} more", { n: PAGE })}
          </Button>
        )}
      </Card>
    </Page>
  );
}

function Narrowing({
  realm,
  wanted,
  hasAll,
  isNarrowed,
}: {
  realm: string;
  wanted: Wanted;
  hasAll: boolean;
  isNarrowed: boolean;
}) {
  const navigate = route.useNavigate();
  const privileges = useVocabulary(realm).data?.privileges ?? [];
  const put = (part: Partial<Wanted>) =>
    void navigate({ search: { ...wanted, ...part }, replace: "q" in part });
  const choice = (key: keyof Wanted, label: string, options: [string, string][]) => (
    <SelectField
      label={label}
      value={wanted[key] ?? ""}
      options={options}
      onChange={(event) => {
        put({ [key]: event.target.value || undefined });
      }}
    />
  );
  return (
    <Filters>
      <TextField
        label={t("Name or description")}
        value={wanted.q ?? ""}
        type="search"
        onChange={(event) => {
          put({ q: event.target.value || undefined });
        }}
      />
      {choice("state", t("State"), [
        ["", t("Any")],
        ["ACTIVE", t("Active")],
        ["INACTIVE", t("Inactive")],
      ])}
      {hasAll && (
        <>
          {choice("type", t("Type"), [
            ["", t("Any")],
            ["METADATA", t("Metadata")],
            ["PLATFORM", t("Platform")],
          ])}
          {choice("privilege", t("Privilege"), [
            ["", t("Any")],
            ...privileges.map((one): [string, string] => [one.name, one.display]),
          ])}
          <div className={styles.narrowed}>
            <PickedFilter
              label={t("For")}
              placeholder={t("anybody")}
              value={wanted.actor ?? ""}
              suggest={suggest("user,group,role", realm)}
              source={`actors ${realm}`}
              onChange={(actor) => {
                put({ actor });
              }}
            />
          </div>
          <div className={styles.narrowed}>
            <PickedFilter
              label={t("About")}
              placeholder={t("any asset")}
              value={wanted.about ?? ""}
              suggest={suggest("entity", realm)}
              source={`entities ${realm}`}
              onChange={(about) => {
                put({ about });
              }}
            />
          </div>
          {choice("sort", t("Sorted by"), [
            ["", t("Name, A to Z")],
            ["-title", t("Name, Z to A")],
          ])}
        </>
      )}
      {isNarrowed && (
        <Button
          onClick={() => {
            void navigate({ search: { sort: wanted.sort } });
          }}
        >
          {t("Clear")}
        </Button>
      )}
    </Filters>
  );
}

interface ListProps {
  realm: string;
  wanted: Wanted;
  rows: Row[];
  total: number;
  pages: number;
  reads: boolean;
  onEnd: () => void;
}

function List({ realm, wanted, rows, total, pages, reads, onEnd }: ListProps) {
  const reach = useReach(realm, wanted, pages, reads);
  const findings = useFindings(realm, reads);
  const columns: (Column<Row> | false)[] = [
    {
      key: "name",
      title: t("Policy"),
      cell: (one) => (
        <Link to="/r/$realm/policy" params={{ realm }} search={{ urn: one.urn }}>
          <Name text={one.name} />
          <span className={styles.words}>
            {one.words ? plain(one.words) : one.description || named(one.who)}
          </span>
        </Link>
      ),
    },
    {
      key: "state",
      title: t("State"),
      cell: (one) => (
        <span className={styles.marks}>
          <Tag state={one.isActive ? "allow" : undefined}>
            {one.isActive ? t("Active") : t("Inactive")}
          </Tag>
          {!one.isEditable && <Tag>{t("locked")}</Tag>}
        </span>
      ),
    },
    reads && {
      key: "reach",
      title: t("Reaches"),
      minor: true,
      cell: (one) => {
        const found = reach.get(one.urn);
        return (
          found && (
            <span className={styles.reaches}>
              {t("{users} × {entities}", {
                users: count(found.users),
                entities: count(found.entities),
              })}
            </span>
          )
        );
      },
    },
    findings !== undefined && {
      key: "findings",
      title: t("Findings"),
      number: true,
      minor: true,
      cell: (one) => findings.get(one.urn) ?? "",
    },
    {
      key: "acts",
      title: "",
      label: t("Acts"),
      cell: (one) => <RowActs realm={realm} one={one} />,
    },
  ];
  return (
    <Table
      label={t("Policies")}
      rows={rows}
      total={total}
      rowKey={(one) => one.urn}
      columns={columns.filter((one) => one !== false)}
      onEnd={onEnd}
    />
  );
}

function named(who: string[] = []): string {
  const first = who.slice(0, SHOWN).map(urnLabel).join(", ") || t("nobody");
  return who.length > SHOWN ? first + t(" and {n} more", { n: who.length - SHOWN }) : first;
}

/** How far the policies reach, for the pages that are shown. */
function useReach(realm: string, wanted: Wanted, pages: number, reads: boolean) {
  const asked = useQueries({
    queries: Array.from({ length: reads ? pages : 0 }, (_, page) => ({
      queryKey: ["policies reach", realm, wanted, page],
      queryFn: ({ signal }: { signal: AbortSignal }) => reachOf(realm, wanted, page * PAGE, signal),
      retry: false,
      meta: FRAME,
    })),
  });
  return new Map(asked.flatMap((one) => [...(one.data ?? [])]));
}

/** The number of findings about each policy; absent if that takes too long. */
function useFindings(realm: string, reads: boolean): Map<string, number> | undefined {
  const entry = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements",
    { params: { path: { realm }, query: { "page.limit": 1 } } },
    { retry: false, enabled: reads, meta: FRAME },
  );
  const isSmall = (entry.data?.total ?? Infinity) <= MOST_LINTED;
  const linted = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lint",
    { params: { path: { realm }, query: { kind: "statement", "page.limit": 1_000 } } },
    { retry: false, enabled: reads && isSmall, staleTime: 60_000, meta: FRAME },
  );
  if (!linted.data) return undefined;
  const counts = new Map<string, number>();
  for (const { name } of linted.data.findings) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const MOST_LINTED = 1_000;
