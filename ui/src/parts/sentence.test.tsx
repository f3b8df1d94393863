import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { Name } from "./name";
import { plain, Sentence, type Word } from "./sentence";

const EDITED: Word[] = [
  { text: "Members of " },
  { text: "audit", mark: "del" },
  { text: "science", mark: "ins" },
  { text: " may " },
  { text: "VIEW", ref: { kind: "privilege", name: "VIEW" } },
];

function tags(words: Word[]): string {
  return renderToStaticMarkup(<Sentence words={words} />).replace(/ class="[^"]*"/g, "");
}

test("what an edit adds and removes is marked, and nothing else", () => {
  const markup = tags(EDITED);
  expect(markup).toContain("<del><bdi>audit</bdi></del><ins><bdi>science</bdi></ins>");
  expect(markup.match(/<(ins|del)>/g)).toHaveLength(2);
  expect(markup).toContain('<code title="VIEW">VIEW</code>');
});

test("a sentence as text is its words", () => {
  expect(plain(EDITED)).toBe("Members of auditscience may VIEW");
});

test("a name is never markup, and what cannot be seen is a box", () => {
  const markup = renderToStaticMarkup(<Name text={"<b>a\u202eb"} />);
  expect(markup).toContain("&lt;b&gt;");
  expect(markup).toContain(">202e<");
  expect(markup).not.toContain("\u202e");
});

test.each([
  ["a\u3164b", ">3164<"],
  ["a\u034fb", ">034f<"],
  ["a\u2800b", ">2800<"],
  ["a\u00a0b", ">00a0<"],
  ["a  b", "a <"],
  ["a\u200d\u200db", ">200d</span><span>200d<"],
])("names that look the same are told apart (%#)", (name, shown) => {
  const markup = renderToStaticMarkup(<Name text={name} />).replace(/ class="[^"]*"/g, "");
  expect(markup).toContain(shown);
});

test("a heart in colour, a word with an accent and a single space are no boxes", () => {
  const markup = renderToStaticMarkup(<Name text={"❤\ufe0f e\u0301a b"} />);
  expect(markup).not.toContain("<span");
});

test("a long name is cut in its middle, the whole one is its title", () => {
  const name = `${"a".repeat(60)}${"z".repeat(60)}`;
  const markup = renderToStaticMarkup(<Name text={name} cut={20} />);
  expect(markup).toContain(`title="${name}"`);
  expect(markup).toMatch(/>a{10}…z{9}</);
});

test("a character of two units is not cut in half", () => {
  const cutFace = "a".repeat(9) + "😀".repeat(20);
  const markup = renderToStaticMarkup(<Name text={cutFace} cut={20} />);
  expect(markup).toMatch(/>a{9}…(😀)+</u);
});
