// The numbers of proto/CONFORMANCE.md, byte by byte.
#include "rule.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "words.h"

namespace reglue::conformance {
namespace {

constexpr char kPlain[] =
    "task -Infinity Infinity 1 100 0 1 4\n"
    "observation position float64 2 box - -\n"
    "observation door_open bool - multi_binary\n"
    "action force float32 2 box -1 1\n"
    "action grip int16 - discrete 3 -1";

const TaskSpec& plain() {
  static const TaskSpec spec = spec_of_text(kPlain);
  return spec;
}

/// The memory that takes in bytes of two digits each.
Memory after(Memory memory, const std::string& bytes) {
  std::istringstream digits(bytes);
  for (unsigned byte; digits >> std::hex >> byte;) {
    memory.take_byte(static_cast<std::uint8_t>(byte));
  }
  return memory;
}

/// One row of tensors, which it stores.
struct Row {
  explicit Row(const std::vector<TensorSpec>& specs) {
    bytes.resize(specs.size());
    std::vector<BasicRows<std::byte>> rows;
    std::vector<BasicRows<const std::byte>> seen;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      bytes[i].resize(specs[i].row_bytes());
      rows.emplace_back(specs[i], bytes[i].data(), 1);
      seen.emplace_back(specs[i], bytes[i].data(), 1);
    }
    made = BasicTensors<std::byte>(rows, 1);
    observations = Observations(seen, 1);
  }

  std::vector<std::vector<std::byte>> bytes;
  BasicTensors<std::byte> made;
  Observations observations;
};

void expect_action(const Memory& memory, float first, float second, int grip) {
  Row row(plain().actions);
  EXPECT_EQ(make_row(memory, row.made, 0), 3u);
  EXPECT_EQ(row.made["force"].row<float>(0)[0], first);
  EXPECT_EQ(row.made["force"].row<float>(0)[1], second);
  EXPECT_EQ(row.made["grip"].row<std::int16_t>(0)[0], grip);
}

TEST(Rule, MakesAnAgentsSlot) {
  Memory memory = after(Memory(),
                        "03 01 ef cd ab 89 67 45 23 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
                        "f0 3f 00");
  EXPECT_EQ(memory.word(), "e4fa9b7a");
  const std::vector<std::uint32_t> draws{0x9e752c6f, 0x8db5711d, 0x805d11d4,
                                         0xeff6316b, 0x85df66e8, 0x0479b95a};
  for (std::uint32_t i = 0; i < draws.size(); ++i) EXPECT_EQ(memory.draw(i), draws[i]);
  expect_action(memory, -0.796875f, 0.25f, 0);
  memory = after(memory,
                 "02 01 02 00 00 00 00 00 00 d0 bf 00 00 00 00 00 00 d0 3f 00 00 00 00 00 00 08 40 "
                 "01");
  EXPECT_EQ(memory.word(), "4287aa42");
  expect_action(memory, 0.8671875f, -0.359375f, 1);
  memory = after(memory,
                 "01 01 02 00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 f8 3f 00 00 00 00 00 00 00 c0 "
                 "01");
  EXPECT_EQ(memory.word(), "42f2d55f");
}

TEST(Rule, TakesNumbersInAsTheirBytes) {
  Row row(plain().observations);
  row.made["position"].assign<double>({0.0, 1.0});
  Memory memory;
  memory.take_byte(3);
  memory.take_byte(1);
  memory.take(std::uint64_t{0x0123456789abcdef});
  memory.take_row(row.observations, 0);
  EXPECT_EQ(memory.word(), "e4fa9b7a");
}

TEST(Rule, MakesAnEnvironmentsSlot) {
  Memory memory;
  memory.take_text("first");
  memory.take(std::uint32_t{1});
  memory.take_byte(1);
  Memory rng;
  rng.take(std::uint64_t{41});
  rng.take(std::uint64_t{3});
  EXPECT_EQ(memory.word(), "ccd319d7");
  EXPECT_EQ(rng.word(), "65938789");

  Row row(plain().observations);
  memory.take(rng.number());
  EXPECT_EQ(memory.word(), "761a0897");
  rng = Memory(rng.draw(1));
  EXPECT_EQ(rng.word(), "394e897c");
  const std::uint32_t elements = make_row(memory, row.made, 0);
  EXPECT_EQ(row.made["position"].row<double>(0)[0], -1535929010.4019685);
  EXPECT_EQ(row.made["position"].row<double>(0)[1], 1646851483.5762348);

  memory = after(memory, "00 00 00 3f 00 00 80 bf ff ff");
  memory.take(rng.number());
  EXPECT_EQ(memory.word(), "ed87cf71");
  EXPECT_EQ(make_row(memory, row.made, 0), elements);
  EXPECT_EQ(row.made["position"].row<double>(0)[0], -457125092.72092056);
  EXPECT_EQ(row.made["door_open"].row<std::uint8_t>(0)[0], 1);
  EXPECT_EQ(make_real(memory, elements), 1916980171.7283754);
  EXPECT_FALSE(make_flag(memory, elements + 1));
}

TEST(Rule, TakesTensorsInWithAllTheirRows) {
  const std::vector<double> position{0.25, 3.0, 1.5, -2.0};
  const std::vector<std::uint8_t> door_open{1, 0};
  const auto* data = reinterpret_cast<const std::byte*>(position.data());
  const auto* doors = reinterpret_cast<const std::byte*>(door_open.data());
  Memory memory;
  memory.take_rows(BasicRows<const std::byte>(plain().observations[0], data, 2));
  memory.take_rows(BasicRows<const std::byte>(plain().observations[1], doors, 2));
  EXPECT_EQ(memory.word(), "c2a094fe");
}

TEST(Rule, LeavesBoundsAloneUnlessAllAreFinite) {
  const TaskSpec spec = spec_of_text("action half float64 2 box -1,-Infinity 1,Infinity");
  Row row(spec.actions);
  make_row(Memory(), row.made, 0);
  EXPECT_EQ(row.made[0].row<double>(0)[0], make_real(Memory(), 0));
}

TEST(SpecText, IsReadAndWritten) {
  EXPECT_EQ(spec_text(plain()), kPlain);
  const char lists[] =
      "task -1 0.10000000000000001 0.5 0 1 0 1\n"
      "observation a uint8 2,3 box 0 255\n"
      "action b uint64 2 multi_discrete 18446744073709551615,2\n"
      "action c float64 - box 4.9406564584124654e-324 1.7976931348623157e+308\n"
      "action d int64 0 multi_discrete -";
  EXPECT_EQ(spec_text(spec_of_text(lists)), lists);
}

TEST(SpecText, RefusesWhatIsNoTaskSpec) {
  EXPECT_THROW(spec_of_text("observation a float16 - box - -"), std::invalid_argument);
  EXPECT_THROW(spec_of_text("observation a"), std::invalid_argument);
  EXPECT_THROW(spec_of_text("something else"), std::invalid_argument);
}

TEST(Commands, CountsAsJson) {
  Commands commands({"init", "start"});
  commands.count("start", 3);
  EXPECT_EQ(commands.answer("counts"), R"({"init": 0, "start": 3})");
}

TEST(Commands, AreAnswered) {
  const Commands commands({});
  EXPECT_EQ(commands.answer("echo  two  spaces\nand lines"), " two  spaces\nand lines");
  EXPECT_EQ(commands.answer("echo"), "");
  EXPECT_EQ(commands.answer("fail turn"), "");
  EXPECT_THROW(commands.answer("fail"), ToldToFail);
}

}  // namespace
}  // namespace reglue::conformance
