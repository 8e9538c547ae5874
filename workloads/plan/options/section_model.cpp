// Options of the model, its batches and how it is computed.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "traces/parse_text.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/model_width.hpp"
#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/moe_load_axis.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

// Far above any real run, low enough that no product of a few limits overflows.
constexpr std::int64_t kMostSequences = 1'000'000;
constexpr std::int64_t kMostTokens = 100'000'000;
constexpr int kMostLabels = 1'000'000;

Complaint set_model(TrainingPlan& plan, std::string_view text, const AllowedValues& /*unused*/) {
  std::optional<ModelSpec> model = find_named_model(std::string(text));
  if (!model) {
    return unknown_model(text);
  }
  plan.model = *std::move(model);
  return std::nullopt;
}

constexpr OptionAxis kModel{
    {},
    [](const TrainingPlan& plan) -> OptionValue { return std::string(plan.model.name); },
    set_model};

/// Of the model that was read before.
Complaint set_hidden(TrainingPlan& plan, std::string_view text, const AllowedValues& range) {
  const Reading<std::int64_t> hidden = read_whole(text, range);
  if (!hidden.value || plan.model.name.empty()) {  // without a model that is what is wrong
    return assign(hidden, plan.model.width);
  }
  return set_width(plan.model, *hidden.value);
}

constexpr std::int64_t kWidestModel = 1 << 24;

/// Empty where the model has its own.
constexpr OptionAxis kHidden{WholeRange{1, kWidestModel},
                             [](const TrainingPlan& plan) -> OptionValue {
                               return plan.model.width ? OptionValue(*plan.model.width)
                                                       : OptionValue(std::string());
                             },
                             set_hidden};

/// The framework and the defaults that come with it.
constexpr OptionAxis kFramework{
    AllowedWords{kWordList<kFrameworks>},
    [](const TrainingPlan& plan) -> OptionValue {
      return std::string(word_of(kFrameworks, plan.framework));
    },
    [](TrainingPlan& plan, std::string_view text, const AllowedValues& list) -> Complaint {
      const Reading<std::size_t> position = read_word(text, list);
      if (position.value) {
        apply_framework(kFrameworks.at(*position.value).value, plan);
      }
      return position.complaint;
    }};

Complaint set_lengths(TrainingPlan& plan, std::string_view text, const AllowedValues& range) {
  std::vector<std::int64_t> lengths;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) {
      return "an empty length; write them as 512,1024";
    }
    const Reading<std::int64_t> length = read_whole(part, range);
    if (length.complaint) {
      return fmt::format("'{}': {}", part, *length.complaint);
    }
    lengths.push_back(*length.value);
  }
  plan.seq = lengths;
  return std::nullopt;
}

constexpr OptionAxis kSeq{WholeRange{1, kMostTokens},
                          [](const TrainingPlan& plan) -> OptionValue { return plan.seq; },
                          set_lengths};

constexpr std::int64_t kMostPixels = 65'536;  // of an edge
constexpr std::int64_t kMostFrames = 100'000;
constexpr std::int64_t kMostObjects = 10'000;
constexpr double kLongestSound = 86'400;  // a day

Reading<std::int64_t> read_edge(std::string_view text) {
  return read_whole(text, WholeRange{1, kMostPixels});
}

/// "224", or height and width as "480x640".
Complaint set_image_size(TrainingPlan& plan, std::string_view text, const AllowedValues&) {
  if (text == option_text(nullptr)) {
    plan.inputs.image.reset();
    return std::nullopt;
  }
  const std::size_t mark = text.find('x');
  const auto height = read_edge(text.substr(0, mark));
  const auto width = mark == std::string_view::npos ? height : read_edge(text.substr(mark + 1));
  if (!height.value || !width.value) {
    return "not a size in pixels; give an edge as 224, or height and width as 480x640";
  }
  plan.inputs.image = ImageSize{*height.value, *width.value};
  return std::nullopt;
}

constexpr OptionAxis kImageSize{
    {},
    [](const TrainingPlan& plan) -> OptionValue {
      const auto& image = plan.inputs.image;
      return image ? OptionValue(fmt::format("{}x{}", image->height, image->width))
                   : OptionValue(nullptr);
    },
    set_image_size};

/// The number in "every-2" or "chunked-16".
Reading<int> read_number_after(std::string_view stem, std::string_view text) {
  const auto number = parse_number<int>(text.substr(stem.size()));
  if (!number || *number < 1) {
    return {std::nullopt, fmt::format("{0} must be followed by a number >= 1, e.g. {0}2", stem)};
  }
  return {number, std::nullopt};
}

constexpr std::string_view kEvery = "every-";

Complaint set_checkpoint(TrainingPlan& plan, std::string_view text, const AllowedValues& list) {
  if (text.starts_with(kEvery)) {
    const Reading<int> n = read_number_after(kEvery, text);
    if (n.value) {
      plan.checkpoint.kind = CheckpointKind::every_n;
    }
    return assign(n, plan.checkpoint.n);
  }
  const Reading<std::size_t> position = read_word(text, list);
  if (position.value) {
    plan.checkpoint.kind = text == "selective" ? selective_kind(plan.framework)
                                               : kCheckpoints.at(*position.value).value;
  }
  return position.complaint;
}

constexpr OptionAxis kCheckpoint{AllowedWords{kWordList<kCheckpoints>},
                                 [](const TrainingPlan& plan) -> OptionValue {
                                   const Checkpoint& checkpoint = plan.checkpoint;
                                   return checkpoint.kind == CheckpointKind::every_n
                                              ? fmt::format("{}{}", kEvery, checkpoint.n)
                                              : std::string(word_of(kCheckpoints, checkpoint.kind));
                                 },
                                 set_checkpoint};

constexpr std::string_view kChunked = "chunked-";

Complaint set_loss(TrainingPlan& plan, std::string_view text, const AllowedValues& list) {
  if (text == "chunked") {
    plan.loss.kind = LossKind::chunked;
    return std::nullopt;
  }
  if (text.starts_with(kChunked)) {
    const Reading<int> chunks = read_number_after(kChunked, text);
    if (chunks.value) {
      plan.loss.kind = LossKind::chunked;
    }
    return assign(chunks, plan.loss.chunks);
  }
  const Reading<std::size_t> position = read_word(text, list);
  if (position.value) {
    plan.loss.kind = kLosses.at(*position.value).value;
  }
  return position.complaint;
}

constexpr OptionAxis kLoss{AllowedWords{kWordList<kLosses>},
                           [](const TrainingPlan& plan) -> OptionValue {
                             return plan.loss.kind == LossKind::chunked
                                        ? fmt::format("{}{}", kChunked, plan.loss.chunks)
                                        : std::string(word_of(kLosses, plan.loss.kind));
                           },
                           set_loss};

/// JSON says false, true (full) or "padded"; whatever a flag may be is understood as well.
constexpr OptionAxis kAttentionMask{
    AllowedWords{kWordList<kAttentionMasks>},
    [](const TrainingPlan& plan) -> OptionValue {
      const AttentionMask mask = plan.attention_mask;
      return mask == AttentionMask::padded ? OptionValue("padded")
                                           : OptionValue(mask == AttentionMask::full);
    },
    [](TrainingPlan& plan, std::string_view text, const AllowedValues& list) -> Complaint {
      if (const auto is_given = read_flag(text).value) {
        plan.attention_mask = *is_given ? AttentionMask::full : AttentionMask::none;
        return std::nullopt;
      }
      return word<Path<&TrainingPlan::attention_mask>, kAttentionMasks>().set(plan, text, list);
    }};

constexpr std::array kModelRows{
    Option{"model", "NAME|FILE", model, common,
           "a known model ('highwater models' lists them) or a config.json", "", kModel}
        .with_default("required")
        .and_more("with --engine torch also a folder of the hub, FILE.py:function, timm:NAME, "
                  "torchvision:NAME and diffusers:NAME"),
    Option{"hidden", "N", model, rare,
           "make the model wider or narrower: heads and feed-forward part in proportion",
           "the model's config.json", kHidden}
        .with_default("the model's own")
        .and_more(
            "heads keep their size, and key-value heads and the feed-forward size their ratio "
            "to the hidden size"),
    Option{"framework", "F", model, common, "training loop that sets the defaults",
           "Highwater's choice: a plain loop; torch, the bare one, with other --model-code",
           kFramework}
        .and_more("options override them. nemo is megatron with Apex's DistributedFusedAdam, "
                  "colossalai-gemini stands "
                  "for LLMem's scripts"),
    Option{"model-code", "C", model, common, "whose code runs; hf is transformers",
           "Highwater's choice", word<Path<&TrainingPlan::model_code>, kModelCodes>()},
    Option{"batch", "N", model, common, "sequences per micro-batch",
           "Highwater's choice: the smallest that the ranks can share",
           whole<Path<&TrainingPlan::batch>>(1, kMostSequences)},
    Option{"seq", "N[,N...]", model, common, "tokens per sequence, one length per micro-batch",
           "Highwater's choice: all positions of GPT-2", kSeq},
    Option{"target-seq", "N", model, rare,
           "tokens per sequence of labels, which a decoder beside an encoder reads",
           "transformers 5.24 models/t5/modeling_t5.py: decoder_input_ids are the labels, shifted",
           optional_whole<Path<&TrainingPlan::target_seq>, Absent::null>(1, kMostTokens)}
        .with_default("as many as --seq")
        .and_more("T5, BART, Marian, Whisper: --seq is the encoder's length then, and changes "
                  "alone; with "
                  "--loss contrastive it is that of the second texts"),
    Option{
        "image-size", "N|HxW", model, rare,
        "height and width of images in pixels; with --engine torch",
        "image_size in the model's config.json, timm's pretrained_cfg, torchvision's transforms, "
        "diffusers' sample_size; 224 in none",
        kImageSize}
        .with_default("the model's own")
        .and_more("a model whose configuration names the size is made for it; of diffusers' models "
                  "it is that of the sample (latents)"),
    Option{"audio-seconds", "S", model, rare, "length of sounds; with --engine torch",
           "Highwater's choice: 5 s of waveform; of a spectrogram, as many frames as the encoder "
           "has positions for",
           optional_real<OfInputs<&InputSizes::audio_seconds>, Absent::null>(
               1e-3, kLongestSound, "from 0.001 to 86400, or none for the model's own")}
        .with_default("the model's own"),
    Option{"video-frames", "N", model, rare, "frames of videos; with --engine torch",
           "num_frames in the model's config.json",
           optional_whole<OfInputs<&InputSizes::video_frames>, Absent::null>(1, kMostFrames)}
        .with_default("the model's own"),
    Option{"objects", "N", model, rare,
           "objects in each image that a detector learns from; with --engine torch",
           "COCO's instances_train2017.json: 860,001 boxes in 117,266 images",
           optional_whole<OfInputs<&InputSizes::objects>, Absent::null>(1, kMostObjects)}
        .with_default("7 of torchvision's detectors, 4 of transformers'"),
    Option{"varied-inputs", "", model, rare,
           "each batch has lengths of texts and sounds and sizes of images of its own, none above "
           "those given",
           "Highwater's choice: all batches alike", flag<OfInputs<&InputSizes::vary>>()}
        .and_more("texts padded to the longest of their batch; with it, --steps is 16"),
    Option{"precision", "P", model, common, "", "torch 2.6 torch.get_default_dtype()",
           word<Path<&TrainingPlan::precision>, kPrecisions>()}
        .and_more(
            "bf16+amp: a model in bf16 under autocast, as Trainer's bf16=True runs one that was "
            "loaded with dtype=torch.bfloat16"),
    Option{"attention", "A", model, common, "",
           "transformers 5.12 modeling_utils.py get_correct_attn_implementation; eager for classes "
           "without SDPA",
           word<Path<&TrainingPlan::attention>, kAttentions>()},
    Option{"checkpoint", "C", model, common, "",
           "transformers 5.12 training_args.py gradient_checkpointing", kCheckpoint},
    Option{"checkpoint-impl", "I", model, rare, "",
           "transformers 5.12 modeling_utils.py gradient_checkpointing_enable: use_reentrant",
           word<Path<&TrainingPlan::checkpoint, &Checkpoint::reentrant>, kCheckpointImpls>()},
    Option{"dropout", "X", model, rare, "replaces the model's own probabilities",
           "transformers 5.12, the model's config.json",
           optional_real<Path<&TrainingPlan::dropout>, Absent::null>(
               0, 1, "from 0 to 1, or none for the model's own")}
        .with_default("the model's own"),
    Option{"loss", "L", model, rare, "", "transformers 5.12 loss/loss_utils.py ForCausalLMLoss",
           kLoss},
    Option{
        "label-smoothing", "X", model, rare,
        "Trainer's label_smoothing_factor: a loss outside of the model, of all log-probabilities",
        "transformers 5.24 training_args.py label_smoothing_factor: 0.0",
        real<Path<&TrainingPlan::loss, &Loss::smoothing>>(0, 1, "from 0 to 1")},
    Option{"num-labels", "N", model, rare,
           "a head that sorts texts, images or sounds into N classes, of the class that the file "
           "names or of ...For{Sequence,Image,Audio,Video}Classification; 0: none",
           "Highwater's choice: language models",
           whole<Path<&TrainingPlan::model, &ModelSpec::labels>>(0, kMostLabels)},
    Option{"keep-logits", "", model, rare,
           "the model's output lives until the next forward has returned",
           "Highwater's choice: a loop that keeps only the loss",
           flag<Path<&TrainingPlan::keep_logits>>()},
    Option{"use-cache", "", model, rare, "the model returns keys and values",
           "Highwater's choice: training needs none, though transformers' configs ask for it",
           flag<Path<&TrainingPlan::use_cache>>()},
    Option{"attention-mask", "MASK", model, rare,
           "the model is given a [batch, seq] mask that hides nothing, or padding",
           "Highwater's choice: sequences are full", kAttentionMask}
        .or_alone(),
    Option{"data", "D", model, rare, "batches are copied from the host (to) or made on the device",
           "Highwater's choice: a DataLoader's batches are on the host",
           word<Path<&TrainingPlan::data>, kDataSources>()},
    Option{"init", "I", model, rare, "where the model is built",
           "Highwater's choice: torch 2.6 utils/_device.py; with fsdp2 meta, as torchtitan "
           "train.py",
           word<Path<&TrainingPlan::init>, kInits>()}
        .and_more(
            "pretrained-half: in fp32 on the host, moved, then converted; pretrained: read onto "
            "the GPU (from_pretrained with device_map, or TRL given a name), where one block of "
            "all weights comes first"),
    Option{"experts", "E", model, rare, "how a mixture routes",
           "Highwater's choice: the loop over experts; grouped_mm where transformers 5.12 "
           "modeling_utils.py get_correct_experts_implementation picks it",
           word<Path<&TrainingPlan::experts>, kExperts>()},
    Option{"moe-load", "even|busiest:X|zipf:S|FILE", model, rare,
           "how often a mixture's router chooses each expert",
           "Highwater's choice: all equally often", kMoeLoad}
        .and_more("busiest:X: the busiest rank of --ep, otherwise the busiest expert, gets X times "
                  "the mean. zipf:S: expert i gets a share in proportion to 1 / i^S. FILE has the "
                  "share of each expert, one number for each"),
    Option{"moe-noise", "W", model, rare, "experts deepspeed: MoE's noisy_gate_policy",
           "deepspeed 0.19.8 moe/layer.py",
           word<Path<&TrainingPlan::deepspeed_moe, &DeepspeedMoe::noise>, kGateNoises>()},
    Option{"moe-residual", "", model, rare,
           "experts deepspeed: MoE's use_residual, an MLP beside the experts",
           "deepspeed 0.19.8 moe/layer.py",
           flag<Path<&TrainingPlan::deepspeed_moe, &DeepspeedMoe::use_residual>>()},
    Option{"mode", "M", model, rare, "eval: forward only, without gradients",
           "torch 2.6 nn/modules/module.py: training = True",
           word<Path<&TrainingPlan::training>, kModes>()},
};

}  // namespace

std::span<const Option> model_options() {
  return kModelRows;
}

}  // namespace highwater::option_sections
