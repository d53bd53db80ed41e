#include "net/reconnect.h"

#include <gtest/gtest.h>

#include <string>

namespace reglue {
namespace {

TEST(Remembered, TheLastEightAnswersAreReturnedByTheirNumber) {
  Remembered<std::string> answers;
  for (std::uint64_t seq = 1; seq <= 10; ++seq) {
    answers.next() = std::to_string(seq);
    answers.keep(seq);
  }
  EXPECT_EQ(answers.find(2), nullptr);
  ASSERT_NE(answers.find(3), nullptr);
  EXPECT_EQ(*answers.find(3), "3");
  EXPECT_EQ(*answers.find(10), "10");
  EXPECT_EQ(answers.find(11), nullptr);
}

TEST(Remembered, NothingIsAnAnswerToNoCallOrAfterItWasForgotten) {
  Remembered<std::string> answers;
  EXPECT_EQ(answers.find(0), nullptr);
  answers.keep(1);
  answers.forget();
  EXPECT_EQ(answers.find(1), nullptr);
}

}  // namespace
}  // namespace reglue
