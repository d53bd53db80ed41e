// All of Reglue's C++ client: agents, environments and benchmark programs.
#pragma once

#include "reglue/agent.h"
#include "reglue/connect.h"
#include "reglue/environment.h"
#include "reglue/environment_session.h"
#include "reglue/episode.h"
#include "reglue/episode_agent.h"
#include "reglue/errors.h"
#include "reglue/experiment.h"
#include "reglue/export.h"
#include "reglue/goals.h"
#include "reglue/options.h"
#include "reglue/rng.h"
#include "reglue/session.h"
#include "reglue/spec.h"
#include "reglue/tensors.h"
#include "reglue/turn.h"
