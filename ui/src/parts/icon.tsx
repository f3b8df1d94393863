/** An icon of the sprite; always beside a text with the same meaning. */
export function Icon({ name, size = 15 }: { name: string; size?: number }) {
  return (
    <svg width={size} height={size} aria-hidden="true" focusable="false">
      <use href={`/ui/icons.svg#${name}`} />
    </svg>
  );
}
