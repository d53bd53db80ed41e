/** The program: `reglue conformance environment --cmd "node dist/conformance/programs/environment.js"`. */
import { main } from "reglue";

import { ConformanceEnvironment } from "../environment.js";

await main(new ConformanceEnvironment());
