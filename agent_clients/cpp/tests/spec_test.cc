#include "reglue/spec.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>

#include "readme.h"
#include "wire/wire.h"

namespace reglue {
namespace {

v1::TaskSpec message_of(const std::string& text) {
  v1::TaskSpec message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

const std::string kAction = " actions { name: 'a' dtype: DTYPE_FLOAT32 box {} } slots: 1 ";

std::string observation(const std::string& text) {
  return "observations { " + text + " }" + kAction;
}

TEST(Spec, OfTheProtocolsExampleIsReadAndWritten) {
  const v1::TaskSpec message = message_of(tests::block("textproto spec"));
  const TaskSpec spec = decode_spec(message);
  ASSERT_EQ(spec.observations.size(), 2U);
  EXPECT_EQ(spec.observations[0].name, "position");
  EXPECT_EQ(spec.observations[0].row_bytes(), 16U);
  EXPECT_EQ(spec.observations[0].low(1), -INFINITY);
  EXPECT_EQ(spec.observations[1].dtype, Dtype::Bool);
  EXPECT_EQ(spec.actions[0].high(1), 1.0);
  EXPECT_EQ(std::get<Discrete>(spec.actions[1].domain).start, -1);
  EXPECT_EQ(spec.horizon, 100U);
  EXPECT_EQ(spec.slots, 4U);
  v1::TaskSpec again;
  encode_spec(spec, again);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(message, again));
}

TEST(Spec, TheRestOfTheTaskIsReadAndWritten) {
  const TaskSpec spec = decode_spec(
      message_of(observation("name: 'o' dtype: DTYPE_INT8 box {}") + "extra: 'by a Größe'"));
  EXPECT_EQ(spec.extra, "by a Größe");
  v1::TaskSpec again;
  encode_spec(spec, again);
  EXPECT_EQ(again.extra(), spec.extra);
}

TEST(Spec, ASizeOfZeroMakesAnEmptyTensor) {
  const TaskSpec spec = decode_spec(
      message_of(observation("name: 'o' dtype: DTYPE_INT8 shape: 3 shape: 0 multi_discrete {}")));
  EXPECT_EQ(spec.observations[0].row_bytes(), 0U);
}

class BadSpec : public ::testing::TestWithParam<std::string> {};

TEST_P(BadSpec, IsRefused) { EXPECT_THROW(decode_spec(message_of(GetParam())), SpecError); }

INSTANTIATE_TEST_SUITE_P(
    All, BadSpec,
    ::testing::Values(
        "", kAction, observation("name: 'o' box {}"), observation("name: 'o' dtype: DTYPE_FLOAT32"),
        observation("dtype: DTYPE_FLOAT32 box {}"), observation("name: 'o' dtype: 99 box {}"),
        observation("name: 'o' dtype: DTYPE_INT8 shape: 4294967295 shape: 4294967295 "
                    "shape: 4294967295 box {}"),
        observation("name: 'o' dtype: DTYPE_INT8 shape: 67108865 box {}"),
        observation("name: 'o' dtype: DTYPE_INT8 shape: 0 shape: 67108865 box {}"),
        observation("name: 'o' dtype: DTYPE_FLOAT32 shape: 3 box { low: 1 low: 2 }"),
        observation("name: 'o' dtype: DTYPE_FLOAT32 box { low: 1 high: 0 }"),
        observation("name: 'o' dtype: DTYPE_FLOAT32 shape: 2 box { low: 1 high: 2 high: 0 }"),
        observation("name: 'o' dtype: DTYPE_FLOAT32 box { low: nan }"),
        observation("name: 'o' dtype: DTYPE_FLOAT32 discrete { n: 2 }"),
        observation("name: 'o' dtype: DTYPE_INT8 discrete {}"),
        observation("name: 'o' dtype: DTYPE_INT8 shape: 2 multi_discrete { n: 2 }"),
        observation("name: 'o' dtype: DTYPE_INT8 shape: 2 multi_discrete { n: 2 n: 0 }"),
        "observations { name: 'o' dtype: DTYPE_INT8 box {} } "
        "observations { name: 'o' dtype: DTYPE_INT8 box {} }" +
            kAction,
        observation("name: 'o' dtype: DTYPE_INT8 box {}") + "discount: 1.5",
        observation("name: 'o' dtype: DTYPE_INT8 box {}") + "discount: nan"));

TEST(Spec, NoSlotsAreRefused) {
  v1::TaskSpec message = message_of(observation("name: 'o' dtype: DTYPE_INT8 box {}"));
  message.set_slots(0);
  EXPECT_THROW(decode_spec(message), SpecError);
}

TEST(Spec, AHugeShapeIsRefusedWithTheLimit) {
  try {
    decode_spec(message_of(observation("name: 'o' dtype: DTYPE_INT8 shape: 67108865 box {}")));
    FAIL();
  } catch (const SpecError& error) {
    EXPECT_STREQ(error.what(),
                 "o: got shape [67108865], wanted at most 63 axes and 67108864 elements");
  }
}

}  // namespace
}  // namespace reglue
