// Reads tests/reglue/rng_vectors.json: the same numbers in every language.
#include "reglue/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "reglue/errors.h"

namespace reglue {
namespace {

using nlohmann::json;

const json& vectors(const char* kind) {
  static const json all =
      json::parse(std::ifstream(REGLUE_PROTO_DIR "/../tests/reglue/rng_vectors.json"));
  return all.at(kind);
}

std::uint64_t whole(const json& hexadecimal) {
  return std::stoull(hexadecimal.get<std::string>(), nullptr, 16);
}

Rng rng_of(const json& vector) {
  return Rng(whole(vector["seed"]), whole(vector["episode"]), whole(vector["drawn"]));
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

TEST(Rng, MakesThePublishedBlocks) {
  for (const json& vector : vectors("blocks")) {
    EXPECT_EQ(philox(words_of<4>(vector["counter"]), words_of<2>(vector["key"])),
              words_of<4>(vector["block"]));
  }
}

TEST(Rng, DrawsWordsOneAfterAnother) {
  for (const json& vector : vectors("words")) {
    Rng rng = rng_of(vector);
    for (const json& word : vector["words"]) EXPECT_EQ(rng.word(), whole(word)) << vector;
  }
}

TEST(Rng, DrawsUniformNumbersToTheBit) {
  for (const json& vector : vectors("uniforms")) {
    Rng rng = rng_of(vector);
    for (const json& wanted : vector["float64"]) {
      EXPECT_EQ(rng.uniform(real(vector["low_bits"]), real(vector["high_bits"])), real(wanted))
          << vector;
    }
  }
}

TEST(Rng, DrawsWholeNumbersBelowAnother) {
  for (const json& vector : vectors("below")) {
    const bool is_any_word = vector["n"].get<std::string>().size() > 16;  // n is 2^64
    Rng rng = rng_of(vector);
    for (const json& number : vector["numbers"]) {
      EXPECT_EQ(is_any_word ? rng.word() : rng.below(whole(vector["n"])), whole(number)) << vector;
    }
    const Rng after(whole(vector["seed"]), whole(vector["episode"]), whole(vector["drawn_after"]));
    EXPECT_EQ(rng.to_bytes(), after.to_bytes()) << vector;
  }
}

TEST(Rng, IsAGeneratorOfTheStandardLibrary) {
  Rng rng(7), words(7);
  EXPECT_EQ(rng(), words.word());
  EXPECT_EQ(Rng::min(), 0u);
  EXPECT_EQ(Rng::max(), ~std::uint64_t{0});
  std::vector<int> cards{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<int> sorted = cards;
  std::shuffle(cards.begin(), cards.end(), rng);
  EXPECT_TRUE(std::is_permutation(cards.begin(), cards.end(), sorted.begin(), sorted.end()));
  EXPECT_LE(std::uniform_int_distribution<int>(1, 6)(rng), 6);
}

TEST(Rng, GoesOnFromWhereItStood) {
  for (const json& vector : vectors("positions")) {
    EXPECT_EQ(rng_of(vector).to_bytes(), bytes_of(vector["bytes"]));
    Rng again = Rng::from_bytes(bytes_of(vector["bytes"]));
    EXPECT_EQ(again.word(), rng_of(vector).word());
  }
}

TEST(Rng, RefusesWhatIsNoPosition) {
  EXPECT_THROW(Rng::from_bytes("23 bytes are not enough"), UsageError);
  EXPECT_THROW(Rng(1).below(0), UsageError);
}

}  // namespace
}  // namespace reglue
