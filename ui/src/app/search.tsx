import { Autocomplete } from "@base-ui/react/autocomplete";
import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useRef, useState } from "react";

import { $api, problemOf, type Schemas } from "../api/client";
import { Icon } from "../parts/icon";
import { Name } from "../parts/name";
import { t } from "../words";
import { useKeys } from "../parts/keys";
import styles from "./search.module.css";

type Hit = Schemas["SearchHit"];

/** Finds assets, people, rules and operations of every realm, and opens one. */
export function Search() {
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
  const field = useRef<HTMLInputElement>(null);
  const open = useOpen();
  useKeys({
    "/": (event) => {
      event.preventDefault();
      field.current?.focus();
    },
  });
  const found = $api.useQuery(
    "get",
    "/api/v1/search",
    { params: { query: { q: asked, "page.limit": 12 } } },
    { enabled: asked.length > 0, placeholderData: (before) => before, retry: false },
  );
  const isCurrent = asked === text.trim() && !found.isPlaceholderData;
  // While a response is pending, the older one's matches are offered: Enter opens the first.
  const wanted = text.trim().toLowerCase();
  const hits = wanted
    ? (found.data?.results ?? []).filter(
        ({ label, name }) => isCurrent || `${label} ${name}`.toLowerCase().includes(wanted),
      )
    : [];
  return (
    <Autocomplete.Root
      items={hits}
      value={text}
      mode="none"
      autoHighlight
      onValueChange={(value, details) => {
        if (details.reason !== "item-press") setText(value);
      }}
      itemToStringValue={(hit: Hit) => hit.label}
    >
      <search className={styles.search}>
        <Icon name="search" />
        <Autocomplete.Input
          ref={field}
          className={styles.input}
          aria-label={t("Find an asset, a person, a rule")}
          placeholder={t("Find an asset, a person, a rule")}
          spellCheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
      </search>
      <Autocomplete.Portal>
        <Autocomplete.Positioner className={styles.layer} sideOffset={6} align="start">
          <Autocomplete.Popup className={styles.popup}>
            <Autocomplete.Status className={styles.status}>
              {found.error
                ? problemOf(found.error).detail
                : wanted && found.isSuccess && isCurrent && hits.length === 0
                  ? t("Nothing that you may see has this name.")
                  : ""}
            </Autocomplete.Status>
            <Autocomplete.List>
              {(hit: Hit) => (
                <Autocomplete.Item
                  key={`${hit.realm} ${hit.kind} ${hit.name}`}
                  value={hit}
                  className={styles.item}
                  onClick={() => {
                    setText("");
                    open(hit);
                  }}
                >
                  <Name text={hit.label} cut={60} />
                  <small>{[hit.type, hit.in, hit.realm].filter(Boolean).join(" · ")}</small>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}

function useOpen(): (hit: Hit) => void {
  const navigate = useNavigate();
  return ({ kind, realm, name }) => {
    if (kind === "entity") void navigate({ to: "/asset", search: { realm, e: name } });
    else if (kind === "statement")
      void navigate({ to: "/r/$realm/statement", params: { realm }, search: { id: name } });
    else if (kind === "operation") void navigate({ to: "/ask/who", search: { realm, do: name } });
    else void navigate({ to: "/principal", search: { realm, p: name } });
  };
}
