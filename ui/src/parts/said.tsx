import { Name } from "./name";

/** A sentence of the server, what stands in backticks as code. */
export function Said({ text }: { text: string }) {
  return text
    .split("`")
    .map((part, place) =>
      place % 2 === 0 ? (
        <Name key={place} text={part} cut={2_000} />
      ) : (
        <code key={place}>{part}</code>
      ),
    );
}
