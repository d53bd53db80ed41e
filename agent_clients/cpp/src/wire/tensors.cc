#include "reglue/tensors.h"

#include <cmath>

namespace reglue::detail {

namespace {

char kind_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::Float32:
    case Dtype::Float64: return 'f';
    case Dtype::Int8:
    case Dtype::Int16:
    case Dtype::Int32:
    case Dtype::Int64: return 'i';
    default: return 'u';
  }
}

template <class T>
double loaded(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return static_cast<double>(value);
}

template <class T>
void store(std::byte* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

/// As far as T holds it: its largest number plus one is a double, its largest may be none.
template <class T>
void store_whole(const TensorSpec& spec, std::byte* element, double number, double most) {
  const double least = std::is_signed_v<T> ? -most : 0.0;
  if (!(number >= least && number < most) || number != std::trunc(number)) {
    throw UsageError(spec.name + ": got " + std::to_string(number) +
                     ", wanted a number that is the same in " + name_of(spec.dtype));
  }
  store(element, static_cast<T>(number));
}

template <class T>
void store_whole(const TensorSpec& spec, std::byte* element, double number) {
  store_whole<T>(spec, element, number, std::ldexp(1.0, std::numeric_limits<T>::digits));
}

}  // namespace

void check_type(const TensorSpec& spec, char kind, std::size_t size) {
  if (kind == kind_of(spec.dtype) && size == size_of(spec.dtype)) return;
  throw UsageError(spec.name + ": got elements of " +
                   (kind == 'f'   ? "float"
                    : kind == 'i' ? "int"
                                  : "uint") +
                   std::to_string(8 * size) + ", wanted " + name_of(spec.dtype) +
                   (spec.dtype == Dtype::Bool ? ", which is std::uint8_t here" : ""));
}

void throw_none(const TensorSpec& spec, const char* what, std::size_t got, std::size_t there_are) {
  throw UsageError(spec.name + ": got " + what + " " + std::to_string(got) + ", wanted one of " +
                   std::to_string(there_are));
}

void throw_wrong_size(const TensorSpec& spec, std::size_t bytes, std::size_t rows) {
  std::string shape;
  for (const std::uint32_t size : spec.shape) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  }
  throw BadReply("WRONG_SIZE", std::to_string(bytes) + " bytes of '" + spec.name + "'",
                 std::to_string(rows * spec.row_bytes()) + " bytes: " + std::to_string(rows) +
                     " rows of " + name_of(spec.dtype) + "[" + shape + "]");
}

double number_at(const TensorSpec& spec, const std::byte* element) {
  switch (spec.dtype) {
    case Dtype::Bool:
    case Dtype::UInt8: return loaded<std::uint8_t>(element);
    case Dtype::UInt16: return loaded<std::uint16_t>(element);
    case Dtype::UInt32: return loaded<std::uint32_t>(element);
    case Dtype::UInt64: return loaded<std::uint64_t>(element);
    case Dtype::Int8: return loaded<std::int8_t>(element);
    case Dtype::Int16: return loaded<std::int16_t>(element);
    case Dtype::Int32: return loaded<std::int32_t>(element);
    case Dtype::Int64: return loaded<std::int64_t>(element);
    case Dtype::Float32: return loaded<float>(element);
    case Dtype::Float64: return loaded<double>(element);
  }
  throw SpecError(spec.name + ": unknown dtype");
}

void set_number(const TensorSpec& spec, std::byte* element, double number) {
  switch (spec.dtype) {
    case Dtype::Bool: return store_whole<std::uint8_t>(spec, element, number, 2.0);
    case Dtype::UInt8: return store_whole<std::uint8_t>(spec, element, number);
    case Dtype::UInt16: return store_whole<std::uint16_t>(spec, element, number);
    case Dtype::UInt32: return store_whole<std::uint32_t>(spec, element, number);
    case Dtype::UInt64: return store_whole<std::uint64_t>(spec, element, number);
    case Dtype::Int8: return store_whole<std::int8_t>(spec, element, number);
    case Dtype::Int16: return store_whole<std::int16_t>(spec, element, number);
    case Dtype::Int32: return store_whole<std::int32_t>(spec, element, number);
    case Dtype::Int64: return store_whole<std::int64_t>(spec, element, number);
    case Dtype::Float32: return store(element, static_cast<float>(number));
    case Dtype::Float64: return store(element, number);
  }
}

}  // namespace reglue::detail
