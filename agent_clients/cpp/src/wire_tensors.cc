#include "wire_tensors.h"

#include <cstdint>

namespace reglue {

namespace {

/// More than any string holds in itself: its bytes are then where `new` puts them, which does
/// for every dtype.
constexpr std::size_t kOutside = 64;

/// The entry's bytes, moved only if they do not lie as `size` must.
std::byte* aligned(std::string& entry, std::size_t size) {
  if (reinterpret_cast<std::uintptr_t>(entry.data()) % size != 0) entry.reserve(kOutside);
  return reinterpret_cast<std::byte*>(entry.data());
}

}  // namespace

Observations view(const std::vector<TensorSpec>& specs, Entries& entries, std::size_t rows) {
  if (static_cast<std::size_t>(entries.size()) != specs.size()) {
    throw BadReply("WRONG_SIZE", std::to_string(entries.size()) + " tensors",
                   std::to_string(specs.size()));
  }
  std::vector<BasicRows<const std::byte>> views;
  views.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    views.push_back(view(specs[i], *entries.Mutable(static_cast<int>(i)), rows));
  }
  return {std::move(views), rows};
}

BasicRows<const std::byte> view(const TensorSpec& spec, std::string& entry, std::size_t rows) {
  if (entry.size() != rows * spec.row_bytes()) {
    detail::throw_wrong_size(spec, entry.size(), rows);
  }
  return {spec, aligned(entry, size_of(spec.dtype)), rows};
}

BasicTensors<std::byte> zeros(const std::vector<TensorSpec>& specs, Entries& entries,
                              std::size_t rows) {
  std::vector<BasicRows<std::byte>> views;
  views.reserve(specs.size());
  while (static_cast<std::size_t>(entries.size()) > specs.size()) entries.RemoveLast();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const int index = static_cast<int>(i);
    std::string& entry = index < entries.size() ? *entries.Mutable(index) : *entries.Add();
    entry.assign(rows * specs[i].row_bytes(), '\0');
    views.emplace_back(specs[i], aligned(entry, size_of(specs[i].dtype)), rows);
  }
  return {std::move(views), rows};
}

std::size_t row_bytes(const std::vector<TensorSpec>& specs) {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : specs) bytes += spec.row_bytes();
  return bytes;
}

const TensorSpec& rewards_spec() {
  static const TensorSpec spec{"rewards", Dtype::Float64, {}, Box{}};
  return spec;
}

}  // namespace reglue
