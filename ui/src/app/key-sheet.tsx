import { Drawer } from "../parts/drawer";
import { t } from "../words";
import styles from "./key-sheet.module.css";
import { preferences, setPreference } from "./preferences";
import { Check } from "../parts/fields";
import { useState } from "react";

const KEYS: [string, string][] = [
  ["/", "Search"],
  ["g o", "Overview"],
  ["g a", "Ask"],
  ["g s", "Assets"],
  ["g p", "People"],
  ["g f", "Findings"],
  ["g u", "Audit"],
  ["w", "Who may, of the same question"],
  ["Ctrl Enter", "Ask"],
  ["Esc", "Close"],
  ["?", "These keys"],
];

/** The sheet of keys, and the switch for single letters. */
export function KeySheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [on, setOn] = useState(preferences().keys === "on");
  return (
    <Drawer open={open} onClose={onClose} title={t("Keys")}>
      <dl className={styles.keys}>
        {KEYS.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <Check
        label={t("Keys of a single letter")}
        checked={on}
        onChange={(event) => {
          setOn(event.target.checked);
          setPreference("keys", event.target.checked ? "on" : "off");
        }}
      />
    </Drawer>
  );
}
