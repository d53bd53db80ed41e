import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { type LogLevel, openLog, trace } from "../src/net/log.js";
import { Outage } from "../src/net/outage.js";

afterEach(() => {
  delete process.env["REGLUE_LOG"];
  delete process.env["REGLUE_TRACE"];
});

for (const [minimum, levels] of [
  [undefined, ["error", "warning"]],
  ["error", ["error"]],
  ["warning", ["error", "warning"]],
  ["info", ["error", "warning", "info"]],
] as const) {
  test(`REGLUE_LOG ${minimum} shows ${levels.join(" and ")}`, () => {
    if (minimum !== undefined) process.env["REGLUE_LOG"] = minimum;
    const lines: string[] = [];
    const log = openLog((words, level) => lines.push(`${level} ${words}`));
    for (const level of ["error", "warning", "info"] as const) log(level, "so it is");
    assert.deepEqual(
      lines,
      levels.map((level) => `${level} so it is`),
    );
  });
}

for (const [variable, wanted] of [
  ["REGLUE_LOG", "error, warning or info"],
  ["REGLUE_TRACE", "1 or 0"],
] as const) {
  test(`another ${variable} is wrong usage`, () => {
    process.env[variable] = "loud";
    const message = `got ${variable}=loud, wanted ${wanted}`;
    assert.throws(() => openLog(), { name: "UsageError", message });
  });
}

test("lines on stderr have their time and level, and no control characters", ({ mock }) => {
  const error = mock.method(console, "error", () => {});
  openLog()("warning", "careful\u001b[2J");
  const [line] = error.mock.calls[0]!.arguments as [string];
  assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z reglue warning: careful\[2J$/);
});

test("a traced call is named as in the protocol, with sizes and time", ({ mock }) => {
  const error = mock.method(console, "error", () => {});
  const call = { call: "adaptBegin", bytes: 12, answerBytes: 4, tookMs: 0.4119 };
  trace(call);
  process.env["REGLUE_TRACE"] = "1";
  trace(call);
  trace({ ...call, call: "farewell", answerBytes: undefined });
  const lines = error.mock.calls.map(({ arguments: [line] }) => (line as string).slice(24));
  assert.deepEqual(lines, [
    " reglue call adapt_begin 12 bytes, answered by 4 bytes in 0.41 ms",
    " reglue call farewell 12 bytes, not answered",
  ]);
});

test("a lost connection is logged once, and its return once", () => {
  const lines: [LogLevel, string][] = [];
  const outage = new Outage((level, words) => lines.push([level, words]));
  outage.end();
  for (const why of ["cut", "refused", "refused"]) outage.begin(why, 1500);
  outage.forget();
  outage.forget();
  outage.end();
  outage.begin("cut again", 60_000);
  assert.deepEqual(lines, [
    ["warning", "lost the connection, reconnecting for up to 1.5 s: cut"],
    ["warning", "the glue has forgotten this session; joining anew"],
    ["warning", "connected again after 0.0 s"],
    ["warning", "lost the connection, reconnecting for up to 60.0 s: cut again"],
  ]);
});

for (const [how, sink] of [
  ["throws", () => raise()],
  ["returns a promise that rejects", () => Promise.resolve().then(raise)],
] as [string, () => void][]) {
  test(`a line whose receiver ${how} goes to stderr, and nothing fails`, async ({ mock }) => {
    const error = mock.method(console, "error", () => {});
    openLog(sink)("warning", "so it is");
    await setImmediate();
    const lines = error.mock.calls.map(({ arguments: [line] }) => (line as string).slice(24));
    assert.equal(lines[0], " reglue warning: so it is");
    assert.match(lines[1]!, /^ reglue error: the log option failed: Error: no paper\n +at raise/);
    assert.equal(lines.length, 2);
  });
}

function raise(): never {
  throw new Error("no paper");
}
