// Balances a pole, in one slot, by how its angle has changed since the last observation. With an
// argument it keeps a copy of that; without, the view, which is stale by then.
#include "reglue/connect.h"

namespace {

class TwoFrames : public reglue::Agent {
 public:
  explicit TwoFrames(bool copies) : copies_(copies) {}

  void agent_start(const reglue::Observations& observations, const reglue::Starts&,
                   reglue::Actions&) override {
    keep(angle_of(observations));
  }

  void agent_step(reglue::Rewards, const reglue::Observations& observations, const reglue::Steps&,
                  reglue::Actions& actions) override {
    const float* angle = angle_of(observations);
    actions[0].row<std::int64_t>(0)[0] = *angle + 12 * (*angle - *before_) > 0;
    keep(angle);
  }

 private:
  static const float* angle_of(const reglue::Observations& observations) {
    return &observations[0].row<float>(0)[2];
  }
  void keep(const float* angle) {
    copy_ = *angle;
    before_ = copies_ ? &copy_ : angle;
  }

  bool copies_;
  float copy_ = 0;
  const float* before_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  TwoFrames agent(argc > 1);
  return reglue::run_agent(agent, 1, argv);
}
