import { Link } from "@tanstack/react-router";

import { Page } from "../parts/page";
import { Empty } from "../parts/states";
import { t } from "../words";

/** The page for an unknown address. */
export function Missing() {
  return (
    <Page title={t("No such page")}>
      <Empty title={t("No page has this address.")}>
        <Link to="/">{t("Go to the overview")}</Link>
      </Empty>
    </Page>
  );
}
