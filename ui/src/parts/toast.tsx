import { Toast } from "@base-ui/react/toast";
import { useEffect } from "react";

import { t } from "../words";
import styles from "./toast.module.css";

const manager = Toast.createToastManager();

/** Reports a completed action; `undo` is offered for ten seconds. */
export function say(text: string, undo?: () => void): void {
  manager.add({
    title: text,
    timeout: 10_000,
    actionProps: undo ? { children: t("Undo"), onClick: undo } : undefined,
  });
}

export function ToastRegion() {
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className={styles.region}>
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts } = Toast.useToastManager();
  const newest = toasts[0]?.id;
  useEffect(() => {
    // The action may have removed the pressed element: the keyboard continues from the heading.
    if (newest !== undefined && document.activeElement === document.body)
      document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  }, [newest]);
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={styles.toast} data-message="">
      <Toast.Title render={<p />} />
      {toast.actionProps && <Toast.Action className={styles.act} />}
      <Toast.Close className={styles.act}>{t("Close")}</Toast.Close>
    </Toast.Root>
  ));
}
