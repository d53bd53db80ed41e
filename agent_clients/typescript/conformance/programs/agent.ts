/** The program: `reglue conformance agent --cmd "node dist/conformance/programs/agent.js"`. */
import { main } from "reglue";

import { ConformanceAgent } from "../agent.js";

await main(new ConformanceAgent());
