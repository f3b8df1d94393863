import { Autocomplete } from "@base-ui/react/autocomplete";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";

import { t } from "../words";
import { Icon } from "./icon";
import { isComposing } from "./keys";
import { Name } from "./name";
import { Choices, useChoices, type Choice } from "./picker";
import styles from "./tokens.module.css";

interface TokensProps {
  label: string;
  values: string[];
  onChange: (values: string[]) => void;
  suggest: (text: string, signal: AbortSignal) => Promise<Choice[]>;
  /** Names the source of `suggest`, for the cache of results. */
  source: string;
  /** The label of a value. */
  show?: (value: string) => string;
  /** The kind of a value, if names alone do not show it. */
  kind?: (value: string) => string | undefined;
  /** Why a value has no meaning here; such values are kept and marked. */
  fault?: (value: string) => string | undefined;
  /** Whether this edit added the value. */
  isNew?: (value: string) => boolean;
  /** The value for a typed text. */
  read?: (text: string) => string | Promise<string>;
  placeholder?: string;
  disabled?: boolean;
}

/**
 * Values as tokens in one field. Text and Enter adds one, as does a suggestion; Backspace in the
 * empty field removes the last one, arrow keys walk over them, Delete removes the focused one.
 */
export function Tokens({
  label,
  values,
  onChange,
  suggest,
  source,
  show = (value) => value,
  kind = () => undefined,
  fault = () => undefined,
  isNew = () => false,
  read = (text) => text,
  placeholder,
  disabled = false,
}: TokensProps) {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLUListElement>(null);
  const isHighlighted = useRef(false);
  const choices = useChoices(source, text, suggest, open);
  // The server may read a text: changes during the request are kept.
  const current = useRef({ values, onChange });
  useEffect(() => {
    current.current = { values, onChange };
  });
  const add = (value: string, entered: string) => {
    const { values: held, onChange: change } = current.current;
    if (value && !held.includes(value)) {
      const next = [...held, value];
      current.current = { values: next, onChange: change };
      change(next);
    }
    setText((now) => (now.trim() === entered ? "" : now));
  };
  const focus = (place: number) => {
    const buttons = field.current?.querySelectorAll("button") ?? [];
    (buttons[place] ?? input.current)?.focus();
  };
  const remove = (place: number) => {
    onChange(values.filter((_, at) => at !== place));
    input.current?.focus();
  };
  const typed = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    if (event.key === "Enter" && text.trim() && !isHighlighted.current) {
      event.preventDefault();
      setOpen(false);
      const entered = text.trim();
      void Promise.resolve(read(entered)).then((value) => {
        add(value, entered);
      });
    } else if (event.key === "Enter" && !text.trim()) {
      event.preventDefault();
    } else if (event.key === "Backspace" && !text && values.length > 0) {
      remove(values.length - 1);
    } else if (event.key === "ArrowLeft" && !text) {
      focus(values.length - 1);
    }
  };
  const walked = (event: KeyboardEvent, place: number) => {
    if (event.key === "ArrowLeft") focus(Math.max(0, place - 1));
    else if (event.key === "ArrowRight") focus(place + 1);
    else if (event.key === "Delete" || event.key === "Backspace") remove(place);
    else return;
    event.preventDefault();
  };
  return (
    <Autocomplete.Root
      items={choices.items}
      value={text}
      mode="none"
      open={open}
      onOpenChange={setOpen}
      onValueChange={(value, details) => {
        if (details.reason === "item-press") add(value, text.trim());
        else setText(value);
      }}
      onItemHighlighted={(item) => {
        isHighlighted.current = item !== undefined;
      }}
      itemToStringValue={(choice: Choice) => choice.value}
    >
      <ul
        className={styles.field}
        ref={field}
        aria-label={label}
        data-disabled={disabled || undefined}
      >
        {values.map((value, place) => (
          <li
            key={`${value} ${String(values.indexOf(value) === place ? 0 : place)}`}
            className={styles.token}
            title={fault(value) ?? value}
            data-new={isNew(value) || undefined}
            data-fault={fault(value) !== undefined || undefined}
          >
            <Name text={show(value)} cut={60} />
            {kind(value) && <small>{kind(value)}</small>}
            {fault(value) && <small>{fault(value)}</small>}
            {!disabled && (
              <button
                type="button"
                aria-label={t("Remove {name}", { name: show(value) })}
                onClick={() => {
                  remove(place);
                }}
                onKeyDown={(event) => {
                  walked(event, place);
                }}
              >
                <Icon name="close" size={11} />
              </button>
            )}
          </li>
        ))}
        {!disabled && (
          <li className={styles.entry} data-bare={placeholder ? undefined : true}>
            <Autocomplete.Input
              ref={input}
              className={styles.input}
              aria-label={t("Add to {label}", { label })}
              placeholder={placeholder}
              onKeyDown={typed}
              spellCheck={false}
              autoCapitalize="off"
            />
          </li>
        )}
        {disabled && values.length === 0 && <li className={styles.none}>{t("none")}</li>}
      </ul>
      <Choices choices={choices} text={text} />
    </Autocomplete.Root>
  );
}
