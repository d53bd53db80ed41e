#include "reglue/rng.h"

#include "reglue.h"

#include <cstring>

namespace {

static_assert(sizeof(reglue_rng) == 24, "reglue_rng is what Rng::to_bytes has");

/// Draws by `routine`, and keeps the new state in `position`.
template <class Routine>
auto draw(reglue_rng* position, Routine&& routine) {
  reglue::Rng rng(position->seed, position->episode, position->drawn);
  const auto number = routine(rng);
  std::memcpy(position, rng.to_bytes().data(), sizeof *position);
  return number;
}

}  // namespace

std::uint64_t reglue_rng_word(reglue_rng* rng) {
  return draw(rng, [](reglue::Rng& from) { return from.word(); });
}

double reglue_rng_uniform(reglue_rng* rng, double low, double high) {
  return draw(rng, [=](reglue::Rng& from) { return from.uniform(low, high); });
}

std::uint64_t reglue_rng_below(reglue_rng* rng, std::uint64_t n) {
  return draw(rng, [=](reglue::Rng& from) { return n ? from.below(n) : from.word(); });
}
