import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useRights } from "../../api/rights";
import { Page } from "../../parts/page";
import { Tabs } from "../../parts/tabs";
import { t } from "../../words";

/** The settings pages that the caller may open; one is shown. */
export function SettingsFrame({
  title,
  acts,
  children,
}: {
  title: string;
  acts?: ReactNode;
  children: ReactNode;
}) {
  const server = useRights();
  return (
    <Page title={title} where={t("Settings")} acts={acts}>
      <Tabs label={t("Settings")}>
        {server.may("settings.read") && <Link to="/settings/server">{t("Server")}</Link>}
        {server.may("metrics.read") && <Link to="/settings/health">{t("Health")}</Link>}
        <Link to="/settings/sessions">{t("Sessions")}</Link>
        <Link to="/settings/tokens">{t("Tokens")}</Link>
        <Link to="/settings/about">{t("About")}</Link>
      </Tabs>
      {children}
    </Page>
  );
}
