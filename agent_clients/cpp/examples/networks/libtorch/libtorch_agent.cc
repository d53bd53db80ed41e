// Plays a network that PyTorch saved as TorchScript: from observations, (rows, *shape) of float32,
// to the score of each action, (rows, n). All rows of a turn are one forward pass, and each
// episode takes its best action.
//
//   libtorch_agent POLICY.pt [ADDRESS [TOKEN]]
#include <torch/script.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "reglue/reglue.h"

class LibtorchAgent : public reglue::Agent {
 public:
  explicit LibtorchAgent(std::string path) : path_(std::move(path)) {}

  void agent_init(const reglue::TaskSpec& spec) override {
    const auto& seen = spec.observations[0];
    const auto* choices = std::get_if<reglue::Discrete>(&spec.actions[0].domain);
    if (spec.observations.size() > 1 || seen.dtype != reglue::Dtype::Float32 ||
        spec.actions.size() > 1 || !choices) {
      throw reglue::UsageError("got " + std::to_string(spec.observations.size()) +
                               " observation(s), the first of " + reglue::name_of(seen.dtype) +
                               ", and " + std::to_string(spec.actions.size()) +
                               " action(s), the first " + (choices ? "discrete" : "not discrete") +
                               "; wanted one observation of float32 and one discrete action");
    }
    choices_ = *choices;
    shape_.assign(seen.shape.begin(), seen.shape.end());
    shape_.insert(shape_.begin(), 0);  // rows
    try {
      network_ = torch::jit::load(path_);
    } catch (const c10::Error& error) {
      throw reglue::UsageError(std::string("cannot read the network: ") +
                               error.what_without_backtrace());
    }
    network_.eval();
  }

  void turn(const reglue::Turn& turn, reglue::Actions& actions) override {
    if (actions.rows() == 0) return;  // episodes have only ended
    const auto seen = turn.observations.part(turn.ends.size(), actions.rows())[0];
    shape_[0] = static_cast<std::int64_t>(seen.rows());
    // LibTorch reads the message's own bytes, and writes nothing there.
    auto* numbers = const_cast<float*>(seen.as<float>().data());
    const torch::InferenceMode inference;
    const auto scores = network_.forward({torch::from_blob(numbers, shape_)}).toTensor();
    if (scores.sizes() != torch::IntArrayRef{shape_[0], static_cast<std::int64_t>(choices_.n)}) {
      throw reglue::UsageError("got scores of shape " + c10::str(scores.sizes()) + ", wanted " +
                               std::to_string(choices_.n) + " a row");
    }
    const auto best = scores.argmax(1);
    for (std::size_t row = 0; row < seen.rows(); ++row) {
      const auto choice = best[static_cast<std::int64_t>(row)].item<std::int64_t>();
      actions[0].set(row, 0, static_cast<double>(choices_.start + choice));
    }
  }

 private:
  std::string path_;
  torch::jit::Module network_;
  std::vector<std::int64_t> shape_;  // of a batch of observations
  reglue::Discrete choices_;
};

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: libtorch_agent POLICY.pt [ADDRESS [TOKEN]]\n";
    return 2;
  }
  LibtorchAgent agent(argv[1]);
  argv[1] = argv[0];  // run_agent reads ADDRESS and TOKEN after a program's name
  return reglue::run_agent(agent, argc - 1, argv + 1);
}
