import { Glyph } from "../../parts/glyph";
import { t } from "../../words";
import styles from "./ask.module.css";
import type { Step } from "./path";

/** The rule of the operation as a tree; each line says whether it holds. */
export function RuleTree({ step }: { step: Step }) {
  return (
    <ul className={styles.rule}>
      <Line step={step} needed={!step.holds} />
    </ul>
  );
}

// An alternative that holds needs none of its failing branches; they are drawn as not needed.
function Line({ step, needed }: { step: Step; needed: boolean }) {
  const state = step.holds ? "allow" : needed ? "deny" : "unknown";
  const labels = { allow: t("holds"), deny: t("does not hold"), unknown: t("not needed") };
  const denied = step.denied_by.length > 0;
  return (
    <li>
      <div data-hot={(denied && needed) || undefined}>
        <Glyph state={state} size={14} label={labels[state]} />
        <Says text={step.says} />
        {denied && <b className={styles.denied}>{t("denied")}</b>}
      </div>
      {step.steps.length > 0 && (
        <ul>
          {step.steps.map((inner, place) => (
            <Line key={place} step={inner} needed={needed && !step.holds && !inner.holds} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Says({ text }: { text: string }) {
  return /^[A-Z][A-Z0-9_]+$/.test(text) ? <code>{text}</code> : <span>{text}</span>;
}
