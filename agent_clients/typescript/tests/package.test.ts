import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { SDK, VERSION } from "../src/version.js";
import { block, file } from "./pages.js";

const FOLDER = "agent_clients/typescript";

test("the library calls itself by its package's name and version", () => {
  const { version } = JSON.parse(file(`${FOLDER}/package.json`)) as { version: string };
  assert.equal(VERSION, version);
  assert.equal(SDK, `reglue-typescript ${VERSION}`);
});

test("it asks for a Node that can trust an authority which another has signed", () => {
  // allowPartialTrustChain came with 20.18.0 and 22.9.0: a Node before them refuses such a glue.
  const { engines } = JSON.parse(file(`${FOLDER}/package.json`)) as { engines: { node: string } };
  const versions = ["18.20.8", "20.17.0", "20.18.0", "21.7.3", "22.8.0", "22.9.0", "24.0.0"];
  const semver = new URL("../../node_modules/semver/bin/semver.js", import.meta.url);
  const range = ["--range", engines.node, ...versions];
  const allowed = execFileSync(process.execPath, [fileURLToPath(semver), ...range]);
  assert.deepEqual(String(allowed).split("\n").slice(0, -1), ["20.18.0", "22.9.0", "24.0.0"]);
});

test("the README's agent is the example", () => {
  assert.equal(
    block(`${FOLDER}/README.md`, "ts"),
    file(`${FOLDER}/examples/momentum.ts`).trimEnd(),
  );
});
