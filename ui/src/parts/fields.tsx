import { useId, type ComponentProps, type ReactNode } from "react";

import styles from "./fields.module.css";

/** A labelled field; `hint` and `fault` are read out with it. */
export function Field({
  label,
  hint,
  fault,
  hidden = false,
  children,
}: {
  label: string;
  hint?: ReactNode;
  fault?: string;
  hidden?: boolean;
  children: (ids: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}) {
  const id = useId();
  const about = hint || fault ? `${id}-about` : undefined;
  return (
    <div className={styles.field}>
      <label className={hidden ? "visually-hidden" : styles.label} htmlFor={id}>
        {label}
      </label>
      {children({ id, "aria-describedby": about, "aria-invalid": fault ? true : undefined })}
      {about && (
        <p id={about} className={fault ? styles.fault : styles.hint}>
          {fault ?? hint}
        </p>
      )}
    </div>
  );
}

type Common = { label: string; hint?: ReactNode; fault?: string; hidden?: boolean };

/** A line of text with its label. */
export function TextField({
  label,
  hint,
  fault,
  hidden,
  ...rest
}: Common & Omit<ComponentProps<"input">, "hidden">) {
  return (
    <Field label={label} hint={hint} fault={fault} hidden={hidden}>
      {(ids) => <input className={styles.input} {...ids} {...rest} />}
    </Field>
  );
}

type Choices = readonly (readonly [string, string])[];

/**
 * The choices of a field, with the current value among them: a browser shows a field without it as
 * set to its first choice, so it would name another realm than the page acts on.
 */
export function withCurrent(options: Choices, value: unknown): Choices {
  const isOffered = options.some(([one]) => one === value);
  return typeof value !== "string" || value === "" || isOffered
    ? options
    : [[value, value], ...options];
}

/** A choice from a short list, with its label. */
export function SelectField({
  label,
  hint,
  fault,
  hidden,
  options,
  ...rest
}: Common & {
  options: Choices;
} & Omit<ComponentProps<"select">, "hidden">) {
  return (
    <Field label={label} hint={hint} fault={fault} hidden={hidden}>
      {(ids) => (
        <select className={styles.input} {...ids} {...rest}>
          {withCurrent(options, rest.value).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A checkbox with its text. */
export function Check({
  label,
  hint,
  ...rest
}: { label: string; hint?: string } & ComponentProps<"input">) {
  return (
    <label className={styles.check}>
      <input type="checkbox" {...rest} />
      <span>{label}</span>
      {hint && <span className={styles.hint}>{hint}</span>}
    </label>
  );
}

/** Fields side by side that wrap: the filters above a list. */
export function Filters({ children }: { children: ReactNode }) {
  return <search className={styles.filters}>{children}</search>;
}
