import { Menu } from "@base-ui/react/menu";
import { useRef } from "react";

import { useKeys } from "./keys";
import { buttonClass } from "./button";
import styles from "./menu.module.css";

/** One action of a menu. */
export interface Act {
  text: string;
  onAct: () => void;
}

/**
 * The actions on a list row, behind a button; `keys` trigger some of them while the row has the
 * focus.
 */
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
