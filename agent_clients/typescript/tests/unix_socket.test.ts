import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { UnixSocketStream, openSocket, pathHere } from "../src/net/unix_socket.js";

const MOST = 100_000;

let folder: string;
let server: Server;
let stream: UnixSocketStream;
let far: Socket; // the glue's end

before(() => (folder = mkdtempSync(join(tmpdir(), "reglue-"))));
after(() => rmSync(folder, { recursive: true }));

beforeEach(async () => {
  const path = join(folder, "agent");
  server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const opened = new Promise<Socket>((resolve) => server.once("connection", resolve));
  stream = new UnixSocketStream(await openSocket(path, 1000), MOST);
  far = await opened;
});

afterEach(async () => {
  stream.close();
  far.destroy();
  await new Promise((resolve) => server.close(resolve));
});

test("frames arrive whole, however they are split", async () => {
  const messages = [Buffer.from("one"), Buffer.alloc(0), Buffer.alloc(70_000, 7), Buffer.from("4")];
  const bytes = Buffer.concat(messages.map(frame));
  for (const [from, to] of [
    [0, 2],
    [2, 6],
    [6, 12],
    [12, 65_000],
    [65_000, bytes.length],
  ]) {
    far.write(bytes.subarray(from, to));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (const wanted of messages) assert.deepEqual(Buffer.from((await stream.receive())!), wanted);
  assert.equal(await stream.receive(20), undefined);
});

test("a message follows its length", async () => {
  stream.send(Buffer.from("hello"));
  const sent = await new Promise<Buffer>((resolve) => far.once("data", resolve));
  assert.deepEqual(sent, frame(Buffer.from("hello")));
});

test("a message that is too large ends the Unix socket before it is read", async () => {
  far.write(frame(Buffer.alloc(MOST + 1)).subarray(0, 8));
  await assert.rejects(stream.receive(), /got a message of 100001 bytes, wanted at most 100000/);
});

test("larger messages arrive if they are allowed", async () => {
  stream.allow(2 * MOST);
  far.write(frame(Buffer.alloc(MOST + 1)));
  assert.equal((await stream.receive())!.length, MOST + 1);
});

test("messages before the end are still read, half a message is not", async () => {
  far.end(Buffer.concat([frame(Buffer.from("last")), Buffer.from([9, 0, 0, 0, 1])]));
  assert.equal(String(await stream.receive()), "last");
  await assert.rejects(stream.receive(), /the glue went away/);
});

test("a signal ends the wait, and no other", async () => {
  const interruption = new AbortController();
  const waiting = stream.receive(undefined, interruption.signal);
  interruption.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(stream.receive(undefined, interruption.signal), /enough/);
  far.write(frame(Buffer.from("more")));
  assert.equal(String(await stream.receive()), "more");
});

test("a wait may be longer than Node's timers are, or without limit", async () => {
  const warned: Error[] = [];
  const warn = (warning: Error) => warned.push(warning);
  process.on("warning", warn);
  const waiting = stream.receive(Infinity);
  await new Promise((resolve) => setTimeout(resolve, 50));
  far.write(frame(Buffer.from("at last")));
  assert.equal(String(await waiting), "at last");
  process.off("warning", warn);
  assert.deepEqual(warned, []);
});

test("REGLUE_UNIX_SOCKET_DIR takes the place of all but the last two parts of a path", () => {
  assert.equal(pathHere("/run/user/7/reglue-5f0c/agent"), "/run/user/7/reglue-5f0c/agent");
  process.env["REGLUE_UNIX_SOCKET_DIR"] = "/sockets";
  try {
    assert.equal(pathHere("/run/user/7/reglue-5f0c/agent"), "/sockets/reglue-5f0c/agent");
  } finally {
    delete process.env["REGLUE_UNIX_SOCKET_DIR"];
  }
});

function frame(message: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(message.length);
  return Buffer.concat([header, message]);
}
