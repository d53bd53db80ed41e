import assert from "node:assert/strict";
import { test } from "node:test";

import { SessionLost } from "../src/errors.js";
import { StreamEnded } from "../src/net/stream.js";
import { printable, glueText } from "../src/text.js";
import { file } from "./pages.js";

interface Case {
  readonly what: string;
  readonly told: string;
  readonly times?: number;
  readonly shown: string;
  readonly shown_times?: number;
}

/** The same in every language. */
const CASES = JSON.parse(file("tests/reglue/printable_words.json")) as readonly Case[];

for (const { what, ...each } of CASES) {
  const words = each.told.repeat(each.times ?? 1);
  const printed = each.shown.repeat(each.shown_times ?? 1);

  test(`a glue's words are cut and lose control characters: ${what}`, () => {
    assert.equal(glueText(words), printed);
    assert.equal(new StreamEnded(words).meaning().message, printed);
  });

  test(`words in an error lose control characters: ${what}`, () => {
    assert.equal(new SessionLost(words).message, printable(words));
    if (each.times === undefined) assert.equal(printable(words), printed);
  });
}

test("half a character is left out", () => {
  assert.equal(printable("a\ud800b"), "ab");
});
