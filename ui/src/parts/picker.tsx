import { Autocomplete } from "@base-ui/react/autocomplete";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState, type ReactNode } from "react";

import { t } from "../words";
import { Name } from "./name";
import styles from "./picker.module.css";

/** One suggestion: the text that is taken, what it is called, and what it is. */
export interface Choice {
  value: string;
  label: string;
  note?: string;
}

/**
 * A field with suggestions; free text is taken too, since systems judge names that are not stored.
 * `suggest` is cancelled when the text changes.
 */
export function Picker({
  label,
  value,
  onChange,
  suggest,
  source,
  placeholder,
  before,
  autoFocus = false,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  suggest: (text: string, signal: AbortSignal) => Promise<Choice[]>;
  /** Names what `suggest` looks in, for the cache of answers. */
  source: string;
  placeholder?: string;
  before?: ReactNode;
  autoFocus?: boolean;
}) {
  const [open, setOpen] = useState(false);
  const asked = useDeferredValue(value);
  const found = useQuery({
    queryKey: ["suggest", source, asked],
    queryFn: ({ signal }) => suggest(asked, signal),
    enabled: open,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  });
  const choices = found.data ?? [];
  return (
    <Autocomplete.Root
      items={choices}
      value={value}
      mode="none"
      open={open}
      onOpenChange={setOpen}
      onValueChange={onChange}
      itemToStringValue={(choice: Choice) => choice.value}
    >
      <span className={styles.field}>
        {before}
        <Autocomplete.Input
          className={styles.input}
          aria-label={label}
          placeholder={placeholder}
          autoFocus={autoFocus}
          spellCheck={false}
          autoCapitalize="off"
        />
      </span>
      <Autocomplete.Portal>
        <Autocomplete.Positioner className={styles.layer} sideOffset={4} align="start">
          <Autocomplete.Popup className={styles.popup}>
            <Autocomplete.Status className={styles.status}>
              {found.isFetching
                ? t("Looking")
                : choices.length === 0
                  ? value
                    ? t("Nothing stored has this name; it can be asked about all the same.")
                    : t("Type a name")
                  : ""}
            </Autocomplete.Status>
            <Autocomplete.List className={styles.list}>
              {(choice: Choice) => (
                <Autocomplete.Item key={choice.value} value={choice} className={styles.item}>
                  <Name text={choice.label} cut={60} />
                  {choice.note && <small>{choice.note}</small>}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}
