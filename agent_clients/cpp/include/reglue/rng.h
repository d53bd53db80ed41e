/// \file
/// Random numbers that are the same on every platform: Philox 4×64 words, numbered.
///
/// An episode's d-th draw is a function of three numbers: the seed, the episode and d.
/// The rule, for every language, is written down in agent_clients/python/reglue/rng.py,
/// and tests/reglue/rng_vectors.json holds numbers to test an implementation with.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "reglue/export.h"

namespace reglue {

/// The sequence of random numbers of one episode.
///
/// A UniformRandomBitGenerator: std::shuffle and the distributions of `<random>` take it. What
/// those draw may differ between standard libraries.
class REGLUE_API Rng {
 public:
  /// The first `drawn` words are skipped.
  explicit Rng(std::uint64_t seed, std::uint64_t episode = 0, std::uint64_t drawn = 0);

  /// A word.
  using result_type = std::uint64_t;
  /// The least word.
  static constexpr result_type min() { return 0; }
  /// The largest word.
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  /// As word().
  result_type operator()() { return word(); }

  /// 64 random bits.
  std::uint64_t word();

  /// A number from `low` to `high`; `high` itself only by rounding.
  double uniform(double low = 0.0, double high = 1.0);

  /// A uniform integer from 0 to n - 1. Throws UsageError if n is 0.
  std::uint64_t below(std::uint64_t n);

  /// The state: seed, episode and words drawn, 24 bytes.
  std::string to_bytes() const;

  /// The generator with that state. Throws UsageError for other than 24 bytes.
  static Rng from_bytes(std::string_view position);

 private:
  std::uint64_t seed_, episode_, drawn_;
  std::array<std::uint64_t, 4> block_{};  // of the next word, once one of its words is drawn
};

/// One block of Philox 4×64 with 10 rounds; words least first.
/// Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3.
REGLUE_API std::array<std::uint64_t, 4> philox(std::array<std::uint64_t, 4> counter,
                                               std::array<std::uint64_t, 2> key);

}  // namespace reglue
