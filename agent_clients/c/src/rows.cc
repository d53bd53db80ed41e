#include "rows.h"

namespace reglue::c {

const reglue_rows* RowsView::show(const Started& started) {
  keep(started.owner, started.slots.size());
  rows_.slots = started.slots.data();
  rows_.observations = pointers(observations_, started.observations);
  rows_.actions = pointers(actions_, started.actions);
  return &rows_;
}

const reglue_rows* RowsView::show(const Stepped& stepped) {
  keep(stepped.owner, stepped.slots.size());
  rows_.slots = stepped.slots.data();
  rows_.rewards = stepped.rewards.data();
  rows_.flags = stepped.flags.data();
  rows_.observations = pointers(observations_, stepped.observations);
  rows_.actions = pointers(actions_, stepped.actions);
  return &rows_;
}

const reglue_rows* RowsView::show(const Acted& acted) {
  keep(acted.owner, acted.actions.rows());
  rows_.actions = pointers(actions_, acted.actions);
  return &rows_;
}

void RowsView::keep(const std::shared_ptr<const void>& owner, std::size_t rows) {
  owner_ = owner;
  rows_ = {};
  rows_.count = static_cast<std::uint32_t>(rows);
}

const void* const* RowsView::pointers(std::vector<const void*>& to, const Tensors& tensors) {
  to.clear();
  for (const auto& tensor : tensors) to.push_back(tensor.bytes().data());
  return to.empty() ? nullptr : to.data();
}

}  // namespace reglue::c
