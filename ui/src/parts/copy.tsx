import { useState, type ReactNode } from "react";

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
  return (
    <TextButton
      label={t("As command")}
      title={t("The same on the command line")}
      text={command}
      done={t("Command copied")}
      data-command={command}
    />
  );
}

/** A button that shows a text to be copied. */
export function TextButton({
  label,
  title,
  text,
  done,
  children,
  ...rest
}: {
  label: string;
  title: string;
  text: string;
  done: string;
  /** What is said above the text. */
  children?: ReactNode;
  "data-command"?: string;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        onClick={() => {
          setOpen(true);
        }}
        {...rest}
      >
        {label}
      </Button>
      <Confirm
        open={open}
        title={title}
        act={t("Copy")}
        onAct={() => {
          void navigator.clipboard.writeText(text);
          setOpen(false);
          say(done);
        }}
        onClose={() => {
          setOpen(false);
        }}
      >
        {children}
        <pre className={styles.command} tabIndex={0}>
          <code>{text}</code>
        </pre>
      </Confirm>
    </>
  );
}
