import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useRightsAnywhere } from "../../api/rights";
import { Page } from "../../parts/page";
import { Tabs } from "../../parts/tabs";
import { t } from "../../words";

/** The pages about whole realms and the links between them, if the caller may open them. */
export function RealmsFrame({ acts, children }: { acts?: ReactNode; children: ReactNode }) {
  const may = useRightsAnywhere();
  return (
    <Page title={t("Realms and links")} acts={acts}>
      <Tabs label={t("Realms and links")}>
        <Link to="/realms">{t("Realms")}</Link>
        {may("link.list") && (
          <Link to="/links" activeOptions={{ exact: true, includeSearch: false }}>
            {t("Links")}
          </Link>
        )}
        {may("link.put") && (
          <Link to="/links/suggestions" activeOptions={{ includeSearch: false }}>
            {t("Suggested links")}
          </Link>
        )}
        {may("push_target.list") && (
          <Link to="/targets" activeOptions={{ includeSearch: false }}>
            {t("Targets")}
          </Link>
        )}
      </Tabs>
      {children}
    </Page>
  );
}
