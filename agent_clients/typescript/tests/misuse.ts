/**
 * Wrong uses of a benchmark program's routines, a row each: the use, its call, the error that it must throw, and what
 * the message says. A wrong use changes nothing: rows with FINE are carried out between them. Run it with a glue whose
 * agent and environment leave with the first session. Exit code 0 if all rows are right.
 */
import { Experiment as Typed } from "../src/experiments/experiment.js";

/** As JavaScript has it. */
type Untyped<T> = { [routine in keyof T]: (...values: unknown[]) => Promise<unknown> };

const Experiment = Typed as unknown as { join(options?: unknown): Promise<Untyped<Typed>> };
let rl = await Experiment.join();

const FINE = "";
const ORDER = "OutOfOrder OUT_OF_ORDER";
const DOMAIN = "OutOfDomain OUT_OF_DOMAIN";
const SIZE = "RoutineRefused WRONG_SIZE";
const SUPPORT = "NotSupported NOT_SUPPORTED";
const USAGE = "UsageError";
const LOST = "SessionLost";

// prettier-ignore
const ROWS: [use: string, call: () => Promise<unknown>, error: string, words: RegExp][] = [
  ["start before init", () => rl.start(), ORDER, /RL_init/],
  ["init of no slots", () => rl.init({ slots: 0 }), DOMAIN, /got slots 0, wanted an integer from 1 to 4294967295/],
  ["a seed out of range", () => rl.init({ seed: -1 }), DOMAIN, /got seed -1, wanted an integer from 0 to 9223372036854775807/],
  ["init", () => rl.init({ slots: 2, seed: 2n ** 63n - 1n }), FINE, /^$/],
  ["step before start", () => rl.step(), ORDER, /RL_start/],
  ["start", () => rl.start(), FINE, /^$/],
  ["actions of a wrong size", () => rl.envStep([1, 2, 3]), SIZE, /action action: 3 numbers, wanted 1: 1 rows of float32\[1\]/],
  ["actions of a wrong name", () => rl.envStep({ nothing: 1 }), SIZE, /envStep\(\): nothing, wanted actions by name: action/],
  ["a fractional slot", () => rl.start({ slots: [0.5] }), DOMAIN, /got slot 0.5, wanted an integer/],
  ["an unknown slot", () => rl.step([7]), DOMAIN, /got slot 7/],
  ["a slot twice", () => rl.step([1, 1]), DOMAIN, /got slots \[1, 1\]/],
  ["an unsupported routine", () => rl.setState("no key of a state"), SUPPORT, /an environment that keeps its states/],
  ["an unknown task", () => rl.init({ task: "none" }), DOMAIN, /none/],
  ["a task that is no text", () => rl.start({ task: 7 }), DOMAIN, /got task 7, wanted a string/],
  ["a negative variant", () => rl.start({ variant: -1 }), DOMAIN, /got variant -1, wanted an integer from 0 to 4294967295/],

  ["options that are none", () => rl.init(null), DOMAIN, /^got options null, wanted an object of options by name/],
  ["a limit for options", () => rl.episode(10), DOMAIN, /^got options 10, wanted an object of options by name/],
  ["slots for options", () => rl.start([0, 1]), DOMAIN, /^got options 0,1, wanted an object of options by name/],
  ["options of a wrong type", () => rl.agentEnd([1], [0, 0], [0], null), DOMAIN, /^got options null, wanted an object/],
  ["no task in init", () => rl.init({ task: null }), DOMAIN, /^got task null, wanted a string/],
  ["no task in episode", () => rl.episode({ task: null }), DOMAIN, /^got task null, wanted a string/],
  ["no variant in start", () => rl.start({ variant: null }), DOMAIN, /^got variant null, wanted an integer from 0 to 4294967295/],
  ["no variant in envStart", () => rl.envStart({ variant: null }), DOMAIN, /^got variant null, wanted an integer from 0 to/],
  ["no slots in start", () => rl.start({ slots: null }), DOMAIN, /^got slots null, wanted a list, such as \[0\]/],
  ["no slots in envStep", () => rl.envStep(null, null), DOMAIN, /^got slots null, wanted a list/],
  ["a slot for slots", () => rl.step(0), DOMAIN, /^got slots 0, wanted a list, such as \[0\]/],
  ["no slot", () => rl.getState(null), DOMAIN, /^got slot null, wanted an integer from 0 to 4294967295/],
  ["no limit", () => rl.episode({ maxSteps: null }), DOMAIN, /^got maxSteps null, wanted an integer from 0 to 18446744073709551615/],
  ["NaN steps", () => rl.episodeTrajectory(NaN), DOMAIN, /^got steps NaN, wanted an integer from 0 to/],
  ["negative steps", () => rl.episodeTrajectory(-1), DOMAIN, /^got steps -1, wanted an integer from 0 to/],
  ["fractional steps", () => rl.episodeTrajectory(2.5), DOMAIN, /^got steps 2.5, wanted an integer from 0 to/],
  ["infinite steps", () => rl.episodeTrajectory(Infinity), DOMAIN, /^got steps Infinity, wanted an integer from 0 to/],
  ["no steps", () => rl.episodeTrajectory(undefined), DOMAIN, /^got steps undefined, wanted an integer from 0 to/],
  ["no actions", () => rl.envStep(undefined), SIZE, /^got envStep\(\): undefined, wanted actions by name: action; did/],
  ["no rewards", () => rl.agentStep(null, [0, 0]), DOMAIN, /^got rewards null, wanted a list of numbers, one for each/],
  ["a reward of another type", () => rl.agentStep([1n], [0, 0]), DOMAIN, /^got reward 1, wanted a number/],
  ["no key of a state", () => rl.setState(null), DOMAIN, /^got key null, wanted a string/],
  ["no key of a seed", () => rl.setRandomSeed(), DOMAIN, /^got key undefined, wanted a string/],
  ["no message", () => rl.agentMessage(), DOMAIN, /^got message undefined, wanted a string/],
  ["a message that is no text", () => rl.envMessage(5), DOMAIN, /^got message 5, wanted a string/],

  ["step", () => rl.step(), FINE, /^$/],
  ["close", () => rl.close(), FINE, /^$/],
  ["a routine after close", () => rl.numSteps(), LOST, /the program has left/],
  ["a timeout of 0", () => Experiment.join({ timeoutS: 0 }), USAGE, /got a timeout of 0 s, wanted more than 0/],
  ["join", async () => (rl = await Experiment.join({ timeoutS: 0.1 })), FINE, /^$/],
  ["a routine that takes too long", () => rl.init(), LOST, /the routine took longer than its 0.1 s: are an agent and an/],
  ["a routine after that", () => rl.freeze(), LOST, /longer than its 0.1 s/],
  ["close", () => rl.close(), FINE, /^$/],

  ["join by no options", () => Experiment.join(null), USAGE, /^got options null, wanted an object of options by name/],
  ["no timeout", () => Experiment.join({ timeoutS: null }), USAGE, /^got a timeout of null s, wanted more than 0/],
  ["an address that is no text", () => Experiment.join({ address: 5 }), USAGE, /^got address of type number, wanted a string, or nothing/],
  ["a token that is no text", () => Experiment.join({ token: null }), USAGE, /^got token null, wanted a string, or nothing/],
  ["an authority of a wrong type", () => Experiment.join({ ca: 7 }), USAGE, /^got ca of type number, wanted a file's name or a Uint8Array/],
  ["a name that is no text", () => Experiment.join({ name: {} }), USAGE, /^got name of type object, wanted a string/],
  ["a log of a wrong type", () => Experiment.join({ log: 1 }), USAGE, /^got log of type number, wanted a function/],
  ["a signal of a wrong type", () => Experiment.join({ signal: {} }), USAGE, /^got signal of type object, wanted an Abort/],
  ["a connect timeout that is no number", () => Experiment.join({ connectTimeoutS: "1" }), USAGE, /^got connectTimeoutS of type string, wanted/],
];

/** What the call throws: its class with its code, and its message. */
async function outcome(call: () => Promise<unknown>): Promise<[error: string, message: string]> {
  try {
    await call();
    return [FINE, ""];
  } catch (thrown) {
    const { name, code, message } = thrown as Error & { code?: string };
    return [code === undefined ? name : `${name} ${code}`, message];
  }
}

for (const [use, call, wanted, words] of ROWS) {
  const [error, message] = await outcome(call);
  if (error === wanted && words.test(message)) continue;
  console.error(`${use}: got ${error}, wanted ${wanted} and ${words}: ${message}`);
  process.exitCode = 1;
}
