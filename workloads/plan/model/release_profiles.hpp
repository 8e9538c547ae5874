// What a release of transformers does differently behind the decoder, as data: head and loss. Each
// table has a row per change; families that changed together share one.
//
// Read from the wheels of 4.29.2, 4.30.2, 4.31.0, 4.44.2 to 4.50.3, 4.53.3, 4.57.1, 5.0.0
// and 5.12.1.
#pragma once

#include <array>
#include <cstdint>

#include "traces/release.hpp"

namespace highwater {

/// Where a model class converts its logits to fp32 before the loss sees them.
enum class LogitsUpcast : std::uint8_t {
  never,
  head,        ///< at once: the logits of the output are fp32 as well
  around_loss  ///< for the loss; the logits of the output are cast back
};

/// How logits and labels are brought together.
enum class LossShift : std::uint8_t {
  logits,  ///< logits[..., :-1, :].contiguous(): another copy of them
  labels,  ///< labels are padded by one and shifted
  none     ///< the script gave shifted labels
};

struct VersionProfile {
  /// The head sees hidden_states[:, slice, :], whose backward makes zero-filled tensors.
  bool slices_hidden_states = true;
  LogitsUpcast upcast = LogitsUpcast::never;
  /// The loss is ForCausalLMLoss, which converts the logits to fp32 itself.
  bool has_loss_function = true;
  LossShift shift = LossShift::labels;
  /// loss.to(hidden_states.dtype)
  bool casts_loss_back = false;

  bool operator==(const VersionProfile&) const = default;
};

/// A profile and the release it starts with.
struct ProfileRow {
  Release from;
  VersionProfile profile;
};

inline constexpr VersionProfile kNewestProfile{};

/// Which rows of the hidden states the head gets: all, or those that logits_to_keep names.
enum class HeadRows : std::uint8_t { all, sliced };

/// Whether the loss returns to the type of the hidden states.
enum class LossType : std::uint8_t { as_computed, cast_back };

/// The class computes the loss itself: CrossEntropyLoss of shifted logits.
constexpr VersionProfile own_loss(HeadRows rows, LogitsUpcast upcast,
                                  LossType type = LossType::as_computed) {
  return {rows == HeadRows::sliced, upcast, false, LossShift::logits, type == LossType::cast_back};
}

constexpr VersionProfile loss_function(HeadRows rows, LossShift shift,
                                       LogitsUpcast upcast = LogitsUpcast::never,
                                       LossType type = LossType::as_computed) {
  return {rows == HeadRows::sliced, upcast, true, shift, type == LossType::cast_back};
}

/// LLaMA, Qwen, Gemma, Mixtral.
inline constexpr std::array kLlamaReleases{
    ProfileRow{{0, 0}, own_loss(HeadRows::all, LogitsUpcast::never)},
    ProfileRow{{4, 31}, own_loss(HeadRows::all, LogitsUpcast::head)},
    ProfileRow{{4, 45}, own_loss(HeadRows::sliced, LogitsUpcast::head)},
    ProfileRow{{4, 46}, loss_function(HeadRows::sliced, LossShift::logits)},
    ProfileRow{{4, 49}, kNewestProfile}};

inline constexpr std::array kMistralReleases{
    ProfileRow{{0, 0}, own_loss(HeadRows::all, LogitsUpcast::head)},
    ProfileRow{{4, 45}, own_loss(HeadRows::sliced, LogitsUpcast::head)},
    ProfileRow{{4, 48}, loss_function(HeadRows::sliced, LossShift::logits)},
    ProfileRow{{4, 49}, kNewestProfile}};

/// 4.51 and 4.52 were not read: the slices came after 4.50 and not later than 4.53.
inline constexpr std::array kGpt2Releases{
    ProfileRow{{0, 0}, own_loss(HeadRows::all, LogitsUpcast::never)},
    ProfileRow{{4, 48}, loss_function(HeadRows::all, LossShift::logits)},
    ProfileRow{{4, 49}, loss_function(HeadRows::all, LossShift::labels)},
    ProfileRow{{4, 53}, kNewestProfile}};

/// OPT, BLOOM, BioGPT, GPTBigCode.
inline constexpr std::array kOptReleases{
    ProfileRow{{0, 0}, own_loss(HeadRows::all, LogitsUpcast::never)},
    ProfileRow{{4, 48}, loss_function(HeadRows::all, LossShift::logits)},
    ProfileRow{{4, 49}, loss_function(HeadRows::all, LossShift::labels)},
    ProfileRow{{5, 0}, kNewestProfile}};

inline constexpr std::array kGptNeoReleases{
    ProfileRow{{0, 0}, own_loss(HeadRows::all, LogitsUpcast::around_loss, LossType::cast_back)},
    ProfileRow{{4, 48},
               loss_function(HeadRows::all, LossShift::logits, LogitsUpcast::around_loss,
                             LossType::cast_back)},
    ProfileRow{{4, 49},
               loss_function(HeadRows::all, LossShift::labels, LogitsUpcast::around_loss,
                             LossType::cast_back)},
    ProfileRow{{5, 0}, kNewestProfile}};

/// GPT-J and CodeGen.
inline constexpr std::array kGptJReleases{
    ProfileRow{{0, 0}, own_loss(HeadRows::all, LogitsUpcast::head, LossType::cast_back)},
    ProfileRow{
        {4, 48},
        loss_function(HeadRows::all, LossShift::logits, LogitsUpcast::head, LossType::cast_back)},
    ProfileRow{
        {4, 49},
        loss_function(HeadRows::all, LossShift::labels, LogitsUpcast::head, LossType::cast_back)},
    ProfileRow{{5, 0}, kNewestProfile}};

}  // namespace highwater
