// Chance that is the same on every platform: Philox 4×64 words, numbered.
//
// An episode's d-th draw is a function of three numbers: the seed, the episode and d.
// The rule, for every language, is written down in agent_clients/python/reglue/rng.py,
// and tests/reglue/chance_vectors.json holds numbers to test an implementation with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace reglue {

/// The random numbers of one episode, drawn one after another.
class Chance {
 public:
  /// `drawn` words are taken as drawn already.
  explicit Chance(std::uint64_t seed, std::uint64_t episode = 0, std::uint64_t drawn = 0);

  /// 64 random bits.
  std::uint64_t word();

  /// A number of `low` up to `high`, which itself is met only where rounding gives it.
  double uniform(double low = 0.0, double high = 1.0);

  /// An integer of 0 to n - 1, each as likely. Throws UsageError if n is 0.
  std::uint64_t below(std::uint64_t n);

  /// Where it stands: seed, episode and words drawn, 24 bytes.
  std::string to_bytes() const;

  /// Chance that goes on from there. Throws UsageError for other than 24 bytes.
  static Chance from_bytes(std::string_view position);

 private:
  std::uint64_t seed_, episode_, drawn_;
  std::array<std::uint64_t, 4> block_{};  // that the next word is of, if any of it is drawn
};

/// One block of Philox 4×64 with 10 rounds; words least first.
/// Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3.
std::array<std::uint64_t, 4> philox(std::array<std::uint64_t, 4> counter,
                                    std::array<std::uint64_t, 2> key);

}  // namespace reglue
