import { useState } from "react";

import { t } from "../words";
import { Button } from "./button";
import styles from "./copy.module.css";
import { Confirm } from "./drawer";
import { say } from "./toast";

/** Puts a text on the clipboard and says so. */
export function CopyButton({ text, label, done }: { text: string; label: string; done: string }) {
  return (
    <Button
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => {
          say(done);
        });
      }}
    >
      {label}
    </Button>
  );
}

/** The command line that gives the same answer. */
export function CommandButton({ command }: { command: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        onClick={() => {
          setOpen(true);
        }}
        data-command={command}
      >
        {t("As command")}
      </Button>
      <Confirm
        open={open}
        title={t("The same on the command line")}
        act={t("Copy")}
        onAct={() => {
          void navigator.clipboard.writeText(command);
          setOpen(false);
          say(t("Command copied"));
        }}
        onClose={() => {
          setOpen(false);
        }}
      >
        <pre className={styles.command}>
          <code>{command}</code>
        </pre>
      </Confirm>
    </>
  );
}
