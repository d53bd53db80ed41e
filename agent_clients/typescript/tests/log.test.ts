import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { ConnectionLog, type LogLevel, openLog, trace } from "../src/net/log.js";

afterEach(() => {
  delete process.env["REGLUE_LOG"];
  delete process.env["REGLUE_TRACE"];
});

for (const [shown, levels] of [
  [undefined, ["error", "warning"]],
  ["error", ["error"]],
  ["warning", ["error", "warning"]],
  ["info", ["error", "warning", "info"]],
] as const) {
  test(`REGLUE_LOG ${shown} shows ${levels.join(" and ")}`, () => {
    if (shown !== undefined) process.env["REGLUE_LOG"] = shown;
    const said: string[] = [];
    const log = openLog((words, level) => said.push(`${level} ${words}`));
    for (const level of ["error", "warning", "info"] as const) log(level, "so it is");
    assert.deepEqual(
      said,
      levels.map((level) => `${level} so it is`),
    );
  });
}

test("another REGLUE_LOG is wrong usage", () => {
  process.env["REGLUE_LOG"] = "loud";
  assert.throws(() => openLog(), {
    name: "UsageError",
    message: "got REGLUE_LOG=loud, wanted error, warning, info",
  });
});

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

test("a connection that stays lost is told once, and once that it is back", () => {
  const said: [LogLevel, string][] = [];
  const connection = new ConnectionLog("me", (level, words) => said.push([level, words]));
  connection.admitted();
  for (const why of ["cut", "refused", "refused"]) connection.lost(why, 1500);
  connection.admitted();
  connection.lost("cut again", 1500);
  const lost = "the connection to the glue is lost, reconnecting for up to 1.5 s";
  assert.deepEqual(said, [
    ["info", "joined as me"],
    ["warning", `${lost}: cut`],
    ["warning", "the connection to the glue is back"],
    ["warning", `${lost}: cut again`],
  ]);
});
