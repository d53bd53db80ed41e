// Rows that a benchmark program fills in, or that are put together for it.
#include "reglue/experiment.h"

namespace reglue {
namespace {

constexpr std::size_t kAligned = 8;  // bytes: the largest element

std::size_t room(const TensorSpec& tensor, std::size_t rows) {
  return (rows * tensor.row_bytes() + kAligned - 1) / kAligned * kAligned;
}

}  // namespace

FilledRows::FilledRows(std::shared_ptr<const TaskSpec> spec,
                       const std::vector<TensorSpec>& tensors, std::size_t rows)
    : spec_(std::move(spec)) {
  std::size_t bytes = 0;
  for (const TensorSpec& tensor : tensors) bytes += room(tensor, rows);
  bytes_ = std::shared_ptr<std::byte[]>(new std::byte[bytes]());
  std::vector<BasicRows<std::byte>> written;
  std::vector<BasicRows<const std::byte>> shown;
  std::byte* at = bytes_.get();
  for (const TensorSpec& tensor : tensors) {
    written.emplace_back(tensor, at, rows);
    shown.emplace_back(tensor, at, rows);
    at += room(tensor, rows);
  }
  written_ = {std::move(written), rows};
  shown_ = {std::move(shown), rows};
}

}  // namespace reglue
