// Plays a network in ONNX: from observations, (rows, *shape) of float32, to the score of each
// action, (rows, n). All rows of a turn are one forward pass, and each episode takes its best
// action.
//
//   onnxruntime_agent POLICY.onnx [ADDRESS [TOKEN]]
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "reglue/reglue.h"

class OnnxruntimeAgent : public reglue::Agent {
 public:
  explicit OnnxruntimeAgent(std::string path) : path_(std::move(path)) {}

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
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);  // more of them spin, for a network of any small size
    network_ = Ort::Session(runtime_, path_.c_str(), options);
  }

  void turn(const reglue::Turn& turn, reglue::Actions& actions) override {
    if (actions.rows() == 0) return;  // episodes have only ended
    const auto seen = turn.observations.part(turn.ends.size(), actions.rows())[0];
    const std::vector<float> scores = scores_of(seen);
    for (std::size_t row = 0; row < seen.rows(); ++row) {
      const auto first = scores.begin() + static_cast<std::ptrdiff_t>(row * choices_.n);
      const auto best = std::max_element(first, first + static_cast<std::ptrdiff_t>(choices_.n));
      actions[0].set(row, 0, static_cast<double>(choices_.start + std::distance(first, best)));
    }
  }

 private:
  /// (rows, n), row-major. Throws UsageError if the network's output has another size.
  std::vector<float> scores_of(const reglue::BasicRows<const std::byte>& seen) {
    // ONNX Runtime reads the message's own bytes, and writes nothing there.
    const auto numbers = seen.as<float>();
    shape_[0] = static_cast<std::int64_t>(seen.rows());
    const auto input = Ort::Value::CreateTensor<float>(
        memory_, const_cast<float*>(numbers.data()), numbers.size(), shape_.data(), shape_.size());
    const auto from = network_.GetInputNameAllocated(0, allocator_);
    const auto to = network_.GetOutputNameAllocated(0, allocator_);
    const char *input_name = from.get(), *output_name = to.get();
    const auto output =
        network_.Run(Ort::RunOptions{nullptr}, &input_name, &input, 1, &output_name, 1);
    const std::size_t size = output[0].GetTensorTypeAndShapeInfo().GetElementCount();
    if (size != seen.rows() * choices_.n) {
      throw reglue::UsageError("the network's scores do not fit: got " + std::to_string(size) +
                               " for " + std::to_string(seen.rows()) + " rows, wanted " +
                               std::to_string(choices_.n) + " a row");
    }
    const float* scores = output[0].GetTensorData<float>();
    return {scores, scores + size};
  }

  std::string path_;
  Ort::Env runtime_;
  Ort::Session network_{nullptr};
  Ort::AllocatorWithDefaultOptions allocator_;
  Ort::MemoryInfo memory_ = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  std::vector<std::int64_t> shape_;  // of a batch of observations
  reglue::Discrete choices_;
};

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: onnxruntime_agent POLICY.onnx [ADDRESS [TOKEN]]\n";
    return 2;
  }
  OnnxruntimeAgent agent(argv[1]);
  argv[1] = argv[0];  // run_agent reads ADDRESS and TOKEN after a program's name
  return reglue::run_agent(agent, argc - 1, argv + 1);
}
