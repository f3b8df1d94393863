import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, useRealms } from "../../api/server";
import { suggest } from "../../api/suggest";
import { Button, buttonClass } from "../../parts/button";
import { Filters, SelectField } from "../../parts/fields";
import { Card, Page } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { t } from "../../words";
import { StatementRows } from "./rows";

const route = getRouteApi("/r/$realm/statements");

/** All rules of a realm, whichever system's they are. */
export default function Statements() {
  const { realm } = route.useParams();
  const { to, privilege } = route.useSearch();
  const navigate = route.useNavigate();
  const realms = useRealms().data?.realms ?? [];
  const rights = useRights(realm);
  const [person, setPerson] = useState(to ?? "");
  const vocabulary = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/operations",
    { params: { path: { realm } } },
    { staleTime: 300_000, retry: false },
  );
  const privileges = vocabulary.data?.privileges.map((one) => one.name) ?? [];
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
            void navigate({ search: { to, privilege: event.target.value || undefined } });
          }}
        />
        <Picker
          shown
          label={t("To whom")}
          placeholder={t("anybody")}
          value={person}
          onChange={(value) => {
            setPerson(value);
            if (value === "" || /^(user|group|role):/.test(value))
              void navigate({ search: { to: value || undefined, privilege } });
          }}
          suggest={suggest("user,group,role", realm)}
          source={`people ${realm}`}
        />
        {(to || privilege) && (
          <Button
            onClick={() => {
              setPerson("");
              void navigate({ search: {} });
            }}
          >
            {t("Clear")}
          </Button>
        )}
      </Filters>
      <Card pad={false}>
        <StatementRows
          key={`${realm} ${to ?? ""} ${privilege ?? ""}`}
          realm={realm}
          to={to}
          privilege={privilege}
        />
      </Card>
    </Page>
  );
}
