// A TaskSpec as C sees it, and back.
#pragma once

#include <vector>

#include "reglue.h"
#include "reglue/spec.h"

namespace reglue::c {

/// Holds what its reglue_spec points at.
class SpecView {
 public:
  explicit SpecView(TaskSpec spec);
  SpecView(const SpecView&) = delete;
  SpecView& operator=(const SpecView&) = delete;

  const reglue_spec* get() const { return &spec_; }

 private:
  const TaskSpec task_;
  std::vector<reglue_tensor> observations_, actions_;
  reglue_spec spec_{};
};

/// What C gave. Throws SpecError for NULL, an unknown dtype and an unknown domain; other
/// contradictions are check()'s to find.
TaskSpec task_spec_of(const reglue_spec& from);

}  // namespace reglue::c
