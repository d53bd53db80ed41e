// A TaskSpec as C sees it.
#pragma once

#include <vector>

#include "reglue.h"
#include "reglue/spec.h"

namespace reglue::c {

/// Holds what its reglue_spec points at, but for what belongs to the TaskSpec, which must
/// outlive it.
class SpecView {
 public:
  explicit SpecView(const TaskSpec& spec);
  SpecView(SpecView&&) = default;
  SpecView& operator=(SpecView&&) = default;

  const reglue_spec* get() const { return &spec_; }

 private:
  std::vector<reglue_tensor> observations_, actions_;
  reglue_spec spec_{};
};

}  // namespace reglue::c
