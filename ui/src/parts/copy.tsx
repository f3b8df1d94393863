import { useState, type ReactNode } from "react";

import { t } from "../words";
import { Button } from "./button";
import styles from "./copy.module.css";
import { Confirm } from "./drawer";
import { say } from "./toast";

/**
 * Copies a text to the clipboard and reports it, or that the browser does not let the page do it.
 */
export function copy(text: string, done: string): void {
  // Over plain HTTP, except on this machine, browsers offer pages no clipboard.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const written = clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
  written.then(
    () => {
      say(done);
    },
    () => {
      say(t("Not copied: the browser does not let this page write to the clipboard."));
    },
  );
}

/** Copies a text. */
export function CopyButton({ text, label, done }: { text: string; label: string; done: string }) {
  return (
    <Button
      onClick={() => {
        copy(text, done);
      }}
    >
      {label}
    </Button>
  );
}

/** The command line that gives the same result. */
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

/** A button that shows a text for copying. */
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
  /** Content above the text. */
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
          setOpen(false);
          copy(text, done);
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
