import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { Page } from "../../parts/page";
import { Tabs } from "../../parts/tabs";
import { t } from "../../words";

/** The pages about realms as a whole and what is the same in several. */
export function RealmsFrame({ acts, children }: { acts?: ReactNode; children: ReactNode }) {
  return (
    <Page title={t("Realms and links")} acts={acts}>
      <Tabs label={t("Realms and links")}>
        <Link to="/realms">{t("Realms")}</Link>
        <Link to="/links" activeOptions={{ exact: true, includeSearch: false }}>
          {t("Links")}
        </Link>
        <Link to="/links/suggestions" activeOptions={{ includeSearch: false }}>
          {t("Suggested links")}
        </Link>
        <Link to="/targets" activeOptions={{ includeSearch: false }}>
          {t("Targets")}
        </Link>
      </Tabs>
      {children}
    </Page>
  );
}
