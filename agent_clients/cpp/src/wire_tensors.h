// Tensors in messages: one entry of bytes each, viewed and written in place.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <string>
#include <vector>

#include "reglue/spec.h"
#include "reglue/tensors.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bytes are viewed as they travel, little-endian: this machine is not"
#endif

namespace reglue {

using Entries = google::protobuf::RepeatedPtrField<std::string>;

/// Views of `rows` rows each. Throws BadReply (WRONG_SIZE), before anything is made, unless there
/// is an entry for each tensor, of just the bytes that rows have. Bytes are moved only where
/// they do not lie as their dtype must. Both lists must outlive the views.
Observations view(const std::vector<TensorSpec>& specs, Entries& entries, std::size_t rows);

/// As view(), of one tensor's entry.
BasicRows<const std::byte> view(const TensorSpec& spec, std::string& entry, std::size_t rows);

/// Makes `entries` an entry of zeros for each tensor, of `rows` rows; views to write them by.
BasicTensors<std::byte> zeros(const std::vector<TensorSpec>& specs, Entries& entries,
                              std::size_t rows);

/// Bytes of one row of all tensors.
std::size_t row_bytes(const std::vector<TensorSpec>& specs);

/// How rewards travel beside the observations: float64, a scalar.
const TensorSpec& rewards_spec();

}  // namespace reglue
