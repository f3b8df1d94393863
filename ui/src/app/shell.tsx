import { Dialog } from "@base-ui/react/dialog";
import { Menu } from "@base-ui/react/menu";
import { notifyManager, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useParams } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";

import { newestRevision } from "../api/client";
import { governed, useRealms, useReadiness } from "../api/server";
import { useReadAgain, useUnread } from "../api/unread";
import { Icon } from "../parts/icon";
import { bare, Name } from "../parts/name";
import { MessageText } from "../parts/message-text";
import { ToastRegion } from "../parts/toast";
import { asSentence, count, t } from "../words";
import { KeySheet } from "./key-sheet";
import { useKeys } from "../parts/keys";
import { useOfferKeys, usePlaceKeys, useRowKeys } from "./keys";
import { preferences, setPreference, type Preferences } from "../parts/preferences";
import { useFocusInSight, usePageFocus } from "./page-focus";
import { Rail } from "./rail";
import { Search } from "./search";
import { useLogout, useSession } from "./session";
import styles from "./shell.module.css";

/** The frame around every page: rail, search, account, banners. */
export function Shell() {
  const [keysShown, showKeys] = useState(false);
  usePlaceKeys(usePlaces());
  useRowKeys();
  useOfferKeys();
  useKeys({
    "?": () => {
      showKeys(true);
    },
  });
  usePageFocus();
  useFocusInSight();
  return (
    <div className={styles.app}>
      <a className={styles.skip} href="#main">
        {t("Skip to the page")}
      </a>
      <div className={styles.rail}>
        <Rail />
      </div>
      <div className={styles.page}>
        <header className={styles.top}>
          <RailDrawer />
          <Search />
          <span className={styles.space} />
          <Account />
        </header>
        <Banners />
        <main id="main" className={styles.main}>
          <Outlet />
        </main>
      </div>
      <KeySheet
        open={keysShown}
        onClose={() => {
          showKeys(false);
        }}
      />
      <ToastRegion />
    </div>
  );
}

/** Targets of `g` and a letter: pages of the current realm, or else of the first. */
function usePlaces(): Record<string, string | undefined> {
  const realms = governed(useRealms().data?.realms);
  const { realm } = useParams({ strict: false });
  const here = realms.find((one) => one.name === realm) ?? realms[0];
  const datahub = here?.model === "datahub" ? here : realms.find((one) => one.model === "datahub");
  const below = (name: string | undefined, page: string) =>
    name && `/r/${encodeURIComponent(name)}/${page}`;
  return {
    o: "/",
    a: "/ask",
    s: "/assets",
    e: "/people",
    p: below(datahub?.name, "policies"),
    m: below(here?.name, "matrix"),
    f: "/findings",
    u: "/audit",
  };
}

function RailDrawer() {
  const path = useLocation({ select: (location) => location.href });
  const [openedAt, setOpenedAt] = useState<string | null>(null);
  return (
    <Dialog.Root
      open={openedAt === path}
      onOpenChange={(open) => {
        setOpenedAt(open ? path : null);
      }}
    >
      <Dialog.Trigger className={styles.burger} aria-label={t("Menu")}>
        <Icon name="menu" />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.drawer} aria-label={t("Menu")}>
          <Rail />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

const THEMES: [Preferences["theme"], string][] = [
  ["auto", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

function Account() {
  const session = useSession();
  const logout = useLogout();
  const [chosen, choose] = useState(preferences().theme);
  const name = bare(session.user);
  return (
    <Menu.Root>
      <Menu.Trigger className={styles.avatar}>
        {Array.from(name).slice(0, 2).join("").toUpperCase()}
        <span className="visually-hidden"> {t("Account of {name}", { name })}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="end" sideOffset={6} className={styles.layer}>
          <Menu.Popup className={styles.menu}>
            <div className={styles.who}>
              <b>
                <Name text={name} cut={40} />
              </b>
              <span>
                {session.administrator ? t("administrator of the server") : session.directory}
              </span>
            </div>
            <Menu.RadioGroup
              value={chosen}
              onValueChange={(theme: Preferences["theme"]) => {
                choose(theme);
                setPreference("theme", theme);
              }}
            >
              {THEMES.map(([theme, text]) => (
                <Menu.RadioItem key={theme} value={theme} className={styles.item}>
                  {t(text)}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Item className={styles.item} render={<Link to="/settings/tokens" />}>
              {t("Tokens")}
            </Menu.Item>
            <Menu.Item className={styles.item} onClick={logout}>
              {t("Log out")}
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

/**
 * Whether everything shown was fetched since the newest revision, as after the reader's own save.
 */
function useIsReread(): boolean {
  const cache = useQueryClient().getQueryCache();
  const isReread = () => {
    const asked = cache.findAll({ type: "active" }).map(({ state }) => {
      return Math.max(state.dataUpdatedAt, state.errorUpdatedAt);
    });
    return asked.every((at) => at === 0 || at >= newestRevision.noticedAt());
  };
  return useSyncExternalStore(
    (listener) => cache.subscribe(notifyManager.batchCalls(listener)),
    isReread,
  );
}

/** Tells that the frame of the page is incomplete; when the server recovers, it is read again. */
function Unread({ isDown }: { isDown: boolean }) {
  const why = useUnread();
  const readAgain = useReadAgain();
  useEffect(() => {
    if (!isDown) readAgain();
  }, [isDown, readAgain]);
  if (why === undefined) return null;
  return (
    <p className={styles.banner} role="alert">
      {t("Parts of this page could not be read:")} <MessageText text={asSentence(why)} />{" "}
      <button type="button" onClick={readAgain}>
        {t("Try again")}
      </button>
    </p>
  );
}

/** Warnings for everybody: weakened protection, a server that fails writes, newer data. */
function Banners() {
  const readiness = useReadiness();
  const realms = useRealms();
  const newest = useSyncExternalStore(newestRevision.subscribe, newestRevision.get);
  const path = useLocation({ select: (location) => location.href });
  const isReread = useIsReread();
  const [read, setRead] = useState({ path, revision: newest });
  if (read.path !== path || (isReread && read.revision !== newest))
    setRead({ path, revision: newest });
  const shown = read.revision;
  return (
    <div className={styles.banners}>
      {readiness.weak.map((text) => (
        <p key={text} className={styles.banner} role="status">
          <b>{t("Protection is weakened.")}</b> <MessageText text={asSentence(text)} />
        </p>
      ))}
      {readiness.down && (
        <p className={styles.banner} role="alert">
          {t(readiness.down)}
        </p>
      )}
      <Unread isDown={readiness.down !== ""} />
      {shown > 0 && newest > shown && (
        <p className={styles.banner} role="status">
          {t("{n, plural, one {# change} other {# changes}} since this page was read.", {
            n: newest - shown,
          })}{" "}
          <button
            type="button"
            onClick={() => {
              location.reload();
            }}
          >
            {t("Reload")}
          </button>
        </p>
      )}
      <span className="visually-hidden">
        {realms.data && t("{n} realms", { n: count(realms.data.realms.length) })}
      </span>
    </div>
  );
}
