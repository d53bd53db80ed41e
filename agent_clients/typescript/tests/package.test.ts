import assert from "node:assert/strict";
import { test } from "node:test";

import { SDK, VERSION } from "../src/version.js";
import { block, file } from "./pages.js";

const FOLDER = "agent_clients/typescript";

test("the library calls itself by its package's name and version", () => {
  const { version } = JSON.parse(file(`${FOLDER}/package.json`)) as { version: string };
  assert.equal(VERSION, version);
  assert.equal(SDK, `reglue-typescript ${VERSION}`);
});

test("the README's agent is the example", () => {
  assert.equal(
    block(`${FOLDER}/README.md`, "ts"),
    file(`${FOLDER}/examples/momentum.ts`).trimEnd(),
  );
});
