import { Dialog } from "@base-ui/react/dialog";
import { useState, type ReactNode } from "react";

import { t } from "../words";
import { Button } from "./button";
import styles from "./drawer.module.css";
import { Icon } from "./icon";

/** A panel at the side of the page; closing it returns the focus to where it was. */
export function Drawer({
  open,
  onClose,
  title,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  children: ReactNode;
}) {
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(now) => {
        if (!now) onClose();
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.drawer}>
          <header className={styles.head}>
            <Dialog.Title render={<h2 />}>{title}</Dialog.Title>
            <Dialog.Close render={<Button look="quiet" aria-label={t("Close")} />}>
              <Icon name="close" />
            </Dialog.Close>
          </header>
          <div className={styles.body}>{children}</div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** A question that must be answered before the page continues. */
export function Confirm({
  open,
  title,
  act,
  onAct,
  onClose,
  children,
  disabled = false,
}: {
  open: boolean;
  title: string;
  act: string;
  /** Not called again until the promise that it returned is settled. */
  onAct: () => unknown;
  onClose: () => void;
  children: ReactNode;
  disabled?: boolean;
}) {
  const [isActing, setActing] = useState(false);
  const once = () => {
    const acted = onAct();
    if (!(acted instanceof Promise)) return;
    setActing(true);
    void acted.finally(() => {
      setActing(false);
    });
  };
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(now) => {
        if (!now) onClose();
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.confirm}>
          <Dialog.Title render={<h2 />}>{title}</Dialog.Title>
          <div className={styles.body}>{children}</div>
          <footer className={styles.foot}>
            <Dialog.Close render={<Button />}>{t("Cancel")}</Dialog.Close>
            <Button look="main" onClick={once} disabled={disabled || isActing}>
              {act}
            </Button>
          </footer>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
