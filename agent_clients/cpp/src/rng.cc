#include "reglue/rng.h"

#include "reglue/errors.h"

namespace reglue {
namespace {

constexpr std::uint64_t kBlock = 4;  // words of one counter
constexpr int kRounds = 10;
constexpr std::size_t kPositionBytes = 3 * sizeof(std::uint64_t);

__extension__ typedef unsigned __int128 Wide;

struct Product {
  std::uint64_t high, low;
};

Product times(std::uint64_t left, std::uint64_t right) {
  const Wide product = static_cast<Wide>(left) * right;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

}  // namespace

Rng::Rng(std::uint64_t seed, std::uint64_t episode, std::uint64_t drawn)
    : seed_(seed), episode_(episode), drawn_(drawn) {
  if (drawn % kBlock != 0) block_ = philox({drawn / kBlock, episode_, 0, 0}, {seed_, 0});
}

std::uint64_t Rng::word() {
  const std::uint64_t place = drawn_ % kBlock;
  if (place == 0) block_ = philox({drawn_ / kBlock, episode_, 0, 0}, {seed_, 0});
  ++drawn_;
  return block_[place];
}

// Compiled without fused multiply-add: each operation is rounded by itself.
double Rng::uniform(double low, double high) {
  const double u = static_cast<double>(word() >> 11) * 0x1p-53;
  return low + (high - low) * u;
}

// Lemire 2019, "Fast random integer generation in an interval".
std::uint64_t Rng::below(std::uint64_t n) {
  if (n == 0) throw UsageError("got n 0, wanted at least 1");
  const std::uint64_t rejected = (0 - n) % n;  // 2^64 mod n
  Product product = times(word(), n);
  while (product.low < rejected) product = times(word(), n);
  return product.high;
}

std::string Rng::to_bytes() const {
  std::string bytes;
  for (const std::uint64_t number : {seed_, episode_, drawn_}) {
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  }
  return bytes;
}

Rng Rng::from_bytes(std::string_view position) {
  if (position.size() != kPositionBytes) {
    throw UsageError("got " + std::to_string(position.size()) + " bytes, wanted the " +
                     std::to_string(kPositionBytes) + " of an Rng");
  }
  std::uint64_t numbers[3] = {};
  for (std::size_t i = 0; i < kPositionBytes; ++i) {
    const auto byte = static_cast<unsigned char>(position[i]);
    numbers[i / 8] |= static_cast<std::uint64_t>(byte) << (i % 8 * 8);
  }
  return Rng(numbers[0], numbers[1], numbers[2]);
}

std::array<std::uint64_t, 4> philox(std::array<std::uint64_t, 4> counter,
                                    std::array<std::uint64_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const Product first = times(0xD2E7470EE14C6C93, counter[0]);
    const Product second = times(0xCA5A826395121157, counter[2]);
    counter = {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1],
               first.low};
    key[0] += 0x9E3779B97F4A7C15;
    key[1] += 0xBB67AE8584CAA73B;
  }
  return counter;
}

}  // namespace reglue
