// The grammar of 2.6: every ':' and ',' is checked, True and False are the only booleans.
//
// Quirks that are kept because settings strings rely on them: a list of divisions may lack its ']'
// after a ',', "-1" MiB is practically unlimited, '>' overwrites the entry listed before it.
// Where the original reads past its last token (a list that ends after a value), its result is
// undefined; here the missing ',' is reported. Source: CUDAAllocatorConfig.cpp of PyTorch 2.6.0.
#include <algorithm>
#include <array>
#include <bit>
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

constexpr std::uint64_t kSmallestSplitMiB = 20;  // kLargeBuffer: the limits must exceed it

class StrictParser {
 public:
  StrictParser(std::string_view conf, Settings& settings)
      : tokens_(tokens_of(conf, DroppedSpace::blanks)), settings_(&settings) {}

  void parse() {
    while (!at_end()) {
      option_ = next();
      parse_option();
      if (!at_end()) {
        consume(',');
      }
    }
  }

 private:
  struct Option {
    std::string_view name;
    void (StrictParser::*parse)();
  };

  [[nodiscard]] bool at_end() const { return i_ >= tokens_.size(); }

  const std::string& next() { return tokens_[i_++]; }

  [[nodiscard]] bool next_is(std::string_view token) const {
    return !at_end() && tokens_[i_] == token;
  }

  void consume(char separator) {
    if (!next_is({&separator, 1})) {
      throw SettingsError(
          fmt::format("Error parsing CachingAllocator settings, expected {}", separator));
    }
    ++i_;
  }

  /// The token after ':', or the refusal `if_missing`.
  const std::string& value_or(const std::string& if_missing) {
    consume(':');
    if (at_end()) {
      throw SettingsError(if_missing);
    }
    return next();
  }

  const std::string& value() { return value_or(fmt::format("Error, expecting {} value", option_)); }

  void parse_option();

  void parse_max_split_size() { settings_->max_split_size = split_limit(); }

  void parse_max_non_split_rounding() { settings_->max_non_split_rounding_size = split_limit(); }

  Bytes split_limit();
  void parse_garbage_collection_threshold();
  void parse_divisions();
  void parse_uniform_divisions(const std::string& token);
  void parse_division_list();
  std::uint64_t parse_listed_divisions();
  void parse_register_threads();
  bool flag(std::string_view name, const std::string& token);

  void parse_backend() { check_backend(value_or("Error parsing backend value"), ""); }

  void parse_expandable_segments() {
    settings_->expandable_segments = bare_flag("expandable_segments");
  }

  void parse_release_lock() {
    settings_->release_lock_on_cudamalloc = bare_flag("release_lock_on_cudamalloc");
  }

  void parse_host_register() {
    settings_->pinned_use_cuda_host_register = pinned_flag("pinned_use_cuda_host_register");
  }

  void parse_background_threads() {
    settings_->pinned_use_background_threads = pinned_flag("pinned_use_background_threads");
  }

  /// A missing value is neither True nor False.
  bool bare_flag(std::string_view name) { return flag(name, value_or(expected_flag(name))); }

  /// A missing value has a message of its own.
  bool pinned_flag(std::string_view name) {
    return flag(name, value_or(fmt::format("Error, expecting {} value", name)));
  }

  static std::string expected_flag(std::string_view name) {
    return fmt::format("Expected a single True/False argument for {}", name);
  }

  static const std::array<Option, 12> kOptions;

  std::vector<std::string> tokens_;
  Settings* settings_;
  std::string option_;  ///< the option being read
  std::size_t i_ = 0;   ///< the next token
};

const std::array<StrictParser::Option, 12> StrictParser::kOptions{{
    {"max_split_size_mb", &StrictParser::parse_max_split_size},
    {"max_non_split_rounding_mb", &StrictParser::parse_max_non_split_rounding},
    {"garbage_collection_threshold", &StrictParser::parse_garbage_collection_threshold},
    {"roundup_power2_divisions", &StrictParser::parse_divisions},
    {"expandable_segments", &StrictParser::parse_expandable_segments},
    {"release_lock_on_cudamalloc", &StrictParser::parse_release_lock},
    {"release_lock_on_hipmalloc", &StrictParser::parse_release_lock},
    {"backend", &StrictParser::parse_backend},
    {"pinned_use_cuda_host_register", &StrictParser::parse_host_register},
    {"pinned_use_hip_host_register", &StrictParser::parse_host_register},
    {"pinned_num_register_threads", &StrictParser::parse_register_threads},
    {"pinned_use_background_threads", &StrictParser::parse_background_threads},
}};

void StrictParser::parse_option() {
  const auto found = std::ranges::find(kOptions, option_, &Option::name);
  if (found == kOptions.end()) {
    throw UnknownOptionError("Unrecognized CachingAllocator option: " + option_, option_);
  }
  (this->*found->parse)();
}

Bytes StrictParser::split_limit() {
  // A negative number wraps to a huge one, which passes the check and is then limited.
  const auto mebibytes = static_cast<std::uint64_t>(std::int64_t{to_int(value(), option_)});
  if (mebibytes <= kSmallestSplitMiB) {
    throw SettingsError(fmt::format("CachingAllocator option {} too small, must be > {}", option_,
                                    kSmallestSplitMiB));
  }
  return Bytes{mebibytes_to_bytes(mebibytes)};
}

void StrictParser::parse_garbage_collection_threshold() {
  const double threshold = to_double(value(), option_);
  if (!(threshold > 0)) {  // also for nan
    throw SettingsError("garbage_collect_threshold too small, set it 0.0~1.0");
  }
  if (!(threshold < 1.0)) {
    throw SettingsError("garbage_collect_threshold too big, set it 0.0~1.0");
  }
  settings_->garbage_collection_threshold = threshold;
}

void StrictParser::parse_divisions() {
  const std::string& token = value();
  if (token == "[") {
    parse_division_list();
  } else {
    parse_uniform_divisions(token);
  }
}

void StrictParser::parse_uniform_divisions(const std::string& token) {
  const auto divisions = static_cast<std::uint64_t>(std::int64_t{to_int(token, option_)});
  if (!std::has_single_bit(divisions)) {
    throw SettingsError("For roundups, the divisons has to be power of 2 ");
  }
  settings_->roundup_power2_divisions.fill(divisions);
}

void StrictParser::parse_division_list() {
  DivisionList list(settings_->roundup_power2_divisions);
  while (!at_end() && !next_is("]")) {
    const std::string interval = next();
    const std::uint64_t divisions = parse_listed_divisions();
    if (interval == ">") {
      list.set_rest(0, divisions);
    } else {
      list.set(to_unsigned_long(interval, option_), divisions);
    }
    if (!next_is("]")) {
      consume(',');
    }
  }
  ++i_;  // the closing bracket, which may be missing after a ','
}

std::uint64_t StrictParser::parse_listed_divisions() {
  const std::string& token = value_or("Error parsing roundup_power2_divisions value");
  const auto divisions = static_cast<std::uint64_t>(std::int64_t{to_int(token, option_)});
  if (divisions != 0 && !std::has_single_bit(divisions)) {
    throw SettingsError("For roundups, the divisons has to be power of 2 or 0 to disable roundup ");
  }
  return divisions;
}

void StrictParser::parse_register_threads() {
  const auto threads = static_cast<std::uint64_t>(std::int64_t{to_int(value(), option_)});
  if (!std::has_single_bit(threads)) {
    throw SettingsError("Number of register threads has to be power of 2 ");
  }
  if (threads > kMaxRegisterThreads) {
    throw SettingsError(fmt::format("Number of register threads should be less than or equal to {}",
                                    kMaxRegisterThreads));
  }
  settings_->pinned_num_register_threads = threads;
}

bool StrictParser::flag(std::string_view name, const std::string& token) {
  if (token != "True" && token != "False") {
    throw SettingsError(expected_flag(name));
  }
  return token == "True";
}

}  // namespace

void apply_strict(std::string_view conf, Settings& settings) {
  StrictParser(conf, settings).parse();
}

}  // namespace highwater::detail
