import { useState } from "react";

import { $api, api, problemOf } from "../../api/client";
import { preferences, setPreference } from "../../parts/preferences";
import { useSession } from "../../app/session";
import { Button } from "../../parts/button";
import { Check } from "../../parts/fields";
import { Beside, Card } from "../../parts/page";
import { Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { ago, moment, t } from "../../words";
import { SettingsFrame } from "./frame";

/** The caller's own sessions, and the preferences of this browser. */
export default function SessionsPage() {
  const session = useSession();
  return (
    <SettingsFrame title={t("Sessions")}>
      <Beside side={<Appearance />}>
        <Card
          title={t("Sessions of {user}", { user: session.user })}
          note={
            session.idle_ends
              ? t("This session ends {when} if it is idle", { when: ago(session.idle_ends) })
              : ""
          }
          pad={false}
        >
          <Sessions />
        </Card>
      </Beside>
    </SettingsFrame>
  );
}

function Sessions() {
  const listed = $api.useQuery("get", "/api/v1/sessions", {}, { retry: false });
  if (listed.isPending) return <Loading />;
  if (listed.error)
    return <ProblemView problem={problemOf(listed.error)} onRetry={() => void listed.refetch()} />;
  return (
    <Table
      label={t("Sessions")}
      rows={listed.data.sessions}
      rowKey={(one) => one.id}
      columns={[
        { key: "began", title: t("Since"), cell: (one) => moment(one.began) },
        { key: "ends", title: t("Ends"), minor: true, cell: (one) => moment(one.ends) },
        { key: "own", title: "", label: t("Which"), cell: (one) => (one.own ? t("this one") : "") },
        {
          key: "end",
          title: "",
          label: t("Acts"),
          cell: (one) =>
            !one.own && (
              <Button
                onClick={() => {
                  void api
                    .DELETE("/api/v1/sessions/{id}", { params: { path: { id: one.id } } })
                    .then(({ error }) => {
                      say(error ? problemOf(error).detail : t("Session ended"));
                      void listed.refetch();
                    });
                }}
              >
                {t("End")}
              </Button>
            ),
        },
      ]}
    />
  );
}

function Appearance() {
  const [rows, setRows] = useState(preferences().rows);
  const [keys, setKeys] = useState(preferences().keys);
  return (
    <Card title={t("This browser")}>
      <Check
        label={t("Compact rows")}
        checked={rows === "compact"}
        onChange={(event) => {
          const next = event.target.checked ? "compact" : "normal";
          setRows(next);
          setPreference("rows", next);
        }}
      />
      <Check
        label={t("Keys of a single letter")}
        checked={keys === "on"}
        onChange={(event) => {
          const next = event.target.checked ? "on" : "off";
          setKeys(next);
          setPreference("keys", next);
        }}
      />
    </Card>
  );
}
