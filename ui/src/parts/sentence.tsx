import { Link } from "@tanstack/react-router";

import { Name } from "./name";
import styles from "./sentence.module.css";

/** The thing that a word of a sentence names. */
export interface Ref {
  kind: string;
  realm?: string | null;
  name: string;
}

/** A part of a sentence that the server wrote; `mark` says if an edit adds or removes it. */
export interface Word {
  text: string;
  ref?: Ref | null;
  mark?: "ins" | "del" | null;
}

/** A sentence of the server; names in it link to their pages. */
export function Sentence({ words, large = false }: { words: Word[]; large?: boolean }) {
  return (
    <span className={large ? styles.large : undefined}>
      {words.map((word, place) => (
        <Marked key={place} word={word} />
      ))}
    </span>
  );
}

function Marked({ word }: { word: Word }) {
  const inner = word.ref ? (
    <Referred word={word} to={word.ref} />
  ) : (
    <Name text={word.text} cut={400} />
  );
  if (word.mark === "ins") return <ins>{inner}</ins>;
  if (word.mark === "del") return <del>{inner}</del>;
  return inner;
}

function Referred({ word, to }: { word: Word; to: Ref }) {
  const name = <Name text={word.text} />;
  const realm = to.realm ?? undefined;
  switch (to.kind) {
    case "entity":
      return (
        <Link className={styles.ref} to="/asset" search={{ realm, e: to.name }}>
          {name}
        </Link>
      );
    case "principal":
      return (
        <Link className={styles.ref} to="/principal" search={{ realm, p: to.name }}>
          {name}
        </Link>
      );
    case "statement":
      return (
        <Link
          className={styles.ref}
          to="/r/$realm/statement"
          params={{ realm: realm ?? "" }}
          search={{ id: to.name }}
        >
          {name}
        </Link>
      );
    case "privilege":
      return <code title={to.name}>{word.text}</code>;
    case "operation":
      // Its title is words, its name is an identifier.
      return word.text === to.name ? (
        <code>{word.text}</code>
      ) : (
        <span title={to.name}>{word.text}</span>
      );
    default:
      return <b>{name}</b>;
  }
}

/** The sentence as plain text, for a table's title or the clipboard. */
export function plain(words: Word[]): string {
  return words.map((word) => word.text).join("");
}
