import { Drawer } from "../parts/drawer";
import { t } from "../words";
import styles from "./key-sheet.module.css";
import { preferences, setPreference } from "../parts/preferences";
import { Check } from "../parts/fields";
import { useState } from "react";

const KEYS: [string, string][] = [
  ["/", "Search"],
  ["g o", "Overview"],
  ["g a", "Ask"],
  ["g s", "Assets"],
  ["g e", "People"],
  ["g p", "Policies"],
  ["g m", "Matrix"],
  ["g f", "Findings"],
  ["g u", "Audit"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["x", "Choose the row"],
  ["n", "New: policy, role, grant, token"],
  ["e", "Edit: policy, role, owner"],
  ["d", "Policy: deactivate or activate"],
  ["t", "Next tab"],
  ["Ctrl Enter", "Ask, plan, run"],
  ["Esc", "Close"],
  ["1 2 3 4", "Overview: a card"],
  ["w", "Ask: who may do the same"],
  ["← → ↑ ↓", "Ask, assets, matrix: walk"],
  ["*", "Assets: open all of this level"],
  ["+ -", "Matrix: larger, smaller"],
  ["c", "Person: compare with another"],
  ["a d Delete", "Role: allow, deny, neither"],
  ["f", "Finding: preview the fix"],
  ["z", "Finding: dismiss"],
  [".", "Audit: follow what happens"],
  ["F8", "Playground: next mistake"],
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
