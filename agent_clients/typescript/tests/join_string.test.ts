import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";

import { UsageError } from "../src/errors.js";
import {
  joinString,
  socketPath,
  splitAddress,
  trusting,
  wantedName,
} from "../src/net/join_string.js";
import { block } from "./pages.js";

const JOINED = block("proto/README.md", "text join-string").replaceAll("\n", "");
const CA = /ca=([^&]*)/.exec(JOINED)![1]!;

afterEach(() => {
  delete process.env["REGLUE_ADDRESS"];
  delete process.env["REGLUE_TOKEN"];
  delete process.env["REGLUE_CERT"];
});

test("address and token default to the variables of the environment", () => {
  process.env["REGLUE_ADDRESS"] = "127.0.0.1:4096";
  process.env["REGLUE_TOKEN"] = "from the environment";
  assert.equal(joinString({}).address, "127.0.0.1:4096");
  assert.equal(joinString({}).token, "from the environment");
  assert.equal(joinString({ token: "" }).token, "");
  assert.equal(joinString({ address: "reglue://a:1?token=a%2Bb+c=" }).token, "a+b c=");
});

test("a join string may name a Unix socket", () => {
  const joined = joinString({ address: "reglue://unix:/run/reglue-1/lobby?token=a" });
  assert.deepEqual([joined.address, joined.token], ["unix:/run/reglue-1/lobby", "a"]);
  assert.equal(socketPath(joined.address), "/run/reglue-1/lobby");
  assert.equal(wantedName(joined), "localhost");
  assert.equal(wantedName({ ...joined, tlsName: "reglue" }), "reglue");
  assert.equal(joinString({ address: "unix:/lobby" }).address, "unix:/lobby");
});

test("a join string may begin with a byte order mark", () => {
  process.env["REGLUE_ADDRESS"] = "\ufeffreglue://a:1?token=b\r\n";
  assert.deepEqual([joinString({}).address, joinString({}).token], ["a:1", "b"]);
});

test("options override the join string", () => {
  const joined = joinString({ address: JOINED, token: "mine", tlsName: "other" });
  assert.equal(joined.token, "mine");
  assert.equal(joined.tlsName, "other");
});

test("an authority may be PEM, too", () => {
  const base64 = Buffer.from(CA, "base64url").toString("base64");
  const pem = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
  const both = joinString({ address: "a:1", ca: Buffer.from(pem + pem) }).authority;
  const one = joinString({ address: JOINED }).authority;
  assert.deepEqual(Buffer.from(both), Buffer.concat([one, one]));
});

for (const [address, words] of [
  ["", /no address/],
  ["127.0.0.1", /wanted host:port/],
  ["127.0.0.1:65536", /wanted host:port/],
  ["::1:80", /wanted host:port/],
  ["a:0", /wanted the port that the glue listens on/],
  ["unix:lobby", /wanted host:port/],
  ["unix:/", /wanted host:port/],
  ["unix:/a%20b", /wanted host:port/],
  [`unix:/${"a".repeat(107)}`, /of 108 bytes, wanted 107 at most/],
  ["reglue://unix:/a b", /wanted host:port/],
  ["reglue://a:1?", /wanted reglue:/],
  ["http://a:1?token=b", /wanted reglue:/],
  ["reglue://a:1/path?token=b", /wanted reglue:/],
  ["reglue://a:1?token=b#c", /wanted reglue:/],
  ["reglue://a:1?token=b&", /cut or broken/],
  ["reglue://a:1?ca", /cut or broken/],
  ["reglue://a:1?token=%zz", /cut or broken/],
  ["reglue://a:1?ca=", /no certificate/],
  [`reglue://a:1?ca=${CA.slice(0, -9)}`, /no certificate/],
  [`reglue://a:1?ca=${CA}!`, /not base64/],
  ["reglue://a:1?token=b&token=c", /token, token, wanted ca, name and token, each once/],
  ["reglue://a:1?pin=b", /with pin, wanted/],
  ["reglue://a:1?name=b", /no authority to trust/],
] as const) {
  test(`the address ${address.slice(0, 40) || "of no characters"} is refused`, () => {
    assert.throws(
      () => joinString({ address }),
      (error) => error instanceof UsageError && words.test(error.message),
    );
  });
}

test("a missing file and one without a certificate are refused", () => {
  assert.throws(() => joinString({ address: "a:1", ca: "/no/such/file" }), /cannot be read/);
  assert.throws(() => joinString({ address: "a:1", ca: Buffer.from("hello") }), /no certificate/);
});

test("an IPv6 host loses its brackets", () => {
  assert.deepEqual(splitAddress("[::1]:80"), { host: "::1", port: 80 });
});

/** A new certificate and its key, PEM; a key with a passphrase is encrypted. */
function certificate(folder: string, passphrase?: string): { cert: string; key: string } {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const secret = passphrase === undefined ? ["-nodes"] : ["-passout", `pass:${passphrase}`];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=a"];
  const words = ["req", "-x509", ...kind, ...secret, "-keyout", key, "-out", cert];
  assert.equal(spawnSync("openssl", words).status, 0);
  return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

test("an unusable certificate of the peer is refused, and nothing asks for a passphrase", () => {
  const { authority } = joinString({ address: JOINED });
  const folder = mkdtempSync(join(tmpdir(), "reglue-"));
  try {
    const [one, other] = [certificate(folder), certificate(folder)];
    const locked = certificate(folder, "secret");
    const file = (process.env["REGLUE_CERT"] = join(folder, "own.pem"));
    assert.throws(() => trusting(authority), /^UsageError: REGLUE_CERT: .*own\.pem cannot be read/);
    for (const held of [one.cert, one.key, one.cert + other.key, locked.cert + locked.key, "x"]) {
      writeFileSync(file, held);
      assert.throws(() => trusting(authority), /REGLUE_CERT: .* holds no certificate with its key/);
    }
    writeFileSync(file, one.key + one.cert);
    trusting(authority);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
