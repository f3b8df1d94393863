import { useState } from "react";

import { $api, api, problemOf, type Problem } from "../../api/client";
import { preferences, setPreference } from "../../app/preferences";
import { useSession } from "../../app/session";
import { Button } from "../../parts/button";
import { Check, SelectField, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Beside, Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { ago, moment, t } from "../../words";
import styles from "./settings.module.css";

const DAY = 86_400;

/** One's own sessions, tokens and preferences. */
export default function Settings() {
  const session = useSession();
  return (
    <Page title={t("Settings")}>
      <Beside side={<Appearance />}>
        <Card
          title={t("Sessions of {user}", { user: session.user })}
          note={
            session.idle_ends
              ? t("this one ends {when} without a request", { when: ago(session.idle_ends) })
              : ""
          }
          pad={false}
        >
          <Sessions />
        </Card>
        <Card title={t("Tokens")} pad={false}>
          <Tokens />
        </Card>
      </Beside>
    </Page>
  );
}

function Sessions() {
  const listed = $api.useQuery("get", "/api/v1/sessions", {}, { retry: false });
  if (listed.isPending) return <Loading />;
  if (listed.error) return <ProblemView problem={problemOf(listed.error)} />;
  return (
    <Table
      label={t("Sessions")}
      rows={listed.data.sessions}
      rowKey={(one) => one.id}
      columns={[
        { key: "began", title: t("Since"), cell: (one) => moment(one.began) },
        { key: "ends", title: t("Ends"), minor: true, cell: (one) => moment(one.ends) },
        { key: "own", title: "", cell: (one) => (one.own ? t("this one") : "") },
        {
          key: "end",
          title: "",
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

function Tokens() {
  const listed = $api.useQuery("get", "/api/v1/tokens", {}, { retry: false });
  const [title, setTitle] = useState("");
  const [days, setDays] = useState("30");
  const [made, setMade] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = async () => {
    const { data, error } = await api.POST("/api/v1/tokens", {
      body: { title, seconds: Number(days) * DAY },
    });
    setProblem(error ? problemOf(error) : null);
    if (!data) return;
    setMade(data.token);
    setTitle("");
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
          onChange={(event) => {
            setTitle(event.target.value);
          }}
        />
        <SelectField
          label={t("Good for")}
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
        <Button type="submit">{t("Make a token")}</Button>
      </form>
      {problem && <ProblemView problem={problem} />}
      {made && (
        <div className={styles.made} role="status">
          <p>{t("Copy it now: it is shown this once.")}</p>
          <code>{made}</code>
          <Button
            onClick={() => {
              void navigator.clipboard.writeText(made).then(() => {
                say(t("Token copied"));
              });
            }}
          >
            {t("Copy")}
          </Button>
        </div>
      )}
      {listed.isPending && <Loading />}
      {listed.error && <ProblemView problem={problemOf(listed.error)} />}
      {listed.data?.tokens.length === 0 && <Empty title={t("No token yet.")} />}
      {!!listed.data?.tokens.length && (
        <Table
          label={t("Tokens")}
          rows={listed.data.tokens}
          rowKey={(one) => one.id}
          columns={[
            { key: "title", title: t("For"), cell: (one) => <Name text={one.title || one.id} /> },
            { key: "made", title: t("Made"), minor: true, cell: (one) => moment(one.created) },
            { key: "ends", title: t("Ends"), cell: (one) => moment(one.expires) },
            {
              key: "end",
              title: "",
              cell: (one) => (
                <Button
                  onClick={() => {
                    void api
                      .DELETE("/api/v1/tokens/{id}", { params: { path: { id: one.id } } })
                      .then(({ error }) => {
                        say(error ? problemOf(error).detail : t("Token revoked"));
                        void listed.refetch();
                      });
                  }}
                >
                  {t("Revoke")}
                </Button>
              ),
            },
          ]}
        />
      )}
    </>
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
