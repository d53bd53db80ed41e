// The agent for `reglue conformance agent`: it makes every action from everything that its slot
// received. proto/CONFORMANCE.md describes it.
#include <vector>

#include "reglue/reglue.h"
#include "rule.h"
#include "words.h"

namespace reglue::conformance {

class ConformanceAgent : public Agent {
 public:
  AgentTraits traits() const override {
    AgentTraits traits;
    traits.partial_turns = true;
    traits.adapts = true;
    return traits;
  }

  void agent_init(const TaskSpec& spec) override {
    commands_.count("init");
    memory_.assign(spec.slots, Memory());
  }

  void agent_start(const Observations& observations, const Starts& starts,
                   Actions& actions) override {
    commands_.count("start", starts.size());
    for (std::size_t row = 0; row < starts.size(); ++row) {
      Memory& memory = begin(kStart, starts.slots[row]);
      memory.take(starts.seeds[row]);
      memory.take_row(observations, row);
      make_row(memory, actions, row);
    }
  }

  void agent_step(Rewards rewards, const Observations& observations, const Steps& steps,
                  Actions& actions) override {
    commands_.count("step", steps.size());
    for (std::size_t row = 0; row < steps.size(); ++row) {
      Memory& memory = begin(kStep, steps.slots[row]);
      memory.take(steps.flags[row]);
      take_reward(memory, rewards[row]);
      memory.take_row(observations, row);
      make_row(memory, actions, row);
    }
  }

  void agent_end(Rewards rewards, const Observations& observations, const Ends& ends) override {
    commands_.count("end", ends.size());
    for (std::size_t row = 0; row < ends.size(); ++row) {
      Memory& memory = begin(kEnd, ends.slots[row]);
      memory.take(ends.kinds[row]);
      take_reward(memory, rewards[row]);
      memory.take_row(observations, row);
    }
  }

  void agent_freeze() override { take("freeze", kFreeze); }
  void adapt_begin() override { take("adapt_begin", kAdaptBegin); }
  void adapt() override { take("adapt", kAdapt); }
  void agent_cleanup() override { commands_.count("cleanup"); }

  std::string agent_message(const std::string& message) override {
    commands_.count("message");
    if (message == "spec") return spec_text(spec());
    if (message == "budget") return budget_words();
    if (message == "fail turn") {
      must_fail_ = true;
      return "";
    }
    const auto [command, slot] = parted(message, ' ');
    if (command == "abandon") {
      abandon_.push_back(static_cast<std::uint32_t>(std::stoul(slot)));
      return "";
    }
    return commands_.answer(message);
  }

  void turn(const Turn& turn, Actions& actions) override {
    if (must_fail_) throw ToldToFail();
    Agent::turn(turn, actions);
    for (const std::uint32_t slot : abandon_) actions.abandon(slot);
    abandon_.clear();
  }

 private:
  enum Mark : std::uint8_t { kEnd = 1, kStep, kStart, kFreeze, kAdaptBegin, kAdapt };

  Memory& begin(Mark mark, std::uint32_t slot) {
    Memory& memory = memory_.at(slot);
    memory.take(mark);
    memory.take(phase());
    return memory;
  }

  void take_reward(Memory& memory, double reward) const {
    const bool is_withheld = phase() == Phase::Evaluate && !spec().rewards_in_evaluation;
    if (!is_withheld) memory.take(reward);
  }

  void take(const char* routine, Mark mark) {
    commands_.count(routine);
    for (Memory& memory : memory_) memory.take(mark);
  }

  std::string budget_words() const {
    std::string words;
    for (const auto& limit :
         {budget().step_us, budget().bank_us, budget().adapt_us, budget().run_us}) {
      words += (words.empty() ? "" : " ") + (limit ? std::to_string(*limit) : "-");
    }
    return words;
  }

  std::vector<Memory> memory_;           // of each slot
  std::vector<std::uint32_t> abandon_;  // in the next turn
  bool must_fail_ = false;               // in the next turn
  Commands commands_{
      {"init", "start", "step", "end", "freeze", "adapt_begin", "adapt", "message", "cleanup"}};
};

}  // namespace reglue::conformance

int main(int argc, char** argv) {
  reglue::conformance::ConformanceAgent agent;
  return reglue::run_agent(agent, argc, argv);
}
