import { Autocomplete } from "@base-ui/react/autocomplete";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useRef, useState, type ReactNode } from "react";

import { t } from "../words";
import { Field } from "./fields";
import { isComposing } from "./keys";
import { Name } from "./name";
import styles from "./picker.module.css";

/** One suggestion: its value, label, kind and heading. */
export interface Choice {
  value: string;
  label: string;
  note?: string;
  group?: string;
}

/** Suggestions under one heading; an empty heading is not shown. */
interface Group {
  group: string;
  items: Choice[];
  [other: string]: unknown;
}

export interface Suggested {
  items: Group[];
  isFetching: boolean;
}

/**
 * A field with suggestions; free text is accepted too, since systems judge names that are not
 * stored. `suggest` is cancelled when the text changes.
 */
export function Picker({
  label,
  value,
  onChange,
  onSettle,
  suggest,
  source,
  placeholder,
  before,
  autoFocus = false,
  shortcut,
  shown = false,
}: {
  label: string;
  /** The label stands above the field; otherwise it is only for screen readers. */
  shown?: boolean;
  value: string;
  onChange: (value: string) => void;
  /**
   * Called with a complete text: picked, emptied, or confirmed by Enter or by leaving the field.
   */
  onSettle?: (value: string) => void;
  suggest: (text: string, signal: AbortSignal) => Promise<Choice[]>;
  /** Names the source of `suggest`, for the cache of results. */
  source: string;
  placeholder?: string;
  before?: ReactNode;
  autoFocus?: boolean;
  /** The key that focuses this field, from anywhere on the page. */
  shortcut?: string;
}) {
  const [open, setOpen] = useState(false);
  const isHighlighted = useRef(false);
  const choices = useChoices(source, value, suggest, open);
  const field = (id?: string) => (
    <span className={styles.field} data-shown={shown || undefined}>
      {before}
      <Autocomplete.Input
        id={id}
        className={styles.input}
        aria-label={shown ? undefined : label}
        aria-keyshortcuts={shortcut}
        placeholder={placeholder}
        autoFocus={autoFocus}
        spellCheck={false}
        autoCapitalize="off"
        onBlur={() => onSettle?.(value.trim())}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || isComposing(event.nativeEvent)) return;
          if (!isHighlighted.current) onSettle?.(value.trim());
        }}
      />
    </span>
  );
  return (
    <Autocomplete.Root
      items={choices.items}
      value={value}
      mode="none"
      open={open}
      onOpenChange={setOpen}
      onValueChange={(text, details) => {
        onChange(text);
        if (text === "" || details.reason === "item-press") onSettle?.(text);
      }}
      onItemHighlighted={(item) => {
        isHighlighted.current = item !== undefined;
      }}
      itemToStringValue={(choice: Choice) => choice.value}
    >
      {shown ? <Field label={label}>{({ id }) => field(id)}</Field> : field()}
      <Choices choices={choices} text={value} />
    </Autocomplete.Root>
  );
}

/**
 * A list filter by a name that is picked or typed. A name counts once it is complete, and the field
 * follows the address, which the back button changes as well.
 */
export function PickedFilter({
  value,
  onChange,
  ...rest
}: Pick<Parameters<typeof Picker>[0], "label" | "placeholder" | "value" | "suggest" | "source"> & {
  onChange: (value: string | undefined) => void;
}) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  return (
    <Picker
      {...rest}
      shown
      value={text}
      onChange={setText}
      onSettle={(whole) => {
        if (whole !== value) onChange(whole || undefined);
      }}
    />
  );
}

/** The suggestions for a text, under their headings; queried only while the list is open. */
export function useChoices(
  source: string,
  text: string,
  suggest: (text: string, signal: AbortSignal) => Promise<Choice[]>,
  open: boolean,
): Suggested {
  const asked = useDeferredValue(text);
  const found = useQuery({
    queryKey: ["suggest", source, asked],
    queryFn: ({ signal }) => suggest(asked, signal),
    enabled: open,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  });
  const groups = new Map<string, Choice[]>();
  for (const choice of found.data ?? []) {
    const group = choice.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), choice]);
  }
  const items = [...groups].map(([group, members]) => ({ group, items: members }));
  return { items, isFetching: found.isFetching };
}

/** The list of suggestions below a field. */
export function Choices({ choices, text }: { choices: Suggested; text: string }) {
  return (
    <Autocomplete.Portal>
      <Autocomplete.Positioner className={styles.layer} sideOffset={4} align="start">
        <Autocomplete.Popup className={styles.popup}>
          <Autocomplete.Status className={styles.status}>
            {choices.isFetching
              ? t("Looking")
              : choices.items.length === 0
                ? text
                  ? t("Nothing stored has this name; it is taken as it is.")
                  : t("Type a name")
                : ""}
          </Autocomplete.Status>
          <Autocomplete.List className={styles.list}>
            {(group: Group) => (
              <Autocomplete.Group key={group.group} items={group.items}>
                {group.group && (
                  <Autocomplete.GroupLabel className={styles.heading}>
                    {group.group}
                  </Autocomplete.GroupLabel>
                )}
                <Autocomplete.Collection>
                  {(choice: Choice) => (
                    <Autocomplete.Item key={choice.value} value={choice} className={styles.item}>
                      <Name text={choice.label} cut={60} />
                      {choice.note && <small>{choice.note}</small>}
                    </Autocomplete.Item>
                  )}
                </Autocomplete.Collection>
              </Autocomplete.Group>
            )}
          </Autocomplete.List>
        </Autocomplete.Popup>
      </Autocomplete.Positioner>
    </Autocomplete.Portal>
  );
}
