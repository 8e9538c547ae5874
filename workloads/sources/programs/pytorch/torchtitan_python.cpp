// torchtitan's configurations in Python (since February 2026), as the reader
// (tools/python/engine/.../torchtitan_config.py) prints them: {"program": "torchtitan", "model":
// {...}, "job": {...}} with the class of each part under "class".
//
// Sources: torchtitan 0.3, torchtitan/trainer.py Trainer.Config, config/configs.py,
// components/*, distributed/activation_checkpoint.py, models/llama3/config_registry.py.
#include <array>
#include <string>

#include <fmt/format.h>

#include "workloads/sources/programs/pytorch/torchtitan_keys.hpp"
#include "workloads/sources/rules/decoder_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {

using titan_keys::torchtitan_readers;

namespace {

std::int64_t titan_degree(const SettingList& all, std::string_view name) {
  return all.whole(fmt::format("job.parallelism.{}", name)).value_or(1);
}

/// The reader describes a Llama alone by the names of its config.json.
void read_titan_class(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.find("model.config.model_type") == nullptr) {
    keys.add_not_supported(setting.key, setting.value,
                           "of torchtitan's models the simulation has Llama 3 alone");
    return;
  }
  const auto size = [&](std::string_view name) {
    return all.whole(fmt::format("model.config.{}", name)).value_or(0);
  };
  const auto word = decoder_word({.layers = size("num_hidden_layers"),
                                  .hidden = size("hidden_size"),
                                  .heads = size("num_attention_heads"),
                                  .kv_heads = size("num_key_value_heads"),
                                  .ffn = size("intermediate_size"),
                                  .vocab = size("vocab_size"),
                                  .is_gated = true,
                                  .has_rms_norm = true,
                                  .has_rotary = true,
                                  .is_tied = all.is_on("model.config.tie_word_embeddings")});
  offer(setting, "model", word.value_or(""), keys);
}

void read_titan_attention(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value.starts_with("FlexAttention")) {
    keys.add_no_effect(setting.key, setting.value, "flex, the default here as well");
  } else {
    keys.add_not_supported(setting.key, setting.value, "attention by document (varlen)");
  }
}

/// Float8Linear and others replace torchtitan's own layers.
void read_layer_classes(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  bool is_float8 = false;
  for (const std::string& item : setting.items) {
    is_float8 = is_float8 || item.starts_with("Float8Linear");
    if (item.starts_with("MX") || item.starts_with("NVFP4") ||
        item.find("LoRA") != std::string::npos) {
      keys.add_not_supported(setting.key, item, "layers of other types or with adapters");
      return;
    }
  }
  if (is_float8) {
    offer(setting, "float8", "true", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "torchtitan's own layers");
  }
}

void read_policy(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value.starts_with("SelectiveAC")) {
    offer(setting, "checkpoint", "selective-op", keys);
  } else if (setting.value.starts_with("FullAC")) {
    offer(setting, "checkpoint", "full", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "the compiler keeps activations up to a share of them");
  }
}

void read_no_policy(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  offer(setting, "checkpoint", "none", keys);
}

void read_loss_class(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value.starts_with("ChunkedLossWrapper")) {
    offer(setting, "loss", "chunked-" + all.text("job.loss.num_chunks").value_or("8"), keys);
  } else if (setting.value.starts_with("CrossEntropyLoss")) {
    offer(setting, "loss", "flat", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "another loss");
  }
}

void read_loop(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "fused_opt_states_bf16") {
    keys.add_not_supported(setting.key, setting.value, "states in bf16 take half the memory",
                           MemorySign::less);
  } else {
    offer(setting, "optimizer-impl", setting.value == "for-loop" ? "loop" : setting.value, keys);
  }
}

void read_group_optimizer(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "AdamW" || setting.value == "Adam") {
    offer(setting, "optimizer", setting.value == "Adam" ? "adam" : "adamw", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "an optimizer with other states");
  }
}

void read_python_shards(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t copies = titan_degree(all, "data_parallel_replicate_degree");
  if (setting.value == "-1") {
    keys.add_no_effect(setting.key, setting.value, "all ranks that are left (--dp)");
  } else {
    offer(setting, "dp", std::to_string(copies * titan_degree(all, "data_parallel_shard_degree")),
          keys);
  }
}

void read_python_tp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer(setting, "tp", setting.value, keys);
  if (setting.value != "1") {
    const bool splits = all.text("job.parallelism.enable_sequence_parallel") != "false";
    offer(setting, "tp-kind", "dtensor", keys);
    offer(setting, "sp", splits ? "true" : "false", keys);
    offer(setting, "loss-parallel", "true", keys);
  }
}

void read_python_reshard(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "default") {
    keys.add_no_effect(setting.key, setting.value, "the default here as well");
  } else {
    offer(setting, "reshard", setting.value == "always" ? "all" : "never", keys);
  }
}

void read_python_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t batch = all.whole(setting.key).value_or(1);
  const std::int64_t size = titan_degree(all, "pipeline_parallel_microbatch_size");
  if (titan_degree(all, "pipeline_parallel_degree") > 1 && size > 0) {
    offer(setting, "batch", std::to_string(size), keys);
    offer(setting, "grad-accum", std::to_string(batch / size), keys);
  } else {
    offer(setting, "batch", setting.value, keys);
  }
}

void read_python_global(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "-1") {
    keys.add_no_effect(setting.key, setting.value, "one micro-batch a step");
  } else {
    offer(setting, "global-batch", setting.value, keys);
  }
}

void read_python_schedule(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (titan_degree(all, "pipeline_parallel_degree") == 1) {
    keys.add_no_effect(setting.key, setting.value, "one stage");
  } else if (setting.value == "1F1B" || setting.value == "GPipe" ||
             setting.value == "Interleaved1F1B") {
    offer(setting, "pp-schedule",
          setting.value == "1F1B"    ? "1f1b"
          : setting.value == "GPipe" ? "gpipe"
                                     : "interleaved",
          keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "another order of micro-batches");
  }
}

void read_stage_choice(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_default = setting.kind == SettingKind::null || setting.value.empty();
  if (titan_degree(all, "pipeline_parallel_degree") == 1 || is_default) {
    keys.add_no_effect(setting.key, setting.value, "one stage");
  } else {
    keys.add_not_supported(setting.key, setting.value, "stages with layers of your own choice");
  }
}

void read_python_compile(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const parts = all.find("job.compile.components");
  const bool has_model = parts == nullptr || parts->value.find("model") != std::string::npos;
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (has_model) {
    offer(setting, "compile", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the loss alone is compiled");
  }
}

/// CUDA graphs are on unless they are switched off.
void read_graphs(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "true") {
    keys.add_no_effect(setting.key, setting.value, "no graphs, as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "a CUDA graph keeps its memory in a pool of its own", MemorySign::more);
  }
}

void finish_titan_python(const SettingList& all, SourceKeys& keys) {
  offer({"(torchtitan)", "Python"}, "framework", "torchtitan", keys);
  offer({"(torchtitan)", "Python"}, "torchtitan", "0.3", keys);
  const std::int64_t copies = titan_degree(all, "data_parallel_replicate_degree");
  if (copies > 1) {
    offer({"job.parallelism.data_parallel_replicate_degree", std::to_string(copies)},
          "dp-replicate", std::to_string(copies), keys);
  }
}

constexpr std::array kTitanPythonReaders{
    NamedReader{"graphs", read_graphs},
    NamedReader{"group_optimizer", read_group_optimizer},
    NamedReader{"layer_classes", read_layer_classes},
    NamedReader{"loop", read_loop},
    NamedReader{"loss_class", read_loss_class},
    NamedReader{"no_policy", read_no_policy},
    NamedReader{"policy", read_policy},
    NamedReader{"python_batch", read_python_batch},
    NamedReader{"python_compile", read_python_compile},
    NamedReader{"python_global", read_python_global},
    NamedReader{"python_reshard", read_python_reshard},
    NamedReader{"python_schedule", read_python_schedule},
    NamedReader{"python_shards", read_python_shards},
    NamedReader{"python_tp", read_python_tp},
    NamedReader{"stage_choice", read_stage_choice},
    NamedReader{"titan_attention", read_titan_attention},
    NamedReader{"titan_class", read_titan_class},
};

}  // namespace

const Program& torchtitan_python() {
  static const Program kProgram = program_of_facts(
      "torchtitan_python", {kTitanPythonReaders, torchtitan_readers()}, finish_titan_python);
  return kProgram;
}

}  // namespace highwater::program_table
