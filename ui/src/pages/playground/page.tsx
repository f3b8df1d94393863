import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { api, problemOf, type Problem, type Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { CopyButton } from "../../parts/copy";
import { keepDraft, keptDraft } from "../../parts/draft";
import { Field } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { Name } from "../../parts/name";
import { Beside, Card, Page } from "../../parts/page";
import { Sentence } from "../../parts/sentence";
import { Empty, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import { RuleTree } from "../ask/rule";
import { EXAMPLE } from "./example";
import { packed, unpacked } from "./link";
import styles from "./playground.module.css";

type Run = Schemas["ScenarioResponse"];
type Case = Schemas["CaseResponse"];

const KEY = "playground";

/** A scenario: a world and its expectations, run on the server and stored nowhere. */
export default function Playground() {
  const [text, setText] = useState(() => keptDraft<string>(KEY) ?? EXAMPLE);
  const [run, setRun] = useState<Run | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [link, setLink] = useState<string | null>(null);
  const [isRead, setRead] = useState(location.hash.startsWith("#s=") ? false : true);
  if (!isRead) {
    setRead(true);
    void unpacked(location.hash.slice(3)).then((found) => {
      if (found !== null) setText(found);
      else say(t("This link holds no scenario that can be read; it may have been cut."));
    });
  }
  const navigate = useNavigate();
  const change = (next: string) => {
    setText(next);
    setLink(null);
    keepDraft(KEY, next);
    // The text of the address is edited: a reload restores the edit, not the link's own text.
    if (location.hash) void navigate({ to: "/playground", replace: true, resetScroll: false });
  };
  const act = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const { data, error } = await api.POST("/api/v1/playground/run", {
        body: { scenario: text, model: "" },
      });
      if (error) setProblem(problemOf(error));
      else setRun(data);
      const part = await packed(text);
      setLink(part && `${location.origin}${location.pathname}#s=${part}`);
    } catch (failure) {
      setProblem(problemOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const wrong = run?.cases.filter((one) => !one.ok).length ?? 0;
  return (
    <Page
      title={t("Playground")}
      acts={
        <>
          {link && <CopyButton text={link} label={t("Copy link")} done={t("Link copied")} />}
          <a
            className={styles.download}
            href={`data:application/toml;charset=utf-8,${encodeURIComponent(text)}`}
            download="scenario.toml"
          >
            {t("Download")}
          </a>
          <Button look="main" disabled={busy || !text.trim()} onClick={() => void act()}>
            {t("Run")}
          </Button>
        </>
      }
    >
      <p role="note" className={styles.note}>
        {t(
          "Nothing is stored: the world is the one in the text, at most 2,000 entities and two seconds. Ctrl Enter runs it.",
        )}
      </p>
      {problem && <ProblemView problem={problem} />}
      <Beside side={<Outcome run={run} wrong={wrong} text={text} />}>
        <Field label={t("Scenario")}>
          {(ids) => (
            <textarea
              {...ids}
              className={styles.text}
              value={text}
              spellCheck={false}
              rows={30}
              onChange={(event) => {
                change(event.target.value);
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter" && event.ctrlKey && !busy && text.trim()) void act();
                if (event.key === "F8" && run) {
                  event.preventDefault();
                  toNextMistake(event.currentTarget, run);
                }
              }}
            />
          )}
        </Field>
      </Beside>
    </Page>
  );
}

/** Selects the next line in which the server found an error; after the last one, the first. */
function toNextMistake(field: HTMLTextAreaElement, run: Run): void {
  const lines = field.value.split("\n");
  const at = field.value.slice(0, field.selectionStart).split("\n").length;
  const wrong = run.errors.map((one) => one.line).filter((line) => line > 0);
  const line = wrong.find((one) => one > at) ?? wrong[0];
  if (line === undefined) return;
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  field.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
}

function Outcome({ run, wrong, text }: { run: Run | null; wrong: number; text: string }) {
  if (!run) return <Empty title={t("Run the scenario: each case says what it expects.")} />;
  if (run.errors.length > 0)
    return (
      <Card title={t("The text has an error")}>
        {run.errors.map((one) => (
          <div key={one.says} role="alert">
            <p>{one.says}</p>
            {one.line > 0 && (
              <pre className={styles.line}>
                <b>{one.line}</b> {text.split("\n")[one.line - 1] ?? ""}
              </pre>
            )}
          </div>
        ))}
      </Card>
    );
  return (
    <Card
      title={t("{right, plural, one {# case} other {# cases}} as expected, {wrong} not", {
        right: run.cases.length - wrong,
        wrong,
      })}
      label={t("Cases")}
    >
      <ul className={styles.cases}>
        {run.cases.map((one, place) => (
          <CaseRow key={`${one.title} ${one.user} ${String(place)}`} one={one} />
        ))}
      </ul>
    </Card>
  );
}

function CaseRow({ one }: { one: Case }) {
  const { explanation } = one;
  return (
    <li>
      <p>
        <Glyph
          state={one.ok ? "allow" : "deny"}
          size={14}
          label={one.ok ? t("as expected") : t("not as expected")}
        />{" "}
        <Name text={one.title} /> <Name text={one.user} />
      </p>
      {!one.ok && (
        <p className={styles.got}>
          {t("expected {expected}, got {got}", { expected: one.expected, got: one.got })}
        </p>
      )}
      {explanation && (
        <details open={!one.ok}>
          <summary>
            <Sentence words={explanation.summary.map(({ text }) => ({ text }))} />
          </summary>
          {explanation.rule && <RuleTree step={explanation.rule} />}
        </details>
      )}
    </li>
  );
}
