/** A glue's texts, as people may see them. */

const MOST_WORDS = 4096; // characters of a glue's text that are kept

/** Controls but for line breaks and tabs, invisible characters, marks of direction, lone surrogates. */
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** `text` as a terminal may show it, without `HIDDEN`; line breaks and tabs stay. */
export function printable(text: string): string {
  return text.replace(HIDDEN, "");
}

/** What a glue says, as it may be shown: `printable`, of its first 4096 characters. */
export function told(words: string): string {
  return printable([...words.slice(0, 2 * MOST_WORDS)].slice(0, MOST_WORDS).join(""));
}

/** What failed, as a Fault carries it: its first 4096 characters. */
export function faultWords(what: string): string {
  return what.slice(0, MOST_WORDS);
}
