/** The program: `reglue conformance experiment --cmd "node dist/conformance/programs/experiment.js"`. */
import { Experiment, ReglueError } from "reglue";

import { ConformanceExperiment } from "../experiment.js";

try {
  const rl = await Experiment.join({ name: "ConformanceExperiment" });
  try {
    await new ConformanceExperiment(rl).run();
  } finally {
    await rl.close();
  }
} catch (error) {
  if (!(error instanceof ReglueError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
