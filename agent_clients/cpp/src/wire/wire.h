// Specs, tensors and turns from and to their messages. Most messages hold tensors and turns, so
// these are viewed and written in place.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <string>
#include <vector>

#include "reglue/spec.h"
#include "reglue/tensors.h"
#include "reglue/turn.h"
#include "reglue/v1/agent.pb.h"
#include "reglue/v1/spec.pb.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bytes are viewed as they travel, little-endian: this machine is not"
#endif

namespace reglue {

/// Throws SpecError if it contradicts itself, before allocating anything of its size.
TaskSpec decode_spec(const v1::TaskSpec& message);

void encode_spec(const TaskSpec& spec, v1::TaskSpec& message);

using Entries = google::protobuf::RepeatedPtrField<std::string>;

/// Views of `rows` rows each. Throws BadReply (WRONG_SIZE), before allocating anything, unless
/// there is one entry for each tensor with the rows' bytes. Copies bytes only if they are not
/// aligned for their dtype. Both lists must outlive the views.
Observations view(const std::vector<TensorSpec>& specs, Entries& entries, std::size_t rows);

/// As view(), of one tensor's entry.
BasicRows<const std::byte> view(const TensorSpec& spec, std::string& entry, std::size_t rows);

/// Fills `entries` with `rows` rows of zeros for each tensor; returns writable views.
BasicTensors<std::byte> zeros(const std::vector<TensorSpec>& specs, Entries& entries,
                              std::size_t rows);

/// Bytes of one row of all tensors.
std::size_t row_bytes(const std::vector<TensorSpec>& specs);

/// The rewards' entry: float64, a scalar.
const TensorSpec& rewards_spec();

/// Memory for what a Turn cannot view in the message itself.
struct TurnBuffers {
  std::vector<EndKind> kinds;
  std::vector<std::uint8_t> flags;
  std::vector<double> withheld;
};

/// Views of `message` and `buffers`, which must outlive them. Throws BadReply if the
/// turn does not fit the task, or its answer would be larger than `max_message_bytes`, before
/// allocating anything of its size.
Turn decode_turn(v1::Turn& message, const TaskSpec& spec, TurnBuffers& buffers,
                 std::size_t max_message_bytes);

}  // namespace reglue
