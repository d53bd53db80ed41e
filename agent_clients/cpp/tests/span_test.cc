#undef NDEBUG  // what is tested is left out of Release builds

#include "reglue/span.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reglue {
namespace {

TEST(Span, AnElementBeyondItsEndIsRefusedInDebugBuilds) {
  std::vector<float> numbers{1, 2, 3, 4};
  const Span<float> row = Span<float>(numbers).subspan(0, 2);
  row[1] = 5;
  EXPECT_EQ(numbers[1], 5);
  try {
    row[2] = 6;
    FAIL();
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "got element 2 of a span of 2");
  }
  EXPECT_EQ(numbers[2], 3);
}

}  // namespace
}  // namespace reglue
