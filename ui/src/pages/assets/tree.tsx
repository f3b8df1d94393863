import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type KeyboardEvent, type ReactNode } from "react";

import { $api, problemOf } from "../../api/client";
import { choicesOf, governed, useRealms } from "../../api/server";
import { preferences } from "../../parts/preferences";
import { Button } from "../../parts/button";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { Icon } from "../../parts/icon";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { count, t } from "../../words";
import styles from "./tree.module.css";

const route = getRouteApi("/assets");
const PAGE = 100;
const MOST = 1_000;

/** The assets of a realm as a tree that opens step by step. */
export default function Assets() {
  const { realm: chosen, within } = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const realm = chosen ?? realms[0]?.name;
  const [text, setText] = useState("");
  return (
    <Page title={t("Assets")}>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm ?? ""}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ search: { realm: event.target.value } });
          }}
        />
        <TextField
          label={t("Name contains")}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
      </Filters>
      {realm && (
        <Card label={t("Tree of {realm}", { realm })}>
          {within && (
            <p className={styles.within}>
              {t("In")} <Name text={within} />{" "}
              <Link to="/assets" search={{ realm }}>
                {t("All assets")}
              </Link>
            </p>
          )}
          <ul className={styles.tree} onKeyDown={walk}>
            <Level
              key={`${realm} ${within ?? ""} ${text}`}
              realm={realm}
              of={within || undefined}
              text={text}
            />
          </ul>
        </Card>
      )}
    </Page>
  );
}

const ROW = "[data-tree-row]";
const TWIST = "button[aria-expanded]";

/**
 * Arrow keys walk the tree: down and up over the rows, right opens or enters, left closes or
 * leaves; `*` opens all rows of the level.
 */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = (event.target as HTMLElement).closest(ROW);
  const item = row?.parentElement;
  if (!row || !item) return;
  const rows = [...event.currentTarget.querySelectorAll(ROW)];
  const focus = (to: Element | null | undefined) => to?.querySelector("a")?.focus();
  const twist = row.querySelector<HTMLElement>(TWIST);
  const isOpen = twist?.ariaExpanded === "true";
  if (event.key === "ArrowDown") focus(rows[rows.indexOf(row) + 1]);
  else if (event.key === "ArrowUp") focus(rows[rows.indexOf(row) - 1]);
  else if (event.key === "ArrowRight") {
    if (isOpen) focus(item.querySelector(`:scope > ul ${ROW}`));
    else twist?.click();
  } else if (event.key === "ArrowLeft") {
    if (isOpen) twist?.click();
    else focus(item.parentElement?.closest("li")?.querySelector(ROW));
  } else if (event.key === "*" && preferences().keys === "on") {
    for (const one of item.parentElement?.querySelectorAll<HTMLElement>(
      `:scope > li > ${ROW} > ${TWIST}[aria-expanded=false]`,
    ) ?? [])
      one.click();
  } else return;
  event.preventDefault();
}

function Level({
  realm,
  of,
  text,
}: {
  realm: string;
  of?: string;
  /** Filters by name; only at the top level. */
  text?: string;
}) {
  const [size, setSize] = useState(PAGE);
  const inside = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/children",
    { params: { path: { realm }, query: { of, q: text || undefined, "page.limit": size } } },
    { placeholderData: (before) => before },
  );
  if (inside.isPending)
    return (
      <li>
        <Loading />
      </li>
    );
  if (inside.error)
    return (
      <li>
        <ProblemView problem={problemOf(inside.error)} onRetry={() => void inside.refetch()} />
      </li>
    );
  const { children, total } = inside.data;
  if (total === 0 && text !== undefined)
    return (
      <li>
        <Empty
          title={
            text
              ? t("No name at the top level contains this.")
              : t("Nothing here that you may see.")
          }
        >
          {!text && of === undefined && <code>{`lakewarden load ROWS --realm ${realm}`}</code>}
        </Empty>
      </li>
    );
  return (
    <>
      {children.map((child) => (
        <Item key={child.entity} realm={realm} child={child} />
      ))}
      {children.length < total && (
        <li>
          <More realm={realm} of={of} more={total - children.length} isFull={size === MOST}>
            {(text) => (
              <Button
                look="quiet"
                onClick={() => {
                  setSize((now) => Math.min(now + 400, MOST));
                }}
              >
                {text}
              </Button>
            )}
          </More>
        </li>
      )}
    </>
  );
}

/** What is missing of a level: a button loads more, up to the most that a tree may show. */
function More({
  realm,
  of,
  more,
  isFull,
  children,
}: {
  realm: string;
  of?: string;
  more: number;
  isFull: boolean;
  children: (text: string) => ReactNode;
}) {
  const text = t("{n} more", { n: count(more) });
  if (!isFull) return children(text);
  if (of === undefined) return t("{n} more: find them by a part of their name", { n: count(more) });
  return (
    <Link to="/asset" search={{ realm, e: of, tab: "inside" }}>
      {text}
    </Link>
  );
}

interface Child {
  entity: string;
  type: string;
  label: string;
  children: number;
  below: number;
}

function Item({ realm, child }: { realm: string; child: Child }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div className={styles.row} data-tree-row>
        {child.children > 0 ? (
          <button
            type="button"
            className={styles.twist}
            aria-expanded={open}
            aria-label={t("What lies in {name}", { name: child.label })}
            onClick={() => {
              setOpen(!open);
            }}
          >
            <Icon name={open ? "down" : "right"} size={13} />
          </button>
        ) : (
          <span className={styles.twist} />
        )}
        <Link to="/asset" search={{ realm, e: child.entity }}>
          <Name text={child.label} />
        </Link>
        <span className={styles.type}>{child.type}</span>
        {child.below > 0 && <span className={styles.count}>{count(child.below)}</span>}
      </div>
      {open && (
        <ul className={styles.inner}>
          <Level realm={realm} of={child.entity} />
        </ul>
      )}
    </li>
  );
}
