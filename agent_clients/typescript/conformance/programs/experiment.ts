/** The program: `reglue conformance experiment --cmd "node dist/conformance/programs/experiment.js"`. */
import { Experiment } from "reglue";

import { ConformanceExperiment } from "../experiment.js";

await Experiment.main((rl) => new ConformanceExperiment(rl).run(), {
  name: "ConformanceExperiment",
});
