// A TaskSpec as C sees it, and back.
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

/// What C gave. Throws SpecError for NULL, an unknown dtype and an unknown domain; other
/// contradictions are check()'s to find.
TaskSpec task_spec_of(const reglue_spec& given);

}  // namespace reglue::c
