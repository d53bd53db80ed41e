import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Agent } from "../src/agents/agent.js";
import type { Chosen, Starts, Steps } from "../src/agents/calls.js";
import { connect } from "../src/connect.js";
import { BadAnswer, SessionLost, Unreachable, UsageError } from "../src/errors.js";
import { Phase } from "../src/gen/reglue/v1/session_pb.js";
import type { LogLevel } from "../src/net/log.js";
import type { ConnectOptions } from "../src/net/options.js";
import type { Arrays } from "../src/spec.js";
import { Glue, type CallBody } from "./glue.js";
import { readmeMessage } from "./specs.js";

const FAREWELL: CallBody = { case: "farewell", value: { reason: "that was all" } };

/** Waits in agentStart, like an agent that calls another machine. */
class SlowAgent extends Agent {
  readonly calls: string[] = [];
  answer: Chosen = { force: [0, 0], grip: 0 };

  override async agentStart(_: Arrays, { slots }: Starts): Promise<Chosen> {
    await sleep(1);
    this.calls.push(`start ${slots.join()}`);
    return this.answer;
  }

  override agentStep(_rewards: Float64Array, _: Arrays, { slots }: Steps): Chosen {
    this.calls.push(`step ${slots.join()}`);
    return this.answer;
  }

  override agentMessage(message: string): string {
    this.calls.push(message);
    return message.toUpperCase();
  }
}

let folder: string;
let unixSocketPath: string;
let glue: Glue | undefined;
const logged: string[] = [];

before(() => {
  folder = mkdtempSync(join(tmpdir(), "reglue-"));
  unixSocketPath = join(folder, "agent");
});
after(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  glue?.close();
  glue = undefined;
});

for (const transport of ["grpc", "unix"] as const) {
  test(`a session is played over ${transport}, and its farewell's words are returned`, async () => {
    glue = await new Glue({ unixSocketPath }).open(unixSocketPath);
    const agent = new SlowAgent();
    const playing = play(agent, { name: "slow", transport });
    const connection = await glue.connection();
    assert.equal(connection.transport, transport);
    assert.equal((connection.hello.reply.value as { agent: string }).agent, "slow");
    connection.send(1n, init());
    assert.equal((await connection.receive()).reply.case, "done");
    connection.send(2n, start(0));
    connection.send(3n, step(0));
    const [started, stepped] = [await connection.receive(), await connection.receive()];
    assert.deepEqual([started.seq, stepped.seq], [2n, 3n]);
    connection.send(4n, FAREWELL);
    assert.equal(await playing, "that was all");
    assert.deepEqual(agent.calls, ["start 0", "step 0"]);
  });
}

test("gRPC is used where the Unix socket is in a folder that this user may not enter", async () => {
  const closed = join(folder, "reglue-closed");
  mkdirSync(closed, { mode: 0 });
  const isRoot = process.getuid!() === 0;
  if (isRoot) process.seteuid!(65534); // root may enter every folder
  try {
    glue = await new Glue({ unixSocketPath: join(closed, "agent") }).open();
    const playing = play(new SlowAgent());
    playing.catch(() => {}); // asserted below
    const connection = await Promise.race([glue.connection(), playing.then(() => undefined)]);
    connection!.send(1n, FAREWELL);
    assert.equal(await playing, "that was all");
  } finally {
    if (isRoot) process.seteuid!(0);
    chmodSync(closed, 0o700);
  }
});

test("eight answers are remembered for a glue that did not get them", async () => {
  glue = await new Glue({ reconnectWindowUs: 60_000_000n }).open();
  const agent = new SlowAgent();
  const playing = play(agent);
  const connection = await glue.connection();
  for (let seq = 1n; seq <= 9n; seq++) {
    connection.send(seq, { case: "message", value: { text: `m${seq}` } });
    await connection.receive();
  }
  connection.cut();
  const back = await glue.connection();
  assert.equal((back.hello.reply.value as { answered: bigint }).answered, 9n);
  for (let seq = 1n; seq <= 9n; seq++) {
    back.send(seq, { case: "message", value: { text: `m${seq}` } });
  }
  for (let seq = 2n; seq <= 9n; seq++) {
    const { seq: of, reply } = await back.receive();
    assert.deepEqual([of, reply.value], [seq, { ...(reply.value as object), text: `M${seq}` }]);
  }
  back.send(10n, FAREWELL);
  assert.equal(await playing, "that was all");
  assert.equal(agent.calls.length, 9);
});

test("many sessions of a program share a listener for its end: Node warns of more than ten", async () => {
  const [count, entered, released] = [11, gate(), gate()];
  let waiting = 0;
  class Waits extends Agent {
    override turn(): Chosen {
      return {}; // none comes
    }

    override async agentMessage(message: string): Promise<string> {
      if (++waiting === count) entered.open();
      await released.opened;
      return message;
    }
  }
  glue = await new Glue({}).open();
  const before = process.listenerCount("beforeExit");
  const playing = Array.from({ length: count }, () => play(new Waits()));
  const connections = [];
  while (connections.length < count) connections.push(await glue.connection());
  for (const each of connections) each.send(1n, { case: "message", value: { text: "hello" } });
  await entered.opened;
  assert.equal(process.listenerCount("beforeExit"), before + 1);
  released.open();
  await Promise.all(connections.map((each) => each.receive()));
  assert.equal(process.listenerCount("beforeExit"), before);
  for (const each of connections) each.send(2n, FAREWELL);
  assert.deepEqual(await Promise.all(playing), Array(count).fill("that was all"));
});

test("a lost connection is one line, however many streams are tried, and its return another", async () => {
  glue = await new Glue({ reconnectWindowUs: 60_000_000n }).open();
  const from = logged.length;
  const playing = play(new SlowAgent(), { connectTimeoutS: 20 }); // the glue's window is longer
  const connection = await glue.connection();
  connection.send(1n, { case: "message", value: { text: "hello" } });
  await connection.receive();
  glue.turnsAway = 3;
  connection.cut();
  const back = await glue.connection();
  assert.equal(glue.turnsAway, 0);
  back.send(2n, FAREWELL);
  await playing;
  const [lost, returned, ...more] = logged.slice(from);
  assert.match(lost!, /^warning lost the connection, reconnecting for up to 60\.0 s: /);
  assert.match(returned!, /^warning connected again after \d+\.\d s$/);
  assert.deepEqual(more, []);
});

test("who gives up on a glue says what a team can do", async () => {
  glue = await new Glue({ reconnectWindowUs: 50_000n }).open();
  glue.turnsAway = Infinity;
  const playing = play(new SlowAgent(), { transport: "grpc" });
  await assert.rejects(
    playing,
    /^SessionLost: the glue went away: not now; gave up\. A competition keeps its/,
  );
});

test("a glue that gives tickets and takes no stream is abandoned after the connect timeout", async () => {
  const ticket = { address: "", reconnectWindowUs: 50_000n };
  glue = await new Glue(ticket).open();
  ticket.address = glue.address; // a run's, which has its streams at another address
  glue.turnsAway = Infinity;
  const from = logged.length;
  const playing = play(new SlowAgent(), { connectTimeoutS: 0.5, transport: "grpc" });
  await assert.rejects(playing, /^SessionLost: the glue went away: not now/);
  assert.deepEqual(logged.slice(from), [
    "warning lost the connection, reconnecting for up to 0.1 s: the glue went away: not now",
    "warning the glue has forgotten this session; joining anew",
  ]);
});

test("a glue that ends a session and answers no more is no wrong address", async () => {
  const ticket = { address: "", reconnectWindowUs: 50_000n };
  glue = await new Glue(ticket).open();
  ticket.address = glue.address;
  glue.turnsAway = Infinity;
  glue.tickets = 1;
  const playing = play(new SlowAgent(), { connectTimeoutS: 1, transport: "grpc" });
  await assert.rejects(playing, /^SessionLost: the glue went away: not now/);
});

for (const [transport, how] of [
  ["auto", "the glue's Unix socket"],
  ["grpc", undefined],
] as const) {
  test(`REGLUE_LOG=info says where it joined, and how messages travel: ${transport}`, async () => {
    glue = await new Glue({ unixSocketPath }).open(unixSocketPath);
    const from = logged.length;
    process.env["REGLUE_LOG"] = "info";
    const playing = play(new SlowAgent(), { transport });
    delete process.env["REGLUE_LOG"];
    (await glue.connection()).send(1n, FAREWELL);
    await playing;
    const lines = [`info joined the glue at ${glue.address}`];
    if (how !== undefined) lines.push(`info messages travel over ${how}`);
    assert.deepEqual(logged.slice(from), lines);
  });
}

test("an answer of a wrong size is reported to the glue as a fault, and thrown", async () => {
  glue = await new Glue({}).open();
  const agent = new SlowAgent();
  agent.answer = { force: [1, 2, 3], grip: 0 };
  const playing = play(agent);
  const refused = assert.rejects(playing, (error) => error instanceof BadAnswer);
  const connection = await glue.connection();
  connection.send(1n, init());
  await connection.receive();
  connection.send(2n, start(1));
  const { seq, reply } = await connection.receive();
  assert.equal(seq, 2n);
  const wanted = "action force: got 3 numbers, wanted 2: 1 rows of float32[2]";
  assert.equal((reply.value as { what: string }).what, `BadAnswer: agentStart(): ${wanted}`);
  connection.send(3n, FAREWELL);
  await refused;
});

test("an answer that no message can hold is a fault", async () => {
  // In capitals ŉ has three bytes in place of two.
  glue = await new Glue({ maxMessageBytes: 1000 }).open();
  const playing = play(new SlowAgent());
  const refused = assert.rejects(playing, /got an answer of 12\d\d bytes, wanted at most 1000/);
  const connection = await glue.connection();
  connection.send(1n, { case: "message", value: { text: "ŉ".repeat(400) } });
  assert.equal((await connection.receive()).reply.case, "fault");
  connection.send(2n, FAREWELL);
  await refused;
});

test("an interrupted agent says so to the glue", async () => {
  glue = await new Glue({ reconnectWindowUs: 60_000_000n }).open();
  const interruption = new AbortController();
  const playing = play(new SlowAgent(), { signal: interruption.signal });
  const refused = assert.rejects(playing, { name: "AbortError" });
  const connection = await glue.connection();
  connection.send(1n, init());
  await connection.receive();
  interruption.abort();
  const { seq, reply } = await connection.receive();
  assert.deepEqual([seq, (reply.value as { what: string }).what], [0n, "interrupted"]);
  connection.send(2n, FAREWELL);
  await refused;
});

test("an agent that waits for something is interrupted, too", async () => {
  class Stuck extends SlowAgent {
    override agentMessage(): Promise<string> & string {
      interruption.abort();
      return new Promise(() => {}) as never;
    }
  }
  glue = await new Glue({ reconnectWindowUs: 60_000_000n }).open();
  const interruption = new AbortController();
  const playing = play(new Stuck(), { signal: interruption.signal });
  const refused = assert.rejects(playing, { name: "AbortError" });
  const connection = await glue.connection();
  connection.send(1n, { case: "message", value: { text: "how are you?" } });
  assert.equal(((await connection.receive()).reply.value as { what: string }).what, "interrupted");
  connection.send(2n, FAREWELL);
  await refused;
  await assert.rejects(play(new SlowAgent(), { signal: interruption.signal }), {
    name: "AbortError",
  });
});

test("an agent that is interrupted before a glue is up leaves at once", async () => {
  const interruption = new AbortController();
  const playing = play(new SlowAgent(), { address: "127.0.0.1:9", signal: interruption.signal });
  setTimeout(() => interruption.abort(new Error("enough")), 100);
  await assert.rejects(playing, /enough/);
});

test("gRPC is used where somebody else answers at the Unix socket", async () => {
  glue = await new Glue({ unixSocketPath }, false).open(unixSocketPath);
  const playing = play(new SlowAgent());
  assert.equal((await glue.connection()).transport, "unix");
  const connection = await glue.connection();
  assert.equal(connection.transport, "grpc");
  connection.send(1n, FAREWELL);
  await playing;
});

for (const [why, path, words] of [
  ["is not there", "/no/such/reglue-none/agent", /name that by REGLUE_UNIX_SOCKET_DIR/],
  ["is too long for a socket", `/${"a".repeat(107)}`, /got 108 bytes, wanted at most 107/],
] as const) {
  test(`gRPC is used where the Unix socket ${why}, unless a Unix socket is wanted`, async () => {
    glue = await new Glue({ unixSocketPath: path }).open();
    const playing = play(new SlowAgent());
    const connection = await glue.connection();
    assert.equal(connection.transport, "grpc");
    connection.send(1n, FAREWELL);
    await playing;
    await assert.rejects(
      play(new SlowAgent(), { transport: "unix" }),
      (error) => error instanceof UsageError && words.test(error.message),
    );
  });
}

test("a message that this version cannot read ends the session", async () => {
  glue = await new Glue({ reconnectWindowUs: 60_000_000n }).open();
  const playing = play(new SlowAgent());
  const lost = assert.rejects(playing, (error) => error instanceof SessionLost);
  const connection = await glue.connection();
  connection.send(1n, { case: "freeze", value: {} });
  await lost;
});

test("a refusal is thrown", async () => {
  glue = await new Glue({}).open();
  const playing = play(new SlowAgent());
  const connection = await glue.connection();
  connection.send(1n, { case: "refusal", value: { ofSeq: 7n, got: "2 bytes", wanted: "4 bytes" } });
  connection.send(2n, FAREWELL);
  await playing;
  assert(logged.includes("error reply 7 was refused: got 2 bytes, wanted 4 bytes"));
});

test("a log that throws fails no session, and its lines go to stderr", async ({ mock }) => {
  const error = mock.method(console, "error", () => {});
  glue = await new Glue({ reconnectWindowUs: 60_000_000n }).open();
  const log = () => {
    throw new Error("no paper");
  };
  const playing = play(new SlowAgent(), { log });
  const connection = await glue.connection();
  connection.send(1n, { case: "refusal", value: { ofSeq: 7n } });
  connection.send(2n, { case: "message", value: { text: "hello" } });
  await connection.receive();
  connection.cut();
  (await glue.connection()).send(3n, FAREWELL);
  assert.equal(await playing, "that was all");
  const lines = error.mock.calls.map(({ arguments: [line] }) => line as string);
  for (const part of ["error: reply 7 was refused", "warning: lost the connection", "no paper"]) {
    assert(lines.some((line) => line.includes(part)));
  }
});

test("an agent that is interrupted before the glue welcomes it leaves at once", async () => {
  const interruption = new AbortController();
  const silent = createServer((socket) => {
    socket.on("error", () => {}); // the agent has left
    socket.once("data", () => interruption.abort(new Error("enough")));
  });
  glue = await new Glue({ unixSocketPath }).open();
  await new Promise<void>((resolve) => silent.listen(unixSocketPath, resolve));
  const began = performance.now();
  await assert.rejects(play(new SlowAgent(), { signal: interruption.signal }), /enough/);
  assert(performance.now() - began < 8000); // it would wait for 10 s
  silent.close();
});

test("an address without a glue is unreachable after the connect timeout", async () => {
  const playing = connect(new SlowAgent(), {
    address: "127.0.0.1:9",
    token: "",
    connectTimeoutS: 0.1,
  });
  await assert.rejects(playing, (error) => {
    return error instanceof Unreachable && /no glue answered at 127.0.0.1:9/.test(error.message);
  });
});

test("an agent without routines, or with a wrong transport, is refused before it dials", async () => {
  class Empty extends Agent {}
  class Half extends Agent {
    override agentStart = () => 0;
  }
  const where = { address: "127.0.0.1:9" };
  await assert.rejects(connect(new Empty(), where), /^NotAnAgent: Empty lacks agentStart\(\)/);
  await assert.rejects(connect(new Half(), where), /^NotAnAgent: Half lacks agentStep\(\)/);
  await assert.rejects(
    connect(Empty as never, where),
    /^NotAnAgent: got Empty, a class or function, wa/,
  );
  const transport = "tcp" as never;
  await assert.rejects(connect(new SlowAgent(), { ...where, transport }), UsageError);
  const options = /^UsageError: got options null, wanted an object of options by name/;
  await assert.rejects(connect(new SlowAgent(), null as never), options);
});

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

function play(agent: Agent, options: ConnectOptions = {}): Promise<string> {
  const log = (words: string, level: LogLevel) => void logged.push(`${level} ${words}`);
  return connect(agent, { address: glue?.address, token: "t", log, ...options });
}

function init(): CallBody {
  return { case: "init", value: { spec: readmeMessage() } };
}

function start(slot: number): CallBody {
  const observations = [new Uint8Array(16), new Uint8Array(1)];
  return {
    case: "turn",
    value: { phase: Phase.TRAIN, startSlots: [slot], startSeeds: [1n], observations },
  };
}

function step(slot: number): CallBody {
  const observations = [new Uint8Array(16), new Uint8Array(1)];
  const value = { phase: Phase.TRAIN, stepSlots: [slot], stepFlags: [0], observations };
  return { case: "turn", value: { ...value, rewards: new Uint8Array(8) } };
}
