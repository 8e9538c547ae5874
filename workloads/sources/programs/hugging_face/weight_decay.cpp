// Trainer's weight_decay, 0 unless it is given. Adam's kinds decay in place; of the optimizers that
// add the decay to the gradient, each step makes new gradients, which a plan of Trainer lacks.
//
// Sources: torch 2.15 optim/sgd.py, rmsprop.py, adagrad.py (_foreach_add of grads and params);
// transformers 5.24 training_args.py weight_decay: 0.0, trainer_optimizer.py.
#include <algorithm>
#include <array>

#include "traces/parse_text.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

namespace highwater::program_table {
namespace {

constexpr std::array<std::string_view, 3> kAddToGradient{"sgd", "rmsprop", "adagrad"};

}  // namespace

void read_weight_decay(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string optimizer = text_of(all, {"optim"}).value_or("");
  const bool adds = std::ranges::find(kAddToGradient, optimizer) != kAddToGradient.end();
  if (adds && parse_number<double>(setting.value).value_or(1) != 0) {
    keys.add_not_supported(setting.key, setting.value,
                           "copies of the gradients that " + optimizer + " decays",
                           MemorySign::more);
  } else {
    keys.add_no_effect(setting.key, setting.value, "changes numbers, not sizes");
  }
}

}  // namespace highwater::program_table
