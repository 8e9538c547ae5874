// A plan that was found in a file instead of on the command line: what a recorded run was seen to
// do, and whatever else is read by --from.
//
// A reader per kind of file turns it into options. Each key that the file has ends as one of three
// things: the option that it became, without effect on memory, or not supported. Nothing is passed
// over, so a reader of the list knows what the plan lacks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {

struct OwnSettings;
struct Recording;

enum class KeyFate : std::uint8_t { used, no_effect, not_supported };

/// "used", "no effect", "not supported"
std::string_view to_string(KeyFate fate);

/// Which way a key that the simulation lacks can move memory. What changes it by less than one part
/// in a hundred, either way, is `little`.
enum class MemorySign : std::uint8_t { more, less, either, little };

/// "adds memory", "saves memory", "may change memory", "changes memory little"
std::string_view to_string(MemorySign sign);

struct SourceKey {
  std::string key;    ///< its path in the file: "optimizers.class"
  std::string value;  ///< as the file has it
  KeyFate fate = KeyFate::used;
  std::string meaning;  ///< "--optimizer adamw", or why it is not one
  /// Not supported: the option without which it leaves the plan. Used: the option that goes where
  /// the rest of the plan has no room for it.
  std::string lacks = {};
  MemorySign sign = MemorySign::either;  ///< not supported, or used and gone
  /// Not supported, and no default may stand for it: there is no plan until `lacks` is given.
  bool is_decisive = false;
};

/// What a file says by the defaults of earlier releases, which it could be of as well.
struct EarlierReading {
  std::string releases;  ///< "trl before 0.19"
  OptionWords words;
  OptionWords defaults;
};

/// The options that a file stands for. Some are a command's own (rank, capacity, alloc-conf), which
/// those commands that have them take.
struct PlanSource {
  std::string file;
  OptionWords words;
  OptionWords defaults;  ///< what the program takes where neither this nor another file says more
  std::vector<SourceKey> keys;
  std::string releases = {};  ///< those it was read as, and why; empty: the newest
  std::optional<EarlierReading> earlier = {};
  std::shared_ptr<const Recording> recording = {};  ///< that carries the plan
  std::shared_ptr<const OwnSettings> own = {};      ///< of a program: what was read
};

/// Collects what a reader finds, in the order of the file.
class SourceKeys {
 public:
  void use(std::string_view key, std::string value, std::string_view option, std::string word);

  /// The same of an option that combined_words() drops from plans which it does not go with: the
  /// key is not supported then, or without effect where it changes memory little.
  void use_if_simulated(std::string_view key, std::string value, std::string_view option,
                        std::string word, MemorySign sign);

  void add_no_effect(std::string_view key, std::string value, std::string why);

  /// `lacks` names the option that the key would have been, where there is one.
  void add_not_supported(std::string_view key, std::string value, std::string why,
                         std::string_view lacks = {}, MemorySign sign = MemorySign::either);

  void add_not_supported(std::string_view key, std::string value, std::string why, MemorySign sign);

  /// Whether the keys that follow are the program's defaults, which no file has.
  void are_defaults(bool value) { are_defaults_ = value; }

  [[nodiscard]] PlanSource finish() { return std::move(source_); }

 private:
  PlanSource source_;
  bool are_defaults_ = false;
};

}  // namespace highwater
