// TaskSpec to and from spec.proto.
#pragma once

#include "reglue/spec.h"
#include "reglue/v1/spec.pb.h"

namespace reglue {

/// Throws SpecError where it contradicts itself, before anything of its size is made.
TaskSpec decode_spec(const v1::TaskSpec& message);

void encode_spec(const TaskSpec& spec, v1::TaskSpec& message);

}  // namespace reglue
