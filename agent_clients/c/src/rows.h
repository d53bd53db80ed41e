// Rows of a routine's answer, as C sees them.
#pragma once

#include <memory>
#include <vector>

#include "reglue.h"
#include "reglue/experiment.h"

namespace reglue::c {

/// A C view of the last answer, which it keeps alive.
class RowsView {
 public:
  const reglue_rows* show(const Started& started);
  const reglue_rows* show(const Stepped& stepped);
  const reglue_rows* show(const Acted& acted);

 private:
  using Tensors = BasicTensors<const std::byte>;

  /// Clears the view, and keeps `owner` alive.
  void keep(const std::shared_ptr<const void>& owner, std::size_t rows);
  const void* const* pointers(std::vector<const void*>& to, const Tensors& tensors);

  std::shared_ptr<const void> owner_;
  std::vector<const void*> observations_, actions_;
  reglue_rows rows_{};
};

}  // namespace reglue::c
