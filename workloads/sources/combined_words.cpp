#include "workloads/sources/combined_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "traces/release.hpp"
#include "workloads/sources/shortest_words.hpp"

namespace highwater {
namespace {

std::int64_t number_in(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// One where nobody says more.
std::int64_t degree(std::string_view option, const OptionWords& given, const OptionWords& found) {
  const std::string* text = find_word(given, option);
  text = text == nullptr ? find_word(found, option) : text;
  return text == nullptr ? 1 : number_in(*text);
}

/// Ranks that follow from the sequences of a step count where no launcher says how many there are:
/// else micro-batches follow from these (DeepSpeed's runtime/config.py).
void drop_ranks_of_batch(std::span<const PlanSource> sources, OptionWords& words) {
  const bool has_both = std::ranges::any_of(sources, [](const PlanSource& source) {
    return find_word(source.words, kGlobalBatch) != nullptr &&
           find_word(source.words, "dp") != nullptr;
  });
  if (has_both && find_word(words, "gpus") != nullptr) {
    std::erase_if(words, [](const OptionWord& word) { return word.first == "dp"; });
  }
}

/// What the other degrees leave of the GPUs, if they divide them.
std::optional<std::int64_t> ranks_left(const OptionWords& given, const OptionWords& found) {
  const std::string* const gpus = find_word(found, "gpus");
  if (gpus == nullptr || find_word(given, "dp") != nullptr || find_word(found, "dp") != nullptr) {
    return std::nullopt;
  }
  std::int64_t others = 1;
  for (const std::string_view option : std::array<std::string_view, 3>{"tp", "pp", "cp"}) {
    others *= degree(option, given, found);
  }
  const std::int64_t all = number_in(*gpus);
  return others > 0 && all >= others && all % others == 0 ? std::optional(all / others)
                                                          : std::nullopt;
}

/// As many micro-batches as fill a pipeline twice: where nobody says how many ranks share the
/// sequences, more of them would all be alike.
std::int64_t filling(const OptionWords& given, const OptionWords& found) {
  return 2 * degree("pp", given, found);
}

/// Micro-batches of a step, if the sequences of all ranks say how many.
std::optional<std::int64_t> micro_batches(const OptionWords& given, const OptionWords& found) {
  const std::string* const global = find_word(found, kGlobalBatch);
  if (global == nullptr || find_word(given, "grad-accum") != nullptr ||
      find_word(found, "grad-accum") != nullptr) {
    return std::nullopt;
  }
  const bool knows_ranks = find_word(given, "dp") != nullptr || find_word(found, "dp") != nullptr;
  const std::int64_t at_once = degree("batch", given, found) * degree("dp", given, found);
  const std::int64_t all = number_in(*global);
  if (at_once < 1 || all < at_once || all % at_once != 0) {
    return std::nullopt;
  }
  return knows_ranks ? all / at_once : std::min(all / at_once, filling(given, found));
}

/// One rank neither shards nor gathers nor reduces, but for torchtitan 0.3, which wraps the model
/// all the same.
void drop_sharding(const OptionWords& given, OptionWords& words) {
  constexpr std::array<std::string_view, 9> kOfRanks{
      "fsdp-units",    "reshard",      "dp-replicate",           "param-dtype", "reduce-dtype",
      "bucket-cap-mb", "static-graph", "find-unused-parameters", "bucket-view"};
  const std::string* const titan = find_word(words, "torchtitan");
  const std::int64_t ranks = degree("dp", given, words) * degree("cp", given, words);
  if (ranks == 1 && (titan == nullptr || *titan == "0.0")) {
    std::erase_if(words, [&](const OptionWord& word) {
      return std::ranges::find(kOfRanks, word.first) != kOfRanks.end();
    });
  }
}

bool is_one_of(const std::string* word, std::initializer_list<std::string_view> words) {
  return word != nullptr && std::ranges::find(words, *word) != words.end();
}

/// A file of accelerate or DeepSpeed says how a model is spread, not whose loop trains it.
bool keeps_framework(const OptionWords& words, const OptionWord& next) {
  return next.first == "framework" && is_one_of(&next.second, {"accelerate-fsdp2", "deepspeed"}) &&
         is_one_of(find_word(words, "framework"), {"trainer", "trl-sft"});
}

bool trains_adapters(const OptionWords& given, const OptionWords& words) {
  const std::string* const own = find_word(given, "lora");
  const std::string* const rank = own != nullptr ? own : find_word(words, "lora");
  return rank != nullptr && *rank != "0";
}

/// Evaluation is simulated on one GPU and under DDP, in Trainer and in plain loops, with
/// transformers' own loss (plan/rules/evaluation.cpp).
void drop_evaluation(const OptionWords& given, OptionWords& words) {
  const auto word_of = [&](std::string_view option) {
    const std::string* const own = find_word(given, option);
    return own != nullptr ? own : find_word(words, option);
  };
  constexpr std::array<std::string_view, 4> kDegrees{"tp", "pp", "cp", "ep"};
  const std::string* const kind = word_of("dp-kind");
  const std::string* const framework = word_of("framework");
  const bool is_known_loop = framework == nullptr || is_one_of(framework, {"trainer", "hf"});
  const bool is_whole = std::ranges::all_of(
      kDegrees, [&](std::string_view option) { return degree(option, given, words) == 1; });
  const std::string* const loss = word_of("loss");
  const bool has_own_loss = loss == nullptr || *loss == "hf";
  if (is_known_loop && is_whole && has_own_loss && (kind == nullptr || *kind == "ddp")) {
    return;
  }
  std::erase_if(words, [](const OptionWord& word) { return word.first.starts_with("eval-"); });
}

/// The loss of smoothed labels is Trainer's.
void drop_label_smoothing(const OptionWords& given, OptionWords& words) {
  const std::string* const own = find_word(given, "framework");
  if (!is_one_of(own != nullptr ? own : find_word(words, "framework"), {"trainer"})) {
    std::erase_if(words, [](const OptionWord& word) { return word.first == "label-smoothing"; });
  }
}

/// Mixed precision that one file asks for becomes that of the strategy that another names:
/// DeepSpeed has its own, and accelerate makes fp32 of what it shards and trains (accelerate 1.15
/// utils/fsdp_utils.py fsdp2_prepare_model).
void settle_precision(const OptionWords& given, OptionWords& words) {
  const std::string* const kind = find_word(words, "dp-kind");
  const auto precision = std::ranges::find(words, "precision", &OptionWord::first);
  if (kind == nullptr || precision == words.end() || find_word(given, "precision") != nullptr) {
    return;
  }
  std::string& word = precision->second;
  const bool is_mixed = word.starts_with("amp-") || word == "bf16+amp";
  if (kind->starts_with("zero") && is_mixed) {
    word = word == "amp-fp16" ? "fp16" : "bf16";
  } else if (kind->starts_with("fsdp") && word == "bf16+amp" && !trains_adapters(given, words) &&
             degree("dp", given, words) * degree("cp", given, words) > 1) {
    word = "amp-bf16";
  }
}

bool is_of_axolotl(const PlanSource& source) {
  return std::ranges::find(source.keys, "base_model", &SourceKey::key) != source.keys.end();
}

/// What a launcher says about how models are made goes for weights in 16 and 32 bits only
/// (transformers 5.24, modeling_utils.py get_init_context; accelerate 1.15, utils/fsdp_utils.py
/// fsdp2_prepare_model). axolotl's file says it of its own model.
void settle_quantized(std::span<const PlanSource> sources, const OptionWords& given,
                      OptionWords& words) {
  const bool is_quantized =
      find_word(words, "quantize") != nullptr || find_word(given, "quantize") != nullptr;
  if (is_quantized && std::ranges::none_of(sources, is_of_axolotl)) {
    std::erase_if(words, [](const OptionWord& word) {
      return word.first == "init" || word.first == "zero-init";
    });
  }
}

bool is_release(const OptionWord& word) {
  return word.first == "torch" || word.first == "transformers";
}

/// Those of the first source that has one: the program that is started, usually. Of the releases
/// that their keys tell, the oldest ran them all.
OptionWords defaults_of(std::span<const PlanSource> sources) {
  OptionWords words;
  for (const PlanSource& source : sources) {
    for (const OptionWord& word : source.defaults) {
      const auto known = std::ranges::find(words, word.first, &OptionWord::first);
      if (known == words.end()) {
        words.push_back(word);
      } else if (is_release(word) && release_of(word.second) < release_of(known->second)) {
        known->second = word.second;
      }
    }
  }
  return words;
}

}  // namespace

OptionWords combined_words(std::span<const PlanSource> sources, const OptionWords& given) {
  OptionWords words = defaults_of(sources);
  for (const PlanSource& source : sources) {
    for (const OptionWord& word : source.words) {
      if (keeps_framework(words, word)) {
        continue;
      }
      std::erase_if(words, [&](const OptionWord& before) { return before.first == word.first; });
      words.push_back(word);
    }
  }
  drop_ranks_of_batch(sources, words);
  if (const auto ranks = ranks_left(given, words)) {
    words.emplace_back("dp", std::to_string(*ranks));
  }
  if (const auto batches = micro_batches(given, words)) {
    words.emplace_back("grad-accum", std::to_string(*batches));
  }
  drop_sharding(given, words);
  settle_precision(given, words);
  drop_evaluation(given, words);
  drop_label_smoothing(given, words);
  settle_quantized(sources, given, words);
  return shortest_words(std::move(words));
}

}  // namespace highwater
