export type State = "allow" | "deny" | "partial" | "none" | "unknown";

const SHAPES: Record<State, React.ReactNode> = {
  allow: (
    <>
      <circle cx="9" cy="9" r="8" fill="currentColor" />
      <path d="M5 9.4l2.7 2.7L13 6.6" fill="none" stroke="var(--paper)" strokeWidth="2" />
    </>
  ),
  deny: (
    <>
      <path d="M5.7 1h6.600L17 5.700v6.600L12.3 17H5.700L1 12.300V5.700z" fill="currentColor" />
      <path d="M5 9h8" stroke="var(--paper)" strokeWidth="2.4" />
    </>
  ),
  partial: (
    <>
      <circle cx="9" cy="9" r="7.2" fill="none" stroke="currentColor" strokeWidth="1.8" />
      <path d="M9 1.800a7.2 7.2 0 0 1 0 14.400z" fill="currentColor" />
    </>
  ),
  none: <circle cx="9" cy="9" r="1.6" fill="currentColor" />,
  unknown: (
    <circle
      cx="9"
      cy="9"
      r="7"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeDasharray="3 2.4"
    />
  ),
};

/** The colour of a decision; the shape says the same. */
export const COLOURS: Record<State, string> = {
  allow: "var(--allow)",
  deny: "var(--deny)",
  partial: "var(--partial)",
  none: "var(--none)",
  unknown: "var(--none)",
};

/** The sign of a decision: disc and tick, octagon and bar, half disc, dot, dashed ring. */
export function Glyph({
  state,
  size = 17,
  label,
}: {
  state: State;
  size?: number;
  label?: string;
}) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 18 18"
      color={COLOURS[state]}
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    >
      {SHAPES[state]}
    </svg>
  );
}
