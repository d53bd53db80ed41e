/** The messages that agents and environments of the conformance kit answer alike. */
import { setTimeout as sleep } from "node:timers/promises";

import { parted } from "./words.js";

/** The failure that the kit asks for. */
export const FAILURE = "told to fail";

/** Answers `counts`, `echo TEXT`, `sleep MS` and `fail`; empty for any other message. */
export async function answer(
  message: string,
  counts: Readonly<Record<string, number>>,
): Promise<string> {
  const [command, argument] = parted(message, " ");
  switch (command) {
    case "counts":
      return JSON.stringify(counts);
    case "echo":
      return argument;
    case "sleep":
      await sleep(Number(argument));
      return "";
    case "fail":
      if (argument === "") throw new Error(FAILURE);
      return "";
    default:
      return "";
  }
}
