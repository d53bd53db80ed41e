// Reads tests/reglue/rng_vectors.json: the same numbers in every language.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "reglue.h"

namespace {

using nlohmann::json;

const json& vectors(const char* kind) {
  static const json all = json::parse(std::ifstream(REGLUE_RNG_VECTORS));
  return all.at(kind);
}

std::uint64_t whole(const json& hexadecimal) {
  return std::stoull(hexadecimal.get<std::string>(), nullptr, 16);
}

reglue_rng rng_of(const json& vector) {
  return {whole(vector["seed"]), whole(vector["episode"]), whole(vector["drawn"])};
}

/// A float64 as its bytes, least first, in hexadecimal.
std::string bits_of(double number) {
  std::uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  std::string digits;
  for (int shift = 0; shift < 64; shift += 8) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(bits >> shift & 0xff));
    digits += two;
  }
  return digits;
}

TEST(Rng, DrawsTheWordsOfEveryLanguage) {
  for (const json& vector : vectors("words")) {
    reglue_rng rng = rng_of(vector);
    for (const json& word : vector["words"]) EXPECT_EQ(reglue_rng_word(&rng), whole(word));
  }
}

TEST(Rng, DrawsUniformNumbersToTheBit) {
  for (const json& vector : vectors("uniforms")) {
    reglue_rng rng = rng_of(vector);
    for (const json& bits : vector["float64"]) {
      const double number = reglue_rng_uniform(&rng, vector["low"], vector["high"]);
      EXPECT_EQ(bits_of(number), bits.get<std::string>());
    }
  }
}

TEST(Rng, DrawsWholeNumbersWithoutBias) {
  for (const json& vector : vectors("below")) {
    reglue_rng rng = rng_of(vector);
    const bool is_all = vector["n"].get<std::string>().size() > 16;
    const std::uint64_t n = is_all ? 0 : whole(vector["n"]);
    for (const json& number : vector["numbers"]) {
      EXPECT_EQ(reglue_rng_below(&rng, n), whole(number));
    }
    EXPECT_EQ(rng.drawn, whole(vector["drawn_after"]));
  }
}

TEST(Rng, CopiesContinueFromTheSamePosition) {
  reglue_rng rng = {7, 8, 0};
  reglue_rng_word(&rng);
  reglue_rng copy = rng;
  EXPECT_EQ(reglue_rng_word(&copy), reglue_rng_word(&rng));
}

}  // namespace
