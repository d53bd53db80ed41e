// Reads tests/reglue/chance_vectors.json: the same numbers in every language.
#include "reglue/chance.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "reglue/errors.h"

namespace reglue {
namespace {

using nlohmann::json;

const json& vectors(const char* kind) {
  static const json all = json::parse(
      std::ifstream(REGLUE_PROTO_DIR "/../tests/reglue/chance_vectors.json"));
  return all.at(kind);
}

std::uint64_t whole(const json& hexadecimal) {
  return std::stoull(hexadecimal.get<std::string>(), nullptr, 16);
}

Chance chance_of(const json& vector) {
  return Chance(whole(vector["seed"]), whole(vector["episode"]), whole(vector["drawn"]));
}

std::string bytes_of(const json& hexadecimal) {
  const auto digits = hexadecimal.get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

double real(const json& hexadecimal) {
  double number;
  std::memcpy(&number, bytes_of(hexadecimal).data(), sizeof number);
  return number;
}

template <std::size_t N>
std::array<std::uint64_t, N> words_of(const json& list) {
  std::array<std::uint64_t, N> words;
  for (std::size_t i = 0; i < N; ++i) words[i] = whole(list.at(i));
  return words;
}

TEST(Chance, MakesThePublishedBlocks) {
  for (const json& vector : vectors("blocks")) {
    EXPECT_EQ(philox(words_of<4>(vector["counter"]), words_of<2>(vector["key"])),
              words_of<4>(vector["block"]));
  }
}

TEST(Chance, DrawsWordsOneAfterAnother) {
  for (const json& vector : vectors("words")) {
    Chance chance = chance_of(vector);
    for (const json& word : vector["words"]) EXPECT_EQ(chance.word(), whole(word)) << vector;
  }
}

TEST(Chance, DrawsUniformNumbersToTheBit) {
  for (const json& vector : vectors("uniforms")) {
    Chance chance = chance_of(vector);
    for (const json& wanted : vector["float64"]) {
      EXPECT_EQ(chance.uniform(real(vector["low_bits"]), real(vector["high_bits"])), real(wanted))
          << vector;
    }
  }
}

TEST(Chance, DrawsWholeNumbersBelowAnother) {
  for (const json& vector : vectors("below")) {
    const bool is_any_word = vector["n"].get<std::string>().size() > 16;  // n is 2^64
    Chance chance = chance_of(vector);
    for (const json& number : vector["numbers"]) {
      EXPECT_EQ(is_any_word ? chance.word() : chance.below(whole(vector["n"])), whole(number))
          << vector;
    }
    const Chance after(whole(vector["seed"]), whole(vector["episode"]),
                       whole(vector["drawn_after"]));
    EXPECT_EQ(chance.to_bytes(), after.to_bytes()) << vector;
  }
}

TEST(Chance, GoesOnFromWhereItStood) {
  for (const json& vector : vectors("positions")) {
    EXPECT_EQ(chance_of(vector).to_bytes(), bytes_of(vector["bytes"]));
    Chance again = Chance::from_bytes(bytes_of(vector["bytes"]));
    EXPECT_EQ(again.word(), chance_of(vector).word());
  }
}

TEST(Chance, RefusesWhatIsNoPosition) {
  EXPECT_THROW(Chance::from_bytes("23 bytes are not enough"), UsageError);
  EXPECT_THROW(Chance(1).below(0), UsageError);
}

}  // namespace
}  // namespace reglue
