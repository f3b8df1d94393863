import { Menu } from "@base-ui/react/menu";
import { useRef } from "react";

import { useKeys } from "./keys";
import { buttonClass } from "./button";
import styles from "./menu.module.css";

/** One act of a menu. */
export interface Act {
  text: string;
  onAct: () => void;
}

/** The acts on one row of a list, behind a button; `keys` do some of them while the row has the focus. */
export function RowMenu({
  label,
  acts,
  keys = {},
}: {
  label: string;
  acts: Act[];
  keys?: Record<string, () => void>;
}) {
  const button = useRef<HTMLButtonElement>(null);
  useKeys(keys, button);
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger
        className={`${buttonClass("quiet")} ${styles.trigger ?? ""}`}
        aria-label={label}
        ref={button}
      >
        <span aria-hidden="true">⋯</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className={styles.layer} align="end" sideOffset={2}>
          <Menu.Popup className={styles.menu}>
            {acts.map((one) => (
              <Menu.Item key={one.text} className={styles.item} onClick={one.onAct}>
                {one.text}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
