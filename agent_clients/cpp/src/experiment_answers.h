// What a routine returned, read from the reply to it.
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

/// Throws what the routine was answered by instead: RoutineRefused and its kinds, AgentFault,
/// EnvironmentFault; and BadReply unless the reply is of the kind that is wanted.
void check_answer(const v1::ExperimentReply& reply, v1::ExperimentReply::ReplyCase wanted);

// All of them throw BadReply for what is malformed.

/// To a routine of the slots `asked`; `acts` says whether the agent chose actions.
Started started(Reply reply, const Slots& asked, bool acts);
Stepped stepped(Reply reply, const Slots& asked, bool acts);
Acted acted(Reply reply, const Slots& asked);

/// Whether all episodes ended by themselves.
bool all_ended(const v1::EpisodePlayed& played);

}  // namespace reglue
