/** Texts of a glue, made safe to show to people. */

const MAX_LENGTH = 4096; // characters of a glue's text

/** Controls but for line breaks and tabs, invisible characters, marks of direction, lone surrogates. */
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** `text` without the characters of `HIDDEN`, so that a terminal may show it. */
export function printable(text: string): string {
  return text.replace(HIDDEN, "");
}

/** The first 4096 characters of a glue's text, without `HIDDEN`. */
export function glueText(text: string): string {
  return printable([...text.slice(0, 2 * MAX_LENGTH)].slice(0, MAX_LENGTH).join(""));
}

/** The first 4096 characters of what failed, as a Fault carries it. */
export function faultText(what: string): string {
  return what.slice(0, MAX_LENGTH);
}
