import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { copy } from "../../parts/copy";
import { Confirm } from "../../parts/drawer";
import { SelectField, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { moment, t } from "../../words";
import { SettingsFrame } from "./frame";
import styles from "./settings.module.css";

const DAY = 86_400;
type Token = Schemas["TokenResponse"];

/** The caller's own tokens: created, shown once, revoked. */
export default function TokensPage() {
  return (
    <SettingsFrame title={t("Tokens")}>
      <Card pad={false}>
        <Tokens />
      </Card>
    </SettingsFrame>
  );
}

function Tokens() {
  const listed = $api.useQuery("get", "/api/v1/tokens", {}, { retry: false });
  const [title, setTitle] = useState("");
  const [days, setDays] = useState("30");
  const [made, setMade] = useState("");
  const [revoked, setRevoked] = useState<Token | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    const { data, error } = await api.POST("/api/v1/tokens", {
      body: { title, seconds: Number(days) * DAY },
    });
    setBusy(false);
    setProblem(error ? problemOf(error) : null);
    if (!data) return;
    setMade(data.token);
    setTitle("");
    void listed.refetch();
  };
  const revoke = async () => {
    if (!revoked) return;
    const { error } = await api.DELETE("/api/v1/tokens/{id}", {
      params: { path: { id: revoked.id } },
    });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    setRevoked(null);
    say(t("Token revoked"));
    void listed.refetch();
  };
  return (
    <>
      <form
        className={styles.make}
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <TextField
          label={t("What the token is for")}
          value={title}
          maxLength={200}
          aria-keyshortcuts="n"
          onChange={(event) => {
            setTitle(event.target.value);
          }}
        />
        <SelectField
          label={t("Valid for")}
          value={days}
          options={[
            ["1", t("1 day")],
            ["30", t("30 days")],
            ["90", t("90 days")],
            ["365", t("365 days")],
          ]}
          onChange={(event) => {
            setDays(event.target.value);
          }}
        />
        <Button type="submit" disabled={isBusy}>
          {t("Create token")}
        </Button>
      </form>
      {problem && !revoked && <ProblemView problem={problem} />}
      {made && (
        <div className={styles.made} role="status">
          <p>{t("Copy it now: it is shown this once.")}</p>
          <code>{made}</code>
          <Button
            onClick={() => {
              copy(made, t("Token copied"));
            }}
          >
            {t("Copy")}
          </Button>
        </div>
      )}
      {listed.isPending && <Loading />}
      {listed.error && (
        <ProblemView problem={problemOf(listed.error)} onRetry={() => void listed.refetch()} />
      )}
      {listed.data?.tokens.length === 0 && <Empty title={t("No token yet.")} />}
      {!!listed.data?.tokens.length && (
        <Table
          label={t("Tokens")}
          rows={listed.data.tokens}
          rowKey={(one) => one.id}
          columns={[
            { key: "title", title: t("For"), cell: (one) => <Name text={one.title || one.id} /> },
            { key: "made", title: t("Created"), minor: true, cell: (one) => moment(one.created) },
            { key: "ends", title: t("Ends"), cell: (one) => moment(one.expires) },
            {
              key: "end",
              title: "",
              label: t("Acts"),
              cell: (one) => (
                <Button
                  onClick={() => {
                    setProblem(null);
                    setRevoked(one);
                  }}
                >
                  {t("Revoke")}
                </Button>
              ),
            },
          ]}
        />
      )}
      <Confirm
        open={revoked !== null}
        title={t("Revoke the token {title}?", { title: revoked?.title || (revoked?.id ?? "") })}
        act={t("Revoke token")}
        onAct={revoke}
        onClose={() => {
          setRevoked(null);
        }}
      >
        <p>
          {t("Clients that use it are rejected from the next request on. This cannot be undone.")}
        </p>
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
