/// \file
/// Rows of a tensor, one a slot: typed views of bytes as they travel. Nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reglue/export.h"
#include "reglue/span.h"
#include "reglue/spec.h"

namespace reglue {

namespace detail {
/// Throws UsageError unless the tensor's elements have that kind and size.
REGLUE_API void check_type(const TensorSpec& spec, char kind, std::size_t size);
/// `what` is a row or an element.
[[noreturn]] REGLUE_API void throw_none(const TensorSpec& spec, const char* what, std::size_t got,
                                        std::size_t there_are);
[[noreturn]] REGLUE_API void throw_wrong_size(const TensorSpec& spec, std::size_t bytes,
                                              std::size_t rows);
template <class T>
constexpr char kind_of() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "elements are numbers; those of bool are std::uint8_t, 0 or 1");
  return std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
}
REGLUE_API double number_at(const TensorSpec& spec, const std::byte* element);
REGLUE_API void set_number(const TensorSpec& spec, std::byte* element, double number);
}  // namespace detail

/// Rows of one tensor, `(rows, *spec().shape)`, row-major. `Byte` is `const std::byte` for
/// observations and `std::byte` for actions. Valid as long as the call that it came with.
template <class Byte>
class BasicRows {
 public:
  /// `T`, which is const for observations.
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  /// Of `rows * spec.row_bytes()` bytes from `data` on; the spec must outlive it.
  BasicRows(const TensorSpec& spec, Byte* data, std::size_t rows)
      : spec_(&spec), data_(data), rows_(rows), row_bytes_(spec.row_bytes()) {}

  /// Dtype, shape and domain of a row.
  const TensorSpec& spec() const { return *spec_; }
  /// How many rows.
  std::size_t rows() const { return rows_; }

  /// All bytes: row-major, little-endian, aligned for the dtype.
  Span<Byte> bytes() const { return {data_, rows_ * row_bytes_}; }

  /// All elements. Throws UsageError unless `T` is the dtype's; bool's is std::uint8_t.
  template <class T>
  Span<Element<T>> as() const {
    detail::check_type(*spec_, detail::kind_of<T>(), sizeof(T));
    return {reinterpret_cast<Element<T>*>(data_), rows_ * row_bytes_ / sizeof(T)};
  }

  /// The elements of one row. Throws UsageError as `as`, and for an unknown row.
  template <class T>
  Span<Element<T>> row(std::size_t row) const {
    detail::check_type(*spec_, detail::kind_of<T>(), sizeof(T));
    return {reinterpret_cast<Element<T>*>(at(row)), row_bytes_ / sizeof(T)};
  }

  /// One element of any dtype as a double. Throws UsageError for an unknown element.
  double number(std::size_t row, std::size_t element = 0) const {
    return detail::number_at(*spec_, at(row, element));
  }

  /// Writes one element of any dtype. Throws UsageError for an unknown element, and for a number
  /// that an integer dtype cannot hold: nothing wraps around.
  void set(std::size_t row, std::size_t element, double number) const {
    detail::set_number(*spec_, at(row, element), number);
  }

  /// Copies all rows in. Throws BadReply (WRONG_SIZE) unless there are just as many bytes, and
  /// UsageError unless `T` is the dtype's.
  template <class T>
  void assign(Span<const T> elements) const {
    detail::check_type(*spec_, detail::kind_of<T>(), sizeof(T));
    assign_bytes(
        {reinterpret_cast<const std::byte*>(elements.data()), elements.size() * sizeof(T)});
  }
  template <class T>
  void assign(const std::vector<T>& elements) const {
    assign(Span<const T>(elements));
  }

  /// Copies all rows in. Throws BadReply (WRONG_SIZE) unless there are just as many bytes.
  void assign_bytes(Span<const std::byte> bytes) const {
    if (bytes.size() != rows_ * row_bytes_) {
      detail::throw_wrong_size(*spec_, bytes.size(), rows_);
    }
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }

  /// `count` rows from `first` on.
  BasicRows part(std::size_t first, std::size_t count) const {
    if (first > rows_ || count > rows_ - first) {
      detail::throw_none(*spec_, "rows up to", first + count, rows_);
    }
    return {*spec_, data_ + first * row_bytes_, count};
  }

 private:
  Byte* at(std::size_t row) const {
    if (row >= rows_) detail::throw_none(*spec_, "row", row, rows_);
    return data_ + row * row_bytes_;
  }
  Byte* at(std::size_t row, std::size_t element) const {
    const std::size_t size = size_of(spec_->dtype), there_are = row_bytes_ / size;
    if (element >= there_are) detail::throw_none(*spec_, "element", element, there_are);
    return at(row) + element * size;
  }

  const TensorSpec* spec_;
  Byte* data_;
  std::size_t rows_, row_bytes_;
};

/// Tensors by their place in the TaskSpec or by name, all with the same rows.
template <class Byte>
class BasicTensors {
 public:
  /// One of the tensors.
  using Rows = BasicRows<Byte>;

  /// `tensors` in the order of the TaskSpec, of `rows` rows each.
  BasicTensors() = default;
  BasicTensors(std::vector<Rows> tensors, std::size_t rows)
      : tensors_(std::move(tensors)), rows_(rows) {}

  /// How many rows each has.
  std::size_t rows() const { return rows_; }
  /// How many tensors.
  std::size_t size() const { return tensors_.size(); }
  /// For loops over the tensors.
  auto begin() const { return tensors_.begin(); }
  /// Behind the last tensor.
  auto end() const { return tensors_.end(); }

  /// By its place, of any integer or enumeration type, or by its name. Throws UsageError for an
  /// unknown tensor.
  template <class Index,
            class = std::enable_if_t<std::is_integral_v<Index> || std::is_enum_v<Index>>>
  const Rows& operator[](Index index) const {
    // A negative one is too large as well.
    if (static_cast<std::size_t>(index) >= tensors_.size()) {
      throw_none(std::to_string(static_cast<std::int64_t>(index)));
    }
    return tensors_[static_cast<std::size_t>(index)];
  }
  const Rows& operator[](std::string_view name) const {
    for (const Rows& tensor : tensors_) {
      if (tensor.spec().name == name) return tensor;
    }
    throw_none(std::string(name));
  }
  const Rows& operator[](const char* name) const { return (*this)[std::string_view(name)]; }

  /// `count` rows from `first` on, of every tensor.
  BasicTensors part(std::size_t first, std::size_t count) const {
    std::vector<Rows> parts;
    parts.reserve(tensors_.size());
    for (const Rows& tensor : tensors_) parts.push_back(tensor.part(first, count));
    return {std::move(parts), count};
  }

 private:
  [[noreturn]] void throw_none(const std::string& got) const {
    std::string known;
    for (const Rows& tensor : tensors_) known += (known.empty() ? "" : ", ") + tensor.spec().name;
    throw UsageError("there is no tensor " + got + "; known: " + known);
  }

  std::vector<Rows> tensors_;
  std::size_t rows_ = 0;
};

/// What agents see, to be read: one tensor for each of TaskSpec.observations.
using Observations = BasicTensors<const std::byte>;

}  // namespace reglue
