// A benchmark program's session: RL-Glue's routines, reglue_rl_init and its like.
#include "reglue/experiment.h"

#include <memory>
#include <new>
#include <optional>

#include "options.h"
#include "reglue.h"
#include "results.h"
#include "rows.h"
#include "specs.h"

using reglue::Experiment;
using reglue::Slots;
using reglue::StartOptions;
using reglue::c::guarded;
using reglue::c::RowsView;
using reglue::c::SpecView;

struct reglue_experiment {
  std::optional<Experiment> rl;         // none if joining failed
  std::string message;                  // for reglue_experiment_errmsg
  const reglue::TaskSpec* task = nullptr;  // of the last init
  std::optional<SpecView> spec;
  RowsView rows;
  std::vector<reglue::Task> tasks;      // of the last reglue_rl_num_tasks
  std::string text;                     // a key or a message's answer
};

namespace {

/// Carries out `routine` on the experiment. `has_arguments`: no required pointer is NULL.
template <class Routine>
int carried_out(reglue_experiment* self, bool has_arguments, Routine&& routine) {
  if (!self) return REGLUE_USAGE;
  return guarded(self->message, [&]() -> int {
    if (!has_arguments) throw reglue::UsageError(reglue::c::kGotNull);
    if (!self->rl) throw reglue::SessionLost("the experiment has not joined a glue");
    routine(*self->rl);
    return REGLUE_OK;
  });
}

bool is_valid_array(const void* array, std::size_t count) { return array || count == 0; }

Slots slots_of(const std::uint32_t* slots, std::size_t count) {
  return count ? Slots(slots, slots + count) : Slots();
}

StartOptions start_of(const std::uint32_t* slots, std::size_t count) {
  return {slots_of(slots, count)};
}

StartOptions start_of(const std::uint32_t* slots, std::size_t count, const char* task,
                      std::uint32_t variant) {
  return {slots_of(slots, count), reglue::c::text_of(task), variant};
}

/// The caller's rows, one array a tensor. Throws UsageError if one with bytes is NULL.
reglue::BasicTensors<const std::byte> rows_of(
    const reglue_experiment& self, std::vector<reglue::TensorSpec> reglue::TaskSpec::* kind,
    const void* const* arrays, std::size_t count) {
  std::vector<reglue::BasicRows<const std::byte>> tensors;
  if (self.task) {
    for (const reglue::TensorSpec& spec : self.task->*kind) {
      const void* array = arrays[tensors.size()];
      if (!array && count * spec.row_bytes() > 0) {
        throw reglue::UsageError("got NULL, wanted the rows of '" + spec.name + "'");
      }
      tensors.emplace_back(spec, static_cast<const std::byte*>(array), count);
    }
  }
  return {std::move(tensors), count};
}

reglue::Rewards rewards_of(const double* rewards, std::size_t count) { return {rewards, count}; }

}  // namespace

int reglue_experiment_connect(const reglue_options* options, reglue_experiment** experiment) {
  if (!experiment) return REGLUE_USAGE;
  *experiment = new (std::nothrow) reglue_experiment;
  if (!*experiment) return REGLUE_NO_MEMORY;
  reglue_experiment& self = **experiment;
  return guarded(self.message, [&] {
    self.rl.emplace(reglue::c::options_of(options));
    return REGLUE_OK;
  });
}

void reglue_experiment_close(reglue_experiment* experiment) {
  std::string message;
  guarded(message, [&] {
    delete experiment;
    return REGLUE_OK;
  });
}

const char* reglue_experiment_errmsg(const reglue_experiment* experiment) {
  return experiment ? experiment->message.c_str()
                    : "got no experiment, wanted that of reglue_experiment_connect";
}

int reglue_experiment_timeout(reglue_experiment* self, double timeout_s) {
  return carried_out(self, true, [&](Experiment& rl) {
    rl.set_timeout(reglue::c::milliseconds_of("timeout", timeout_s));
  });
}

int reglue_rl_init(reglue_experiment* self, std::uint32_t slots, std::uint64_t seed,
                   const char* task, std::uint32_t variant, const reglue_spec** spec) {
  return carried_out(self, true, [&](Experiment& rl) {
    self->task = &rl.rl_init(slots, seed, reglue::c::text_of(task), variant);
    self->spec.emplace(*self->task);
    if (spec) *spec = self->spec->get();
  });
}

int reglue_rl_num_tasks(reglue_experiment* self, std::size_t* tasks) {
  return carried_out(self, tasks, [&](Experiment& rl) {
    self->tasks = rl.rl_tasks();
    *tasks = self->tasks.size();
  });
}

int reglue_rl_task(reglue_experiment* self, std::size_t number, const char** name,
                   std::uint32_t* variants) {
  return carried_out(self, true, [&](Experiment&) {
    if (number >= self->tasks.size()) {
      throw reglue::OutOfDomain(
          "task " + std::to_string(number),
          "one of the " + std::to_string(self->tasks.size()) + " that reglue_rl_num_tasks counted");
    }
    const reglue::Task& task = self->tasks[number];
    if (name) *name = task.name.c_str();
    if (variants) *variants = task.variants;
  });
}

int reglue_rl_start(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                    const reglue_rows** rows) {
  return carried_out(self, is_valid_array(slots, count) && rows, [&](Experiment& rl) {
    *rows = self->rows.show(rl.rl_start(start_of(slots, count)));
  });
}

int reglue_rl_start_goal(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                         const char* task, std::uint32_t variant, const reglue_rows** rows) {
  return carried_out(self, is_valid_array(slots, count) && rows, [&](Experiment& rl) {
    *rows = self->rows.show(rl.rl_start(start_of(slots, count, task, variant)));
  });
}

int reglue_rl_iterate_goal(reglue_experiment* self, const std::uint32_t* slots, std::size_t count) {
  return carried_out(self, is_valid_array(slots, count),
                     [&](Experiment& rl) { rl.rl_iterate_goal(slots_of(slots, count)); });
}

int reglue_rl_step(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                   const reglue_rows** rows) {
  return carried_out(self, is_valid_array(slots, count) && rows, [&](Experiment& rl) {
    *rows = self->rows.show(rl.rl_step(slots_of(slots, count)));
  });
}

int reglue_rl_episode(reglue_experiment* self, std::uint64_t max_steps, const std::uint32_t* slots,
                      std::size_t count, std::int32_t* ended) {
  return carried_out(self, is_valid_array(slots, count), [&](Experiment& rl) {
    const bool all_ended = rl.rl_episode({max_steps, slots_of(slots, count)});
    if (ended) *ended = all_ended;
  });
}

int reglue_rl_episode_goal(reglue_experiment* self, std::uint64_t max_steps,
                           const std::uint32_t* slots, std::size_t count, const char* task,
                           std::uint32_t variant, std::int32_t* ended) {
  return carried_out(self, is_valid_array(slots, count), [&](Experiment& rl) {
    const bool all_ended =
        rl.rl_episode({max_steps, slots_of(slots, count), reglue::c::text_of(task), variant});
    if (ended) *ended = all_ended;
  });
}

int reglue_rl_return(reglue_experiment* self, std::uint32_t slot, double* sum) {
  return carried_out(self, sum, [&](Experiment& rl) { *sum = rl.rl_return(slot); });
}

int reglue_rl_num_steps(reglue_experiment* self, std::uint32_t slot, std::uint64_t* steps) {
  return carried_out(self, steps, [&](Experiment& rl) { *steps = rl.rl_num_steps(slot); });
}

int reglue_rl_num_episodes(reglue_experiment* self, std::uint32_t slot, std::uint64_t* episodes) {
  return carried_out(self, episodes, [&](Experiment& rl) { *episodes = rl.rl_num_episodes(slot); });
}

int reglue_rl_success(reglue_experiment* self, std::uint32_t slot, std::int32_t* success) {
  return carried_out(self, success, [&](Experiment& rl) { *success = rl.rl_success(slot); });
}

int reglue_rl_cleanup(reglue_experiment* self) {
  return carried_out(self, true, [](Experiment& rl) { rl.rl_cleanup(); });
}

int reglue_rl_freeze(reglue_experiment* self) {
  return carried_out(self, true, [](Experiment& rl) { rl.rl_freeze(); });
}

int reglue_rl_adapt_begin(reglue_experiment* self) {
  return carried_out(self, true, [](Experiment& rl) { rl.rl_adapt_begin(); });
}

int reglue_rl_adapt(reglue_experiment* self) {
  return carried_out(self, true, [](Experiment& rl) { rl.rl_adapt(); });
}

int reglue_rl_standardize_randomness(reglue_experiment* self, std::uint64_t seed) {
  return carried_out(self, true, [&](Experiment& rl) { rl.rl_standardize_randomness(seed); });
}

int reglue_rl_get_state(reglue_experiment* self, std::uint32_t slot, const char** key) {
  return carried_out(self, key, [&](Experiment& rl) {
    self->text = rl.rl_get_state(slot);
    *key = self->text.c_str();
  });
}

int reglue_rl_set_state(reglue_experiment* self, std::uint32_t slot, const char* key) {
  return carried_out(self, key, [&](Experiment& rl) { rl.rl_set_state(key, slot); });
}

int reglue_rl_get_random_seed(reglue_experiment* self, std::uint32_t slot, const char** key) {
  return carried_out(self, key, [&](Experiment& rl) {
    self->text = rl.rl_get_random_seed(slot);
    *key = self->text.c_str();
  });
}

int reglue_rl_set_random_seed(reglue_experiment* self, std::uint32_t slot, const char* key) {
  return carried_out(self, key, [&](Experiment& rl) { rl.rl_set_random_seed(key, slot); });
}

int reglue_rl_agent_message(reglue_experiment* self, const char* text, const char** answer) {
  return carried_out(self, text && answer, [&](Experiment& rl) {
    self->text = rl.rl_agent_message(text);
    *answer = self->text.c_str();
  });
}

int reglue_rl_env_message(reglue_experiment* self, const char* text, const char** answer) {
  return carried_out(self, text && answer, [&](Experiment& rl) {
    self->text = rl.rl_env_message(text);
    *answer = self->text.c_str();
  });
}

int reglue_rl_env_start(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                        const reglue_rows** rows) {
  return carried_out(self, is_valid_array(slots, count) && rows, [&](Experiment& rl) {
    *rows = self->rows.show(rl.rl_env_start(start_of(slots, count)));
  });
}

int reglue_rl_env_start_goal(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                             const char* task, std::uint32_t variant, const reglue_rows** rows) {
  return carried_out(self, is_valid_array(slots, count) && rows, [&](Experiment& rl) {
    *rows = self->rows.show(rl.rl_env_start(start_of(slots, count, task, variant)));
  });
}

int reglue_rl_env_step(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                       const void* const* actions, const reglue_rows** rows) {
  return carried_out(self, is_valid_array(slots, count) && actions && rows, [&](Experiment& rl) {
    const auto values = rows_of(*self, &reglue::TaskSpec::actions, actions, count);
    *rows = self->rows.show(rl.rl_env_step(values, slots_of(slots, count)));
  });
}

int reglue_rl_agent_start(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                          const void* const* observations, const reglue_rows** rows) {
  return carried_out(
      self, is_valid_array(slots, count) && observations && rows, [&](Experiment& rl) {
        const auto values = rows_of(*self, &reglue::TaskSpec::observations, observations, count);
        *rows = self->rows.show(rl.rl_agent_start(values, slots_of(slots, count)));
      });
}

int reglue_rl_agent_step(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                         const double* rewards, const void* const* observations,
                         const reglue_rows** rows) {
  const bool has_arguments =
      is_valid_array(slots, count) && is_valid_array(rewards, count) && observations;
  return carried_out(self, has_arguments && rows, [&](Experiment& rl) {
    const auto values = rows_of(*self, &reglue::TaskSpec::observations, observations, count);
    *rows = self->rows.show(
        rl.rl_agent_step(rewards_of(rewards, count), values, slots_of(slots, count)));
  });
}

int reglue_rl_agent_end(reglue_experiment* self, const std::uint32_t* slots, std::size_t count,
                        const double* rewards, const void* const* observations,
                        std::int32_t truncated) {
  const bool has_arguments =
      is_valid_array(slots, count) && is_valid_array(rewards, count) && observations;
  return carried_out(self, has_arguments, [&](Experiment& rl) {
    const auto values = rows_of(*self, &reglue::TaskSpec::observations, observations, count);
    rl.rl_agent_end(rewards_of(rewards, count), values, slots_of(slots, count), truncated != 0);
  });
}
