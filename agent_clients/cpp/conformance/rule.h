// The rule of the conformance programs: bytes go in, elements of tensors come out.
// proto/CONFORMANCE.md has it in prose. All of it wraps around at 2^32.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "reglue/tensors.h"

namespace reglue::conformance {

/// What has been taken in so far, as a number.
class Memory {
 public:
  explicit Memory(std::uint32_t number = 2166136261) : number_(number) {}

  std::uint32_t number() const { return number_; }

  void take_byte(std::uint8_t byte) { number_ = number_ * 16777619 + byte; }

  /// Its bytes, little-endian; those of bool and enums, too.
  template <class Number>
  void take(Number number);

  /// The bytes of a text.
  void take_text(std::string_view text);

  /// The elements of a row, of each tensor, in their order.
  void take_row(const Observations& tensors, std::size_t row);

  /// All rows of a tensor.
  void take_rows(const BasicRows<const std::byte>& tensor);

  /// Draw number i.
  std::uint32_t draw(std::uint32_t i) const;

  /// Eight hexadecimal digits.
  std::string word() const;

 private:
  std::uint32_t number_;
};

/// Makes the elements of a row, of each tensor, in their order. Returns how many there are.
std::uint32_t make_row(const Memory& memory, const BasicTensors<std::byte>& tensors,
                       std::size_t row);

/// Element number `element`, where it is of an unbounded box of float64.
double make_real(const Memory& memory, std::uint32_t element);

/// Element number `element`, where it is of a box of bool.
bool make_flag(const Memory& memory, std::uint32_t element);

template <class Number>
void Memory::take(Number number) {
  if constexpr (std::is_enum_v<Number>) {
    take(static_cast<std::underlying_type_t<Number>>(number));
  } else if constexpr (std::is_floating_point_v<Number>) {
    std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t> bits;
    static_assert(sizeof bits == sizeof number);
    std::memcpy(&bits, &number, sizeof bits);
    take(bits);
  } else {
    const auto bits = static_cast<std::uint64_t>(number);
    for (std::size_t i = 0; i < sizeof number; ++i) {
      take_byte(static_cast<std::uint8_t>(bits >> (8 * i)));
    }
  }
}

}  // namespace reglue::conformance
