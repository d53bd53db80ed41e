// A view of contiguous elements, like C++20's std::span.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace reglue {

/// A view of contiguous elements, like C++20's std::span.
template <class T>
class Span {
 public:
  /// Type of an element.
  using value_type = std::remove_cv_t<T>;

  /// No elements, or `size` of them from `data` on.
  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}

  /// All of a vector, an array or another span; it must outlive the view.
  template <class Many, class = std::enable_if_t<
                            std::is_convertible_v<decltype(std::declval<Many&>().data()), T*>>>
  constexpr Span(Many&& many) : data_(many.data()), size_(many.size()) {}  // NOLINT: implicit

  /// The first element.
  constexpr T* data() const { return data_; }
  /// How many elements.
  constexpr std::size_t size() const { return size_; }
  /// True if there is no element.
  constexpr bool empty() const { return size_ == 0; }
  /// For loops over the elements.
  constexpr T* begin() const { return data_; }
  /// Behind the last element.
  constexpr T* end() const { return data_ + size_; }

  /// Throws std::out_of_range for an unknown element, unless the program is compiled with NDEBUG,
  /// as CMake's Release is. Always inlined, or the library's copy might be the program's too.
  [[gnu::always_inline]] constexpr T& operator[](std::size_t index) const {
#ifndef NDEBUG
    if (index >= size_) {
      throw std::out_of_range("got element " + std::to_string(index) + " of a span of " +
                              std::to_string(size_));
    }
#endif
    return data_[index];
  }

  /// `count` elements from `first` on. Throws std::out_of_range.
  constexpr Span subspan(std::size_t first, std::size_t count) const {
    if (first > size_ || count > size_ - first) {
      throw std::out_of_range("got elements " + std::to_string(first) + " to " +
                              std::to_string(first + count) + ", wanted some of " +
                              std::to_string(size_));
    }
    return {data_ + first, count};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace reglue
