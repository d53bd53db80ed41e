#include "rule.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

namespace reglue::conformance {
namespace {

/// Calls `visit` with a number of the dtype's type.
template <class Visit>
void with_type(Dtype dtype, Visit visit) {
  switch (dtype) {
    case Dtype::Bool: return visit(std::uint8_t{});
    case Dtype::UInt8: return visit(std::uint8_t{});
    case Dtype::UInt16: return visit(std::uint16_t{});
    case Dtype::UInt32: return visit(std::uint32_t{});
    case Dtype::UInt64: return visit(std::uint64_t{});
    case Dtype::Int8: return visit(std::int8_t{});
    case Dtype::Int16: return visit(std::int16_t{});
    case Dtype::Int32: return visit(std::int32_t{});
    case Dtype::Int64: return visit(std::int64_t{});
    case Dtype::Float32: return visit(float{});
    case Dtype::Float64: return visit(double{});
  }
}

/// The 64 bits of an element's two draws.
std::uint64_t wide(const Memory& memory, std::uint32_t element) {
  const std::uint64_t high = memory.draw(2 * element + 1);
  return memory.draw(2 * element) + (high << 32);
}

/// Whether each element of a box lies between two finite bounds.
bool is_bounded(const TensorSpec& tensor) {
  const auto* box = std::get_if<Box>(&tensor.domain);
  if (!box || box->low.empty() || box->high.empty()) return false;
  const auto is_finite = [](double bound) { return std::isfinite(bound); };
  return std::all_of(box->low.begin(), box->low.end(), is_finite) &&
         std::all_of(box->high.begin(), box->high.end(), is_finite);
}

/// Element `i` of its tensor, which is number `element` of all.
template <class Number>
Number made(const Memory& memory, std::uint32_t element, const TensorSpec& tensor, std::size_t i,
            bool is_within_bounds) {
  if (std::holds_alternative<MultiBinary>(tensor.domain) || tensor.dtype == Dtype::Bool) {
    return static_cast<Number>(memory.draw(2 * element) % 2);
  }
  if (const auto* discrete = std::get_if<Discrete>(&tensor.domain)) {
    const auto start = static_cast<std::uint64_t>(discrete->start);  // wraps around, and back
    return static_cast<Number>(start + wide(memory, element) % discrete->n);
  }
  if (const auto* several = std::get_if<MultiDiscrete>(&tensor.domain)) {
    return static_cast<Number>(wide(memory, element) % several->n[i]);
  }
  if constexpr (std::is_integral_v<Number>) return static_cast<Number>(wide(memory, element));
  if (!is_within_bounds) return static_cast<Number>(make_real(memory, element));
  const double low = tensor.low(i), high = tensor.high(i);
  return static_cast<Number>(low + (high - low) * (memory.draw(2 * element) % 257 / 256.0));
}

}  // namespace

void Memory::take_text(std::string_view text) {
  for (const char byte : text) take_byte(static_cast<std::uint8_t>(byte));
}

void Memory::take_row(const Observations& tensors, std::size_t row) {
  for (const auto& tensor : tensors) take_rows(tensor.part(row, 1));
}

void Memory::take_rows(const BasicRows<const std::byte>& tensor) {
  with_type(tensor.spec().dtype, [&](auto number) {
    for (const auto element : tensor.as<decltype(number)>()) take(element);
  });
}

// MurmurHash3's finalizer of 32 bits (Appleby, public domain) over steps of the golden ratio.
std::uint32_t Memory::draw(std::uint32_t i) const {
  std::uint32_t z = number_ + i * 2654435769u;
  z = (z ^ (z >> 16)) * 2246822507u;
  z = (z ^ (z >> 13)) * 3266489909u;
  return z ^ (z >> 16);
}

std::string Memory::word() const {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(number_));
  return digits;
}

std::uint32_t make_row(const Memory& memory, const BasicTensors<std::byte>& tensors,
                       std::size_t row) {
  std::uint32_t first = 0;
  for (const auto& tensor : tensors) {
    const TensorSpec& spec = tensor.spec();
    with_type(spec.dtype, [&, is_within_bounds = is_bounded(spec)](auto number) {
      const auto elements = tensor.row<decltype(number)>(row);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        elements[i] = made<decltype(number)>(memory, first++, spec, i, is_within_bounds);
      }
    });
  }
  return first;
}

double make_real(const Memory& memory, std::uint32_t element) {
  return (memory.draw(2 * element) - 0x1p31) + memory.draw(2 * element + 1) % (1u << 21) / 0x1p21;
}

bool make_flag(const Memory& memory, std::uint32_t element) {
  return memory.draw(2 * element) % 2 == 1;
}

Commands::Commands(std::vector<std::string> routines) {
  for (std::string& routine : routines) counts_.emplace_back(std::move(routine), 0);
}

void Commands::count(const std::string& routine, std::uint64_t times) {
  for (auto& [name, number] : counts_) {
    if (name == routine) number += times;
  }
}

std::string Commands::answer(const std::string& message) const {
  const auto [command, argument] = parted(message, ' ');
  if (command == "counts") return counts();
  if (command == "echo") return argument;
  if (command == "sleep") {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoul(argument)));
  }
  if (command == "fail" && argument.empty()) throw ToldToFail();
  return "";
}

std::string Commands::counts() const {
  std::string json;
  for (const auto& [name, number] : counts_) {
    json += (json.empty() ? "{\"" : ", \"") + name + "\": " + std::to_string(number);
  }
  return json + "}";
}

std::pair<std::string, std::string> parted(const std::string& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace reglue::conformance
