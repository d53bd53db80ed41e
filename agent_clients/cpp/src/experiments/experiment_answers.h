// What a routine returned, from its reply.
#pragma once

#include <memory>
#include <string>

#include "reglue/experiment.h"
#include "reglue/v1/experiment.pb.h"

namespace reglue {

/// A reply and the spec that its rows are of: what answers view.
struct Reply {
  std::shared_ptr<v1::ExperimentReply> message;
  std::shared_ptr<const TaskSpec> spec;  // none before RL_init
};

/// Throws the reply's error (RoutineRefused and its kinds, AgentFault, EnvironmentFault), and
/// BadReply if the reply is of another kind than `wanted`.
void check_answer(const v1::ExperimentReply& reply, v1::ExperimentReply::ReplyCase wanted);

// All throw BadReply for a malformed reply.

/// To a routine of the slots `requested`; `acts` says whether the agent chose actions.
Started started(Reply reply, const Slots& requested, bool acts);
Stepped stepped(Reply reply, const Slots& requested, bool acts);
Acted acted(Reply reply, const Slots& requested);

/// Whether all episodes ended by themselves.
bool all_ended(const v1::EpisodePlayed& played);

}  // namespace reglue
