/** The pages that define the protocol, as test data. */
import { readFileSync } from "node:fs";

const ROOT = new URL("../../../../", import.meta.url); // of the repository, from dist/tests

/** A file of the repository. */
export function file(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8");
}

/** The fenced block of a page whose fence says `info`. */
export function block(path: string, info: string): string {
  const content = file(path).split(`\n\`\`\`${info}\n`)[1]?.split("\n```")[0];
  if (content === undefined) throw new Error(`${path} has no block ${info}`);
  return content;
}

/** The lines of a block: name -> the rest. */
export function entries(path: string, info: string): ReadonlyMap<string, string> {
  const lines = block(path, info).split("\n");
  return new Map(lines.map((line) => [line.split(/\s+/)[0]!, line.replace(/^\S+\s*/, "")]));
}

/** The bytes of a block of hexadecimal digits, with comments behind `#`. */
export function bytes(path: string, info: string): Uint8Array {
  return unhex(block(path, info).replace(/#.*/g, ""));
}

/** Bytes of hexadecimal digits with spaces between. */
export function unhex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits.replace(/\s/g, ""), "hex"));
}

/** Hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
