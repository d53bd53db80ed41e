#include "reglue/chance.h"

#include "reglue.h"

#include <cstring>

namespace {

static_assert(sizeof(reglue_chance) == 24, "reglue_chance is what Chance::to_bytes has");

/// Draws by `routine`, and keeps in `position` where the chance stands then.
template <class Routine>
auto drawn(reglue_chance* position, Routine&& routine) {
  reglue::Chance chance(position->seed, position->episode, position->drawn);
  const auto number = routine(chance);
  std::memcpy(position, chance.to_bytes().data(), sizeof *position);
  return number;
}

}  // namespace

std::uint64_t reglue_chance_word(reglue_chance* chance) {
  return drawn(chance, [](reglue::Chance& from) { return from.word(); });
}

double reglue_chance_uniform(reglue_chance* chance, double low, double high) {
  return drawn(chance, [=](reglue::Chance& from) { return from.uniform(low, high); });
}

std::uint64_t reglue_chance_below(reglue_chance* chance, std::uint64_t n) {
  return drawn(chance, [=](reglue::Chance& from) { return n ? from.below(n) : from.word(); });
}
