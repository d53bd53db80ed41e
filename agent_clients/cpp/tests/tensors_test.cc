#include "reglue/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "reglue/turn.h"
#include "wire/wire.h"

namespace reglue {
namespace {

TensorSpec tensor(Dtype dtype, std::vector<std::uint32_t> shape = {}) {
  return {"t", dtype, std::move(shape), Box{}};
}

struct Written {
  explicit Written(std::vector<TensorSpec> tensors, std::size_t rows = 1)
      : specs(std::move(tensors)), views(zeros(specs, entries, rows)) {}
  std::vector<TensorSpec> specs;
  Entries entries;
  BasicTensors<std::byte> views;
};

TEST(Rows, AreViewsOfTheMessage) {
  Written written({tensor(Dtype::Float32, {3})}, 2);
  written.views[0].row<float>(1)[2] = 1.5F;
  EXPECT_EQ(written.entries[0].size(), 24U);
  EXPECT_EQ(written.entries[0].substr(20), std::string("\0\0\xC0\x3F", 4));
  EXPECT_EQ(static_cast<const void*>(written.views[0].as<float>().data()),
            written.entries[0].data());
}

TEST(Rows, HaveIndicesOfAnyIntegerType) {
  Written written({tensor(Dtype::Float32), tensor(Dtype::Bool)});
  const auto dtype = [&](auto place) { return written.views[place].spec().dtype; };
  EXPECT_EQ(dtype(1), Dtype::Bool);
  EXPECT_EQ(dtype(1U), Dtype::Bool);
  EXPECT_EQ(dtype(1L), Dtype::Bool);
  EXPECT_EQ(dtype(std::size_t{1}), Dtype::Bool);
  EXPECT_EQ(dtype(std::uint8_t{1}), Dtype::Bool);
  enum class Place { Force, Brake };
  EXPECT_EQ(dtype(Place::Brake), Dtype::Bool);
  EXPECT_EQ(written.views[0].spec().dtype, Dtype::Float32);
  EXPECT_THROW(written.views[-1], UsageError);
}

TEST(Rows, AnotherTypeIsRefused) {
  Written written({tensor(Dtype::Float32), tensor(Dtype::Bool)});
  EXPECT_THROW(written.views[0].as<double>(), UsageError);
  EXPECT_THROW(written.views[0].as<std::int32_t>(), UsageError);
  EXPECT_THROW(written.views[1].as<std::int8_t>(), UsageError);
  EXPECT_EQ(written.views[1].as<std::uint8_t>().size(), 1U);
}

TEST(Rows, AnUnknownRowOrElementIsRefused) {
  Written written({tensor(Dtype::Float32, {3})}, 2);
  EXPECT_THROW(written.views[0].row<float>(2), UsageError);
  EXPECT_THROW(written.views[0].number(0, 3), UsageError);
  EXPECT_THROW(written.views[0].set(2, 0, 1.0), UsageError);
  EXPECT_THROW(written.views.part(1, 2), UsageError);
  EXPECT_THROW(written.views["u"], UsageError);
  EXPECT_THROW(written.views[1], UsageError);
}

TEST(Rows, OfAWrongNumberAreRefusedWithGotAndWanted) {
  Written written({tensor(Dtype::Float32, {3})}, 2);
  try {
    written.views[0].assign(std::vector<float>(5));
    FAIL();
  } catch (const BadReply& error) {
    EXPECT_EQ(error.code, "WRONG_SIZE");
    EXPECT_STREQ(error.what(), "got 20 bytes of 't', wanted 24 bytes: 2 rows of float32[3]");
  }
  written.views[0].assign(std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(written.views[0].number(1, 2), 6.0);
}

TEST(Rows, NumbersOfEveryDtypeComeBack) {
  for (int dtype = 1; dtype <= 11; ++dtype) {
    Written written({tensor(static_cast<Dtype>(dtype), {2})}, 2);
    written.views[0].set(1, 1, 1.0);
    EXPECT_EQ(written.views[0].number(1, 1), 1.0);
    EXPECT_EQ(written.views[0].number(1, 0), 0.0);
  }
}

struct Bad {
  Dtype dtype;
  double number;
};
class NumberThatDoesNotFit : public ::testing::TestWithParam<Bad> {};

TEST_P(NumberThatDoesNotFit, IsNotWrappedAround) {
  Written written({tensor(GetParam().dtype)});
  EXPECT_THROW(written.views[0].set(0, 0, GetParam().number), UsageError);
  EXPECT_EQ(written.views[0].number(0), 0.0);
}

INSTANTIATE_TEST_SUITE_P(
    All, NumberThatDoesNotFit,
    ::testing::Values(Bad{Dtype::Bool, 2}, Bad{Dtype::UInt8, 256}, Bad{Dtype::UInt8, -1},
                      Bad{Dtype::Int8, 128}, Bad{Dtype::Int8, -129}, Bad{Dtype::Int8, 0.5},
                      Bad{Dtype::Int16, NAN}, Bad{Dtype::UInt64, std::ldexp(1.0, 64)},
                      Bad{Dtype::Int64, std::ldexp(1.0, 63)}, Bad{Dtype::Int64, INFINITY}));

TEST(Rows, TheLeastAndGreatestWholeNumbersFit) {
  Written written({tensor(Dtype::Int8), tensor(Dtype::Int64)});
  written.views[0].set(0, 0, -128);
  written.views[0].set(0, 0, 127);
  written.views[1].set(0, 0, -std::ldexp(1.0, 63));
  EXPECT_EQ(written.views[1].as<std::int64_t>()[0], INT64_MIN);
}

TEST(Rows, LieAsTheirDtypeMustHoweverSmallTheyAre) {
  for (std::size_t rows = 0; rows < 20; ++rows) {
    Written written({tensor(Dtype::UInt8), tensor(Dtype::Float64), tensor(Dtype::Int16)}, rows);
    for (const auto& each : written.views) {
      const auto place = reinterpret_cast<std::uintptr_t>(each.bytes().data());
      EXPECT_EQ(place % size_of(each.spec().dtype), 0U);
    }
  }
}

TEST(Views, AreRefusedUnlessTheBytesAreJustThoseOfTheRows) {
  const std::vector<TensorSpec> specs{tensor(Dtype::Float64, {2})};
  Entries entries;
  EXPECT_THROW(view(specs, entries, 0), BadReply);
  *entries.Add() = std::string(31, '\0');
  EXPECT_THROW(view(specs, entries, 2), BadReply);
  entries.Mutable(0)->push_back('\0');
  EXPECT_EQ(view(specs, entries, 2)[0].rows(), 2U);
  entries.Mutable(0)->push_back('\0');
  EXPECT_THROW(view(specs, entries, 2), BadReply);
  entries.Mutable(0)->pop_back();
  entries.Add();
  EXPECT_THROW(view(specs, entries, 2), BadReply);
}

TEST(Zeros, AreZerosAlsoWhereAnAnswerWasBefore) {
  const std::vector<TensorSpec> specs{tensor(Dtype::UInt8, {4})};
  Entries entries;
  zeros(specs, entries, 3)[0].set(2, 3, 9);
  const auto again = zeros(specs, entries, 2);
  EXPECT_EQ(entries[0], std::string(8, '\0'));
  EXPECT_EQ(again[0].rows(), 2U);
}

}  // namespace
}  // namespace reglue
