import { getRouteApi, Link } from "@tanstack/react-router";

import { useReadsStatements, useRights } from "../../api/rights";
import { choicesOf, useRealms, useVocabulary } from "../../api/server";
import { suggest } from "../../api/suggest";
import { Button, buttonClass } from "../../parts/button";
import { Filters, SelectField } from "../../parts/fields";
import { Card, Page } from "../../parts/page";
import { PickedFilter } from "../../parts/picker";
import { t } from "../../words";
import { StatementRows } from "./rows";

const route = getRouteApi("/r/$realm/statements");
const EFFECTS = ["allow", "deny", "filter", "mask"] as const;

/** All rules of a realm, of every system. */
export default function Statements() {
  const { realm } = route.useParams();
  const search = route.useSearch();
  const { to, privilege, q, effect } = search;
  const navigate = route.useNavigate();
  const reads = useReadsStatements();
  const realms = (useRealms().data?.realms ?? []).filter(
    (one) => one.name === realm || reads(one.name),
  );
  const rights = useRights(realm);
  const vocabulary = useVocabulary(realm);
  const privileges = vocabulary.data?.privileges.map((one) => one.name) ?? [];
  const isFiltered = Boolean(to || privilege || q || effect);
  const put = (part: Partial<typeof search>) => {
    void navigate({ search: { ...search, ...part } });
  };
  return (
    <Page
      title={t("Statements")}
      acts={
        rights.may("statement.put") &&
        vocabulary.data?.limits.map((kind) => (
          <Link
            key={kind}
            className={buttonClass()}
            to="/r/$realm/limit"
            params={{ realm }}
            search={{ kind }}
          >
            {kind === "filter" ? t("New row filter") : t("New column mask")}
          </Link>
        ))
      }
    >
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ to: "/r/$realm/statements", params: { realm: event.target.value } });
          }}
        />
        <SelectField
          label={t("Privilege")}
          value={privilege ?? ""}
          options={[["", t("Any")], ...privileges.map((one) => [one, one] as const)]}
          onChange={(event) => {
            put({ privilege: event.target.value || undefined });
          }}
        />
        <PickedFilter
          label={t("To whom")}
          placeholder={t("anybody")}
          value={to ?? ""}
          onChange={(person) => {
            put({ to: person });
          }}
          suggest={suggest("user,group,role", realm)}
          source={`people ${realm}`}
        />
        {isFiltered && (
          <Button
            onClick={() => {
              void navigate({ search: {} });
            }}
          >
            {t("Clear")}
          </Button>
        )}
      </Filters>
      <Card pad={false}>
        <StatementRows
          key={[realm, to, privilege, effect].join("\n")}
          realm={realm}
          to={to}
          privilege={privilege}
          q={q}
          effect={EFFECTS.find((one) => one === effect)}
          none={isFiltered ? undefined : t("This realm has no statements yet.")}
        />
      </Card>
    </Page>
  );
}
