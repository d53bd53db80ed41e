// Rows of a routine's answer, as C sees them.
#pragma once

#include <memory>
#include <vector>

#include "reglue.h"
#include "reglue/experiment.h"

namespace reglue::c {

/// Keeps the last answer that it was shown.
class RowsView {
 public:
  const reglue_rows* show(const Started& started);
  const reglue_rows* show(const Stepped& stepped);
  const reglue_rows* show(const Acted& acted);

 private:
  using Tensors = BasicTensors<const std::byte>;

  /// Clears the view, and keeps `kept` alive.
  void keep(const std::shared_ptr<const void>& kept, std::size_t rows);
  const void* const* pointers(std::vector<const void*>& to, const Tensors& tensors);

  std::shared_ptr<const void> kept_;
  std::vector<const void*> observations_, actions_;
  reglue_rows rows_{};
};

}  // namespace reglue::c
