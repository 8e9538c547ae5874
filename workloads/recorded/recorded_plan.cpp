#include "workloads/recorded/recorded_plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_megatron.hpp"
#include "workloads/recorded/recorded_options.hpp"
#include "workloads/recorded/recorded_parallelism.hpp"

namespace highwater::recorded {
namespace {

/// Every field that a case may have. Those without an option are read below, or do not reach the
/// allocator of one GPU.
constexpr std::array kCaseFields{FieldOption{"id"},
                                 FieldOption{"model"},
                                 FieldOption{"note"},
                                 FieldOption{"tags"},
                                 FieldOption{"batch", "batch"},
                                 FieldOption{"seq"},
                                 FieldOption{"precision", "precision"},
                                 FieldOption{"attention", "attention"},
                                 FieldOption{"sdpa_backend"},
                                 FieldOption{"checkpoint"},
                                 FieldOption{"optimizer", "optimizer"},
                                 FieldOption{"impl", "optimizer-impl"},
                                 FieldOption{"param_groups", "param-groups"},
                                 FieldOption{"grad_clip"},
                                 FieldOption{"grad_accum", "grad-accum"},
                                 FieldOption{"no_sync"},
                                 FieldOption{"steps", "steps"},
                                 FieldOption{"set_to_none", "set-to-none"},
                                 FieldOption{"zero_grad_at", "zero-grad-at"},
                                 FieldOption{"loss", "loss"},
                                 FieldOption{"keep_logits", "keep-logits"},
                                 FieldOption{"use_cache", "use-cache"},
                                 FieldOption{"attention_mask", "attention-mask"},
                                 FieldOption{"data", "data"},
                                 FieldOption{"dropout", "dropout"},
                                 FieldOption{"init", "init"},
                                 FieldOption{"lora"},
                                 FieldOption{"mode", "mode"},
                                 FieldOption{"dist"},
                                 FieldOption{"rig"},
                                 FieldOption{"alloc_conf"},
                                 FieldOption{"memory_limit_mib"},
                                 FieldOption{"experts", "experts"},
                                 FieldOption{"overrides"},
                                 FieldOption{"stacks"},
                                 FieldOption{"empty_cache_every_step", "empty-cache-every-step"},
                                 FieldOption{"teardown"},
                                 FieldOption{"offload"},
                                 FieldOption{"probe"}};

constexpr std::array kRigFields{FieldOption{"profile"}, FieldOption{"capacity"},
                                FieldOption{"event_lag"}, FieldOption{"event_queries"},
                                FieldOption{"devices"}};

/// "none", "nonreentrant", "reentrant", "every2-nonreentrant", ...
Checkpoint read_checkpoint(const Field& field) {
  const std::string text = field.text();
  Checkpoint checkpoint;
  if (text == "none") {
    return checkpoint;
  }
  if (text == "selective-op" || text == "selective-attention") {
    checkpoint.kind =
        text == "selective-op" ? CheckpointKind::selective_op : CheckpointKind::selective_attention;
    return checkpoint;
  }
  std::string_view kind = text;
  checkpoint.kind = CheckpointKind::full;
  if (kind.starts_with("every")) {
    const std::size_t dash = std::min(kind.find('-'), kind.size());
    const std::string_view number = kind.substr(5, dash - 5);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), checkpoint.n);
    if (error != std::errc{} || end != number.data() + number.size() || dash == kind.size()) {
      throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
    }
    checkpoint.kind = CheckpointKind::every_n;
    kind.remove_prefix(dash + 1);
  }
  checkpoint.reentrant = kind == "reentrant";
  if (!checkpoint.reentrant && kind != "nonreentrant") {
    throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
  }
  return checkpoint;
}

/// {"r": 8, "dropout": 0.05, "targets": ["q_proj"]}; cases without adapters lack the field.
Lora read_lora(const Field& plan) {
  Lora lora;
  const auto field = plan.find("lora");
  if (!field || field->is_null()) {
    return lora;
  }
  lora.rank = field->at("r").small_count();
  if (const auto dropout = field->find("dropout")) {
    lora.dropout = dropout->real();
  }
  if (const auto targets = field->find("targets")) {
    for (const Field& target : targets->elements()) {
      lora.targets.push_back(target.text());
    }
  }
  return lora;
}

/// The backend that the recorder let PyTorch choose from.
void read_backend(const Field& fields, TrainingPlan& plan) {
  const Field backend = fields.at("sdpa_backend");
  if (plan.attention == Attention::sdpa && !backend.is_null()) {
    set_option(plan, "attention", backend, "sdpa-" + backend.text());
  }
}

/// All but these have a value in every case.
void require_values(const Field& fields) {
  constexpr std::array<std::string_view, 2> kOptional{"dropout", "experts"};
  for (const FieldOption& row : kCaseFields) {
    const bool is_optional = std::ranges::find(kOptional, row.field) != kOptional.end();
    if (!row.option.empty() && !is_optional && fields.at(row.field).is_null()) {
      fields.at(row.field).fail("a value was expected");
    }
  }
}

bool is_plain(const Field& root) {
  return root.at("model").at("family").text() == "plain";
}

ModelSpec model_of(const Field& root, const std::string& source) {
  try {
    ModelSpec model = model_from_json(root.at("model").value(), source);
    model.name = root.at("case").at("model").text();
    return model;
  } catch (const InputError& error) {
    throw Unsupported{error.what()};  // a family that is not covered
  }
}

/// The recorded device as a plan names it: the profile that the rig was given, or the one of the
/// same compute capability, with the recorded amount of memory.
Gpu read_plan_gpu(const Field& rig, const RecordedGpu& recorded) {
  const std::optional<Field> profile = rig.find("profile");
  const Gpu* known = profile ? find_gpu(profile->text()) : nullptr;
  if (known == nullptr && default_gpu().major == recorded.major &&
      default_gpu().minor == recorded.minor) {
    known = &default_gpu();
  }
  for (const Gpu& gpu : known_gpus()) {
    if (known == nullptr && gpu.major == recorded.major && gpu.minor == recorded.minor) {
      known = &gpu;
    }
  }
  if (known == nullptr) {
    throw Unsupported{fmt::format("unknown GPU '{}' (compute capability {}.{})", recorded.name,
                                  recorded.major, recorded.minor)};
  }
  Gpu gpu = *known;
  gpu.total_memory = recorded.total_memory;
  return gpu;
}

/// A device that computes nothing routes no tokens to any expert: a loop over the experts that
/// received some then allocates nothing, unlike any real run.
void require_truth(const Field& root) {
  const Field config = root.at("model").at("config");
  const auto has_experts = [&](std::string_view key) {
    const auto field = config.find(key);
    return field && field->value().is_int64() && field->integer() > 0;
  };
  const bool is_mixture = has_experts("num_local_experts") || has_experts("n_routed_experts") ||
                          has_experts("num_experts");
  const auto fake = root.find("fake_device");
  if (is_mixture && fake && fake->boolean() && root.at("case").at("experts").is_null()) {
    throw Unsupported{
        "this recording is not ground truth: its fake device computed no routing, so no expert got "
        "a token"};
  }
}

/// A probe records single operations to establish facts; no plan corresponds to them.
void require_training(const Field& root) {
  const auto probe = root.at("case").find("probe");
  if (probe && !probe->is_null()) {
    throw Unsupported{fmt::format("a probe ({}) of single operations, not a training run",
                                  probe->at("kind").text())};
  }
}

bool is_megatron(const Field& root) {
  return root.at("case").at("dist").at("kind").text() == "megatron";
}

}  // namespace

TrainingPlan read_plan(const Field& root, const RecordedCase& recorded, const std::string& source) {
  const Field fields = root.at("case");
  require_training(root);
  if (is_megatron(root)) {
    return read_megatron_plan(root, recorded);
  }
  const Parallelism parallel = read_parallelism(fields);
  require_known(fields, kCaseFields);
  require_known(fields.at("rig"), kRigFields);
  require_truth(root);
  if (recorded.sequence_lengths.empty()) {
    throw Unsupported{"the file lacks the sequence lengths"};
  }
  TrainingPlan plan;
  plan.model = model_of(root, source);
  plan.model_code = is_plain(root) ? ModelCode::torchtitan : ModelCode::hf;
  plan.seq = recorded.sequence_lengths;
  require_values(fields);
  set_options(plan, kCaseFields, fields);
  read_backend(fields, plan);
  plan.checkpoint = read_checkpoint(fields.at("checkpoint"));
  plan.lora = read_lora(fields);
  if (const Field clip = fields.at("grad_clip"); !clip.is_null() && clip.real() != 0) {
    plan.grad_clip = clip.real();
  }
  if (is_plain(root) && plan.loss.kind == LossKind::hf) {
    plan.loss.kind = LossKind::flat;  // that decoder takes no labels
  }
  if (!plan.training) {  // the recorder makes no optimizer then, and clips nothing
    plan.optimizer.kind = OptimizerKind::none;
    plan.grad_clip.reset();
  }
  plan.parallel = parallel;
  if (parallel.tp > 1 && !parallel.sequence_parallel) {
    plan.optimizer.param_groups =
        1;  // the recorder then has its own groups, all with the same settings
  }
  if (fields.at("dist").at("kind").text() == "gemini") {
    plan.framework = Framework::colossalai_gemini;
    plan.init = ModelInit::pretrained_half;
  }
  plan.gpu = read_plan_gpu(fields.at("rig"), recorded.gpu);
  const auto release = [](const std::string& of_file, const std::string& standard) {
    return of_file.empty() ? standard : of_file;
  };
  const Versions newest;
  plan.versions = {.torch = recorded.torch,
                   .transformers = release(recorded.transformers, newest.transformers),
                   .deepspeed = release(recorded.deepspeed, newest.deepspeed)};
  return plan;
}

}  // namespace highwater::recorded
