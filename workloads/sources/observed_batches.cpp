#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

/// Sequences and tokens of one forward pass.
struct BatchShape {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
};

std::vector<BatchShape> shapes_of(const ObservedFacts& facts) {
  std::vector<BatchShape> shapes;
  for (int i = 0;; ++i) {
    const auto shape = facts.wholes(fmt::format("batch.shapes.{}", i));
    if (shape.size() != 2) {
      return shapes;
    }
    shapes.push_back({shape[0], shape[1]});
  }
}

template <class Values>
bool are_equal(const Values& values) {
  return std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end();
}

std::vector<std::int64_t> shape_of_tensor(const ObservedFacts& facts, std::string_view name) {
  return facts.wholes(fmt::format("batch.tensors.{}", name));
}

void use_batch(const ObservedFacts& facts, std::string_view name, SourceKeys& keys) {
  const std::string path = fmt::format("batch.tensors.{}", name);
  keys.use(path, facts.shown(path), "batch", std::to_string(shape_of_tensor(facts, name).front()));
}

/// Images, as transformers' models call them, or at the first place or by the name that a forward
/// of timm or torchvision has for them.
std::string_view images_of(const ObservedFacts& facts) {
  constexpr std::array<std::string_view, 3> kNames{"pixel_values", "0", "x"};
  const auto* const found = std::ranges::find_if(
      kNames, [&](std::string_view name) { return shape_of_tensor(facts, name).size() == 4; });
  return found == kNames.end() ? std::string_view() : *found;
}

void use_images(const ObservedFacts& facts, std::string_view name, SourceKeys& keys) {
  const auto shape = shape_of_tensor(facts, name);
  const std::string path = fmt::format("batch.tensors.{}", name);
  use_batch(facts, name, keys);
  keys.use(path, facts.shown(path), "image-size", fmt::format("{}x{}", shape[2], shape[3]));
}

/// A spectrogram has its frames at either place; a second has a hundred of them.
void use_spectrogram(const ObservedFacts& facts, std::string_view name, SourceKeys& keys) {
  constexpr double kFrames = 100;  // architectures/sizes.py
  const auto shape = shape_of_tensor(facts, name);
  const std::string path = fmt::format("batch.tensors.{}", name);
  use_batch(facts, name, keys);
  keys.use(path, facts.shown(path), "audio-seconds",
           fmt::format("{}", static_cast<double>(std::max(shape[1], shape[2])) / kFrames));
}

/// Lists of images, as torchvision's detectors take them; of several sizes the largest counts.
bool read_listed_images(const ObservedFacts& facts, SourceKeys& keys) {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t count = 0;
  for (auto size = facts.wholes("batch.images.0"); size.size() == 2;
       size = facts.wholes(fmt::format("batch.images.{}", count))) {
    height = std::max(height, size[0]);
    width = std::max(width, size[1]);
    ++count;
  }
  if (count == 0) {
    return false;
  }
  keys.use("batch.images", facts.shown("batch.images"), "batch", std::to_string(count));
  keys.use("batch.images", facts.shown("batch.images"), "image-size",
           fmt::format("{}x{}", height, width));
  return true;
}

/// What a detector learns from: as many objects an image as the batch with most of them has.
void read_objects(const ObservedFacts& facts, SourceKeys& keys) {
  std::int64_t most = 0;
  bool are_same = true;
  for (int pass = 0;; ++pass) {
    const auto objects = facts.wholes(fmt::format("batch.objects.{}", pass));
    if (objects.empty()) {
      break;
    }
    const auto images = static_cast<std::int64_t>(objects.size());
    const auto all = std::accumulate(objects.begin(), objects.end(), std::int64_t{0});
    are_same = are_same && are_equal(objects) && (pass == 0 || all == most * images);
    most = std::max(most, (all + images - 1) / images);
  }
  if (most == 0) {
    return;
  }
  keys.use("batch.objects", facts.shown("batch.objects"), "objects", std::to_string(most));
  if (!are_same) {
    keys.add_not_supported("batch.objects", facts.shown("batch.objects"),
                           "images with several numbers of objects; simulated with as many in each "
                           "as the fullest batch has",
                           MemorySign::little);
  }
}

/// What is fed in the place of tokens, of the sizes of the first batch.
bool read_other_inputs(const ObservedFacts& facts, SourceKeys& keys) {
  constexpr double kSamples = 16000;  // of a waveform, a second
  const std::string_view images = images_of(facts);
  const auto wave = shape_of_tensor(facts, "input_values");
  if (read_listed_images(facts, keys)) {
    return true;
  }
  if (!images.empty()) {
    use_images(facts, images, keys);
  } else if (shape_of_tensor(facts, "input_features").size() == 3) {
    use_spectrogram(facts, "input_features", keys);
  } else if (wave.size() == 3) {  // the Audio Spectrogram Transformer
    use_spectrogram(facts, "input_values", keys);
  } else if (wave.size() == 2) {
    use_batch(facts, "input_values", keys);
    keys.use("batch.tensors.input_values", facts.shown("batch.tensors.input_values"),
             "audio-seconds", fmt::format("{}", static_cast<double>(wave[1]) / kSamples));
  } else {
    return false;
  }
  if (const auto labels = shape_of_tensor(facts, "labels"); labels.size() == 2) {
    keys.use("batch.tensors.labels", facts.shown("batch.tensors.labels"), "seq",
             std::to_string(labels[1]));
  }
  return true;
}

/// Tokens in the labels of each forward pass; older recorders told those of the first.
std::vector<std::int64_t> target_lengths(const ObservedFacts& facts) {
  const auto told = facts.wholes("batch.targets");
  const auto labels = shape_of_tensor(facts, "labels");
  return told.empty() && labels.size() == 2 ? std::vector{labels[1]} : told;
}

/// The labels' length where a model's decoder reads what an encoder has read.
void read_target(const ObservedFacts& facts, const std::vector<std::int64_t>& tokens,
                 SourceKeys& keys) {
  const auto targets = target_lengths(facts);
  const bool has_decoder = facts.flag("model.config.is_encoder_decoder").value_or(false);
  if (!has_decoder || targets.empty() || targets == tokens) {
    return;
  }
  const std::string most = std::to_string(std::ranges::max(targets));
  keys.use("batch.targets", fmt::format("{} tokens", fmt::join(targets, ", ")), "target-seq", most);
  if (!are_equal(targets)) {
    keys.add_not_supported("batch.targets", fmt::format("{} tokens", fmt::join(targets, ", ")),
                           "labels of several lengths; the longest is simulated");
  }
}

constexpr std::int64_t kChoices = 4;  // architectures/inputs.py CHOICES

/// Several sequences an example, one of which is right.
void read_choices(const ObservedFacts& facts, SourceKeys& keys) {
  const auto tokens = shape_of_tensor(facts, "input_ids");
  if (tokens.size() == 3 && tokens[1] != kChoices) {
    keys.add_not_supported("batch.tensors.input_ids", facts.shown("batch.tensors.input_ids"),
                           fmt::format("simulated with {} choices an example", kChoices));
  }
}

/// Of images beside a text: in pixels, or in the patches of a grid.
void read_image_beside_text(const ObservedFacts& facts, SourceKeys& keys) {
  constexpr std::int64_t kPatch = 14;  // Qwen2-VL and its kin; architectures/sizes.py
  const auto pixels = shape_of_tensor(facts, "pixel_values");
  const auto grid = facts.wholes("batch.grid");
  if (pixels.size() == 4) {
    keys.use("batch.tensors.pixel_values", facts.shown("batch.tensors.pixel_values"), "image-size",
             fmt::format("{}x{}", pixels[2], pixels[3]));
  } else if (grid.size() == 3) {
    const auto told = facts.whole("model.config.vision_config.patch_size");
    const std::int64_t patch = told.value_or(kPatch);
    keys.use("batch.grid", facts.shown("batch.grid"), "image-size",
             fmt::format("{}x{}", grid[1] * patch, grid[2] * patch));
  }
}

/// Tokens of a sequence that stand for an image or a sound, which plans do not count.
std::int64_t places_of(const ObservedFacts& facts) {
  return facts.whole("batch.places").value_or(0);
}

void read_shapes(const ObservedFacts& facts, SourceKeys& keys) {
  if (compares_pairs(facts)) {
    return read_observed_pairs(facts, keys);
  }
  const std::vector<BatchShape> shapes = shapes_of(facts);
  if (shapes.empty() && read_other_inputs(facts, keys)) {
    return;
  }
  if (shapes.empty()) {
    keys.add_not_supported("batch.tensors", facts.shown("batch.tensors"),
                           "no batch of tokens; give --batch and --seq");
    return;
  }
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> sequences;
  for (const BatchShape& shape : shapes) {
    const std::int64_t all = shape.tokens * sequence_ranks(facts);
    tokens.push_back(all > places_of(facts) ? all - places_of(facts) : all);
    sequences.push_back(shape.sequences);
  }
  const std::int64_t most = std::ranges::max(sequences);
  keys.use("batch.shapes", fmt::format("{} sequences", fmt::join(sequences, ", ")), "batch",
           std::to_string(most));
  if (!are_equal(sequences)) {
    keys.add_not_supported("batch.shapes", fmt::format("{} sequences", fmt::join(sequences, ", ")),
                           "batches of several sizes; the largest is simulated");
  }
  const std::string length = are_equal(tokens) ? std::to_string(tokens.front())
                                               : fmt::format("{}", fmt::join(tokens, ","));
  keys.use("batch.shapes", fmt::format("{} tokens", length), "seq", length);
  read_target(facts, tokens, keys);
  read_choices(facts, keys);
  read_image_beside_text(facts, keys);
}

void read_mask(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string mask = facts.text("batch.attention_mask").value_or("none");
  if (mask == "none" || mask == "full" || mask == "padded") {
    keys.use("batch.attention_mask", mask, "attention-mask", mask);
  } else {
    keys.add_not_supported("batch.attention_mask", mask,
                           mask == "shaped" ? "a mask of the script's own shape"
                                            : "whether it hides anything could not be read; give "
                                              "--attention-mask");
  }
}

void read_flag(const ObservedFacts& facts, const std::string& key, std::string_view option,
               SourceKeys& keys) {
  if (const auto value = facts.flag(key)) {
    keys.use(key, flag_word(*value), option, flag_word(*value));
  }
}

/// A script that deletes its outputs, or leaves the function of a step, has them for the backward
/// and the optimizer all the same.
void read_kept_outputs(const ObservedFacts& facts, SourceKeys& keys) {
  const bool until_next = facts.flag("batch.keeps_outputs").value_or(true);
  const bool in_step = facts.flag("batch.keeps_outputs_in_step").value_or(false);
  if (until_next || !in_step) {
    return read_flag(facts, "batch.keeps_outputs", "keep-logits", keys);
  }
  keys.use("batch.keeps_outputs_in_step", "true", "keep-logits", "true");
  keys.add_not_supported("batch.keeps_outputs", "false",
                         "the outputs are gone before the next step; simulated as if they were "
                         "there until its forward has returned",
                         MemorySign::less);
}

/// Trainer and TRL keep no outputs, whatever was alive between two of their forward passes.
void read_outputs(const ObservedFacts& facts, SourceKeys& keys) {
  read_kept_outputs(facts, keys);
  read_flag(facts, "batch.returns_cache", "use-cache", keys);
  if (facts.text("loop") == "plain" && facts.flag("batch.labels") == false &&
      !compares_pairs(facts)) {
    keys.add_not_supported("batch.labels", "false",
                           "the script computes the loss itself; give --loss");
  }
}

/// Parameters that were copied: an EMA, a target, a reference. `copied` counts them by type, as
/// `parameters` does those of the model.
void read_copies(const ObservedFacts& facts, SourceKeys& keys) {
  const boost::json::value* const copied = facts.find("model.copied");
  const boost::json::value* const own = facts.find("model.parameters");
  if (copied != nullptr && own != nullptr && *copied == *own) {
    keys.use("model.copied", facts.shown("model.copied"), "ema", "true");
  } else if (const auto count = facts.whole("model.copies"); count.value_or(0) > 0) {
    keys.add_not_supported("model.copies", std::to_string(*count),
                           "parameters in copies beside the model (an EMA, a target or a "
                           "reference), which are not simulated",
                           MemorySign::more);
  }
}

/// What a script does besides its training steps.
void read_other_work(const ObservedFacts& facts, SourceKeys& keys) {
  read_copies(facts, keys);
  const double smoothing = facts.number("label_smoothing").value_or(0);
  if (smoothing > 0 && facts.text("loop") == "trainer") {
    keys.use("label_smoothing", facts.shown("label_smoothing"), "label-smoothing",
             facts.shown("label_smoothing"));
  } else if (smoothing > 0) {
    keys.add_not_supported("label_smoothing", facts.shown("label_smoothing"),
                           "Trainer's own loss, which keeps more than the model's",
                           MemorySign::more);
  }
}

void read_steps(const ObservedFacts& facts, SourceKeys& keys) {
  if (const auto count = facts.whole("steps.count"); count && *count > 0) {
    keys.use("steps.count", std::to_string(*count), "steps", std::to_string(*count));
  }
  const auto micro_batches = facts.wholes("steps.micro_batches");
  if (micro_batches.empty() || runs_other_loop_of_trl(facts)) {
    return;
  }
  const std::string most =
      std::to_string(std::ranges::max(micro_batches) / passes_of_backward(facts));
  keys.use("steps.micro_batches", facts.shown("steps.micro_batches"), "grad-accum", most);
  if (!are_equal(micro_batches)) {
    keys.add_not_supported("steps.micro_batches", facts.shown("steps.micro_batches"),
                           "steps of several lengths; the longest is simulated",
                           MemorySign::little);
  }
  const auto emptied = facts.whole("steps.empties_cache").value_or(0);
  if (emptied > 0 && emptied + 1 >= static_cast<std::int64_t>(micro_batches.size())) {
    keys.use("steps.empties_cache", std::to_string(emptied), "empty-cache-every-step", "true");
  } else if (emptied > 0) {
    keys.add_not_supported("steps.empties_cache", std::to_string(emptied),
                           "the cache was emptied, but not in every step");
  }
}

/// "full", "every-N", or empty for other choices of a list's blocks.
std::string checkpoint_word(const std::vector<std::int64_t>& recomputed, std::int64_t blocks) {
  if (recomputed.empty() || blocks == 0) {
    return "";
  }
  const std::int64_t n = recomputed.front() + 1;
  std::vector<std::int64_t> expected;
  for (std::int64_t block = n - 1; block < blocks; block += n) {
    expected.push_back(block);
  }
  if (recomputed != expected) {
    return "";
  }
  return n == 1 ? "full" : fmt::format("every-{}", n);
}

/// What all lists of blocks agree on; empty if they do not, or if parts of blocks run again.
std::string checkpoint_word(const ObservedFacts& facts) {
  std::string word;
  for (int i = 0;; ++i) {
    const std::string path = fmt::format("checkpointing.blocks.{}.", i);
    const auto length = facts.whole(path + "length");
    if (!length) {
      return word;
    }
    const std::string of_list = checkpoint_word(facts.wholes(path + "whole"), *length);
    const bool is_first = i == 0;
    if (!facts.wholes(path + "part").empty() || of_list.empty() || (!is_first && of_list != word)) {
      return "";
    }
    word = of_list;
  }
}

void read_checkpointing(const ObservedFacts& facts, SourceKeys& keys) {
  if (facts.find("checkpointing") == nullptr) {
    keys.use("checkpointing", "none", "checkpoint", "none");
    return;
  }
  const std::string classes = facts.shown("checkpointing.classes");
  const std::string word = facts.flag("checkpointing.selective").value_or(false)
                               ? "selective-op"
                               : checkpoint_word(facts);
  if (word.empty()) {
    keys.add_not_supported("checkpointing.classes", classes,
                           "not the whole blocks of a plan; give --checkpoint");
    return;
  }
  keys.use("checkpointing.classes", classes, "checkpoint", word);
  const bool is_reentrant = facts.flag("checkpointing.reentrant").value_or(false);
  keys.use("checkpointing.reentrant", flag_word(is_reentrant), "checkpoint-impl",
           is_reentrant ? "reentrant" : "nonreentrant");
}

}  // namespace

void read_observed_batches(const ObservedFacts& facts, SourceKeys& keys) {
  read_steps(facts, keys);
  if (runs_other_loop_of_trl(facts)) {
    read_observed_trl(facts, keys);
  } else {
    read_shapes(facts, keys);
    read_observed_passes(facts, keys);
    read_objects(facts, keys);
    read_mask(facts, keys);
    read_outputs(facts, keys);
    read_other_work(facts, keys);
  }
  read_checkpointing(facts, keys);
}

}  // namespace highwater
