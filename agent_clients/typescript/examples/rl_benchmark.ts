/**
 * RL_benchmark of the RL-Glue concepts page: the average return over 1000 episodes, averaged again
 * over 100 runs. `rl_benchmark.js [RUNS [EPISODES]]` plays fewer of them.
 *
 *     reglue glue --token SECRET …          # and an agent and an environment join it
 *     REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET node dist/examples/rl_benchmark.js 10 100
 */
import { Experiment } from "reglue";

const MOST_STEPS = 10_000_000;

/** The average return of `episodes` episodes of a naive agent. */
async function run(rl: Experiment, seed: number, episodes: number): Promise<number> {
  await rl.init({ seed });
  let sum = 0;
  for (let episode = 0; episode < episodes; episode++) {
    await rl.episode({ maxSteps: MOST_STEPS });
    sum += await rl.return();
  }
  await rl.cleanup();
  return sum / episodes;
}

const [runs = 100, episodes = 1000] = process.argv.slice(2).map(Number);
await Experiment.main(
  async (rl) => {
    let sum = 0;
    for (let seed = 0; seed < runs; seed++) sum += await run(rl, seed, episodes);
    console.log(sum / runs);
  },
  { name: "RL_benchmark" },
);
