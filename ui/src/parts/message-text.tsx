import { Name } from "./name";

/** A message of the server; text in backticks is shown as code. */
export function MessageText({ text }: { text: string }) {
  return text.split("`").map((part, place) =>
    place % 2 === 0 ? (
      <Name key={place} text={part} cut={2_000} />
    ) : (
      <code key={place}>
        <Name text={part} cut={200} />
      </code>
    ),
  );
}
