// The grammar of 2.10 and later: the options of CUDA first, then the common ones, in two passes
// over the same tokens.
//
// A ':' or ',' only has to exist; it is never compared, so odd punctuation shifts what is taken for
// a key instead of being refused. large_segment_size_mb is looked for before everything else
// because it is the lower bound of the split limits. Source: c10/core/AllocatorConfig.{h,cpp} and
// c10/cuda/CUDAAllocatorConfig.{h,cpp} between PyTorch 2.10 and 2.12; confirmed by what the
// releases answer: conf_cases.tsv in tests/data/conformance/releases.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "allocator/settings/settings_divisions.hpp"
#include "allocator/settings/settings_grammars.hpp"
#include "allocator/settings/settings_options.hpp"
#include "allocator/settings/settings_tokens.hpp"
#include "traces/error.hpp"

namespace highwater::detail {
namespace {

class TolerantParser {
 public:
  TolerantParser(std::string_view conf, const VersionPreset& version, Settings& settings)
      : tokens_(tokens_of(conf, DroppedSpace::all)), version_(&version), settings_(&settings) {}

  void parse() {
    parse_large_segment_sizes();
    settings_->max_non_split_rounding_size = settings_->large_segment_size;
    parse_options(kCudaOptions);
    parse_options(kCommonOptions);
  }

 private:
  struct Option {
    std::string_view name;
    void (TolerantParser::*parse)();
    bool Settings::*flag = nullptr;  ///< for parse_flag
  };

  /// Moves on to the next token, which must exist.
  const std::string& advance() { return at(++i_); }

  [[nodiscard]] const std::string& at(std::size_t i) const {
    if (i >= tokens_.size()) {
      throw SettingsError("Index out of bounds in ConfigTokenizer");
    }
    return tokens_[i];
  }

  /// Moves over the ':', or whatever stands for it, to the value.
  const std::string& value() {
    advance();
    return advance();
  }

  std::uint64_t whole_number() { return to_unsigned_long_long(value(), option_); }

  void parse_large_segment_sizes();
  void parse_options(std::span<const Option> options);
  void check_is_known() const;
  void skip_value();

  void parse_max_split_size() { settings_->max_split_size = split_limit(); }

  void parse_max_non_split_rounding() { settings_->max_non_split_rounding_size = split_limit(); }

  void parse_flag();
  Bytes split_limit();
  void parse_garbage_collection_threshold();
  void parse_divisions();
  void parse_division_list();
  [[nodiscard]] std::uint64_t listed_divisions();

  void parse_backend() { check_backend(value(), ", cudaMallocAsync != native"); }

  void parse_register_threads();
  void parse_reserve_segment_size();
  void parse_memory_fraction();

  static const std::array<Option, 7> kCommonOptions;
  static const std::array<Option, 9> kCudaOptions;

  std::vector<std::string> tokens_;
  const VersionPreset* version_;
  Settings* settings_;
  std::string option_;              ///< the option being read
  bool Settings::*flag_ = nullptr;  ///< its flag, if it is one
  std::size_t i_ = 0;               ///< the current token
};

const std::array<TolerantParser::Option, 7> TolerantParser::kCommonOptions{{
    {"large_segment_size_mb", &TolerantParser::skip_value},  // read before
    {"max_split_size_mb", &TolerantParser::parse_max_split_size},
    {"max_non_split_rounding_mb", &TolerantParser::parse_max_non_split_rounding},
    {"garbage_collection_threshold", &TolerantParser::parse_garbage_collection_threshold},
    {"roundup_power2_divisions", &TolerantParser::parse_divisions},
    {"expandable_segments", &TolerantParser::parse_flag, &Settings::expandable_segments},
    {"pinned_use_background_threads", &TolerantParser::parse_flag,
     &Settings::pinned_use_background_threads},
}};

const std::array<TolerantParser::Option, 9> TolerantParser::kCudaOptions{{
    {"backend", &TolerantParser::parse_backend},
    {"release_lock_on_hipmalloc", &TolerantParser::parse_flag,
     &Settings::release_lock_on_cudamalloc},
    {"release_lock_on_cudamalloc", &TolerantParser::parse_flag,
     &Settings::release_lock_on_cudamalloc},
    {"pinned_use_hip_host_register", &TolerantParser::parse_flag,
     &Settings::pinned_use_cuda_host_register},
    {"pinned_use_cuda_host_register", &TolerantParser::parse_flag,
     &Settings::pinned_use_cuda_host_register},
    {"pinned_num_register_threads", &TolerantParser::parse_register_threads},
    {"pinned_reserve_segment_size_mb", &TolerantParser::parse_reserve_segment_size},
    {"graph_capture_record_stream_reuse", &TolerantParser::parse_flag,
     &Settings::graph_capture_record_stream_reuse},
    {"per_process_memory_fraction", &TolerantParser::parse_memory_fraction},
}};

void TolerantParser::parse_large_segment_sizes() {
  constexpr std::uint64_t kMustExceed = kMinLargeAlloc.count() >> 20;
  for (i_ = 0; i_ < tokens_.size(); ++i_) {
    option_ = tokens_[i_];
    if (option_ == "large_segment_size_mb") {
      const std::uint64_t mebibytes = whole_number();
      if (mebibytes <= kMustExceed) {
        throw SettingsError(fmt::format(
            "CachingAllocator option large_segment_size_mb must be > {} MB", kMustExceed));
      }
      settings_->large_segment_size = Bytes{mebibytes_to_bytes(mebibytes)};
    }
  }
}

void TolerantParser::parse_options(std::span<const Option> options) {
  for (i_ = 0; i_ < tokens_.size(); i_ += 2) {  // over the ',', or whatever stands for it
    option_ = tokens_[i_];
    const auto found = std::ranges::find(options, option_, &Option::name);
    if (found != options.end()) {
      flag_ = found->flag;
      (this->*found->parse)();
    } else {
      check_is_known();
      skip_value();
    }
  }
}

/// Each pass skips the other's options; an option that neither knows is refused by the first.
void TolerantParser::check_is_known() const {
  const OptionRelease* const option = find_option(option_, *version_);
  if (option == nullptr) {
    throw UnknownOptionError(
        fmt::format("Unrecognized key '{}' in CUDA allocator config.", option_), option_);
  }
  if (option->effect == OptionEffect::not_modelled) {
    throw SettingsError(fmt::format("{} is not modelled; omit it", option_));
  }
}

void TolerantParser::skip_value() {
  if (value() != "[") {
    return;
  }
  while (++i_ < tokens_.size() && tokens_[i_] != "]") {
  }
  if (i_ == tokens_.size()) {
    throw SettingsError(
        "Expected closing bracket ']' in ConfigTokenizer but reached end of config");
  }
}

void TolerantParser::parse_flag() {
  const std::string& token = value();
  if (token != "True" && token != "False") {
    throw SettingsError(fmt::format(
        "Expected 'True' or 'False' at index {} in ConfigTokenizer but got '{}'", i_, token));
  }
  settings_->*flag_ = token == "True";
}

Bytes TolerantParser::split_limit() {
  const std::uint64_t smallest = settings_->large_segment_size.count() >> 20;
  const std::uint64_t mebibytes = whole_number();
  if (mebibytes < smallest) {
    throw SettingsError(
        fmt::format("CachingAllocator option {} too small, must be >= {}", option_, smallest));
  }
  return Bytes{mebibytes_to_bytes(mebibytes)};
}

void TolerantParser::parse_garbage_collection_threshold() {
  const double threshold = to_double(value(), option_);
  if (!(threshold > 0 && threshold < 1.0)) {
    throw SettingsError("garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
  }
  settings_->garbage_collection_threshold = threshold;
}

void TolerantParser::parse_divisions() {
  const std::string& token = value();
  if (token == "[") {
    parse_division_list();
    return;
  }
  const std::uint64_t divisions = to_unsigned_long_long(token, option_);
  if (!std::has_single_bit(divisions)) {
    throw SettingsError("For roundups, the divisions has to be power of 2 ");
  }
  settings_->roundup_power2_divisions.fill(divisions);
}

/// The list ends: the pass over the options of CUDA has looked for its ']'.
void TolerantParser::parse_division_list() {
  DivisionList list(settings_->roundup_power2_divisions);
  while (advance() != "]") {
    const std::string& interval = tokens_[i_];
    const std::uint64_t divisions = listed_divisions();
    if (interval == ">") {
      list.set_rest(1, divisions);
    } else {
      list.set(to_unsigned_long_long(interval, option_), divisions);
    }
    if (at(i_ + 1) != "]") {
      ++i_;  // the ',', or whatever stands for it
    }
  }
}

std::uint64_t TolerantParser::listed_divisions() {
  const std::uint64_t divisions = whole_number();
  if (divisions != 0 && !std::has_single_bit(divisions)) {
    throw SettingsError(
        "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
  }
  return divisions;
}

void TolerantParser::parse_register_threads() {
  const std::uint64_t threads = whole_number();
  if (!std::has_single_bit(threads)) {
    throw SettingsError(
        fmt::format("Number of register threads has to be power of 2, got {}", threads));
  }
  if (threads > kMaxRegisterThreads) {
    throw SettingsError(
        fmt::format("Number of register threads should be less than or equal to {}, got {}",
                    kMaxRegisterThreads, threads));
  }
  settings_->pinned_num_register_threads = threads;
}

/// Host memory: checked and dropped; the device allocator never sees it.
void TolerantParser::parse_reserve_segment_size() {
  if (whole_number() == 0) {
    throw SettingsError("Pinned reserve segment size has to be greater than 0");
  }
}

void TolerantParser::parse_memory_fraction() {
  const double fraction = to_double(value(), option_);
  if (!(fraction >= 0.0 && fraction <= 1.0)) {
    throw SettingsError("per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
  }
  settings_->per_process_memory_fraction = fraction;
}

}  // namespace

void apply_tolerant(std::string_view conf, const VersionPreset& version, Settings& settings) {
  TolerantParser(conf, version, settings).parse();
}

}  // namespace highwater::detail
