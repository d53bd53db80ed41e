// The rule of the conformance programs: bytes go in, elements of tensors come out; and the commands
// that they answer. proto/CONFORMANCE.md describes both. All numbers wrap around at 2^32.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

/// Element number `element` of an unbounded box of float64.
double make_real(const Memory& memory, std::uint32_t element);

/// Element number `element` of a box of bool.
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

/// The failure that the kit asks for.
class ToldToFail : public std::runtime_error {
 public:
  ToldToFail() : std::runtime_error("told to fail") {}
};

/// Counts routines, and answers the commands that both programs have.
class Commands {
 public:
  explicit Commands(std::vector<std::string> routines);

  /// Counts a routine, or its rows.
  void count(const std::string& routine, std::uint64_t times = 1);

  /// Answers `counts`, `echo TEXT`, `sleep MS` and `fail`; empty for any other. Throws ToldToFail.
  std::string answer(const std::string& message) const;

 private:
  std::string counts() const;  // a JSON object

  std::vector<std::pair<std::string, std::uint64_t>> counts_;
};

/// The text up to the first `separator`, and what follows it: nothing where it is missing.
std::pair<std::string, std::string> parted(const std::string& text, char separator);

}  // namespace reglue::conformance
