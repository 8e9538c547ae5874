#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/interpolation.hpp"
#include "workloads/sources/settings/read_settings.hpp"
#include "workloads/sources/settings/scalar.hpp"
#include "workloads/sources/settings/settings_builder.hpp"

namespace highwater {
namespace {

using Anchor = YAML::anchor_t;

/// What the parser tells of: a value, the begin or end of a mapping or list, or the place of an
/// alias.
struct YamlEvent {
  enum class Kind : std::uint8_t { null, scalar, alias, begin_list, end_list, begin_map, end_map };

  Kind kind = Kind::null;
  std::size_t line = 0;
  bool is_quoted = false;
  std::string text = {};
  Anchor anchor = 0;  ///< of an alias: what it stands for; else its own, 0: none
};

std::size_t line_of(const YAML::Mark& mark) {
  return static_cast<std::size_t>(std::max(mark.line, -1) + 1);
}

/// A plain scalar has a type of its own; a quoted one is text.
Setting setting_of(YamlEvent event) {
  Setting setting = event.kind == YamlEvent::Kind::null ? Setting{{}, "null", SettingKind::null}
                    : event.is_quoted                   ? Setting{{}, std::move(event.text)}
                                                        : typed_scalar(event.text);
  setting.line = event.line;
  return setting;
}

/// Tells the builder what the events say: which scalars are keys, what aliases stand for.
class YamlSettings {
 public:
  explicit YamlSettings(const std::string& file) : file_(&file), builder_(file) {}

  void take(const YamlEvent& event) {
    record(event);
    carry_out(event);
  }

  SettingList finish() { return builder_.finish(); }

 private:
  /// The events of an anchor, among those that are kept.
  struct Anchored {
    std::size_t begin = 0;
    std::size_t end = 0;  ///< 0: it has not ended
  };

  struct OpenAnchor {
    Anchor name = 0;
    std::size_t depth = 0;
  };

  /// Whether the level is a mapping, and where in it a key stands next.
  struct Level {
    bool is_mapping = false;
    bool awaits_key = false;
  };

  static bool begins(const YamlEvent& event) {
    return event.kind == YamlEvent::Kind::begin_list || event.kind == YamlEvent::Kind::begin_map;
  }

  static bool ends(const YamlEvent& event) {
    return event.kind == YamlEvent::Kind::end_list || event.kind == YamlEvent::Kind::end_map;
  }

  /// Keeps what stands below an anchor for its aliases.
  void record(const YamlEvent& event) {
    const bool is_anchor = event.anchor != 0 && event.kind != YamlEvent::Kind::alias;
    if (is_anchor) {
      anchors_[event.anchor] = {kept_.size(), 0};
      open_.push_back({event.anchor, depth_});
    }
    if (!open_.empty()) {
      kept_.push_back(event);
    }
    depth_ += begins(event) ? 1U : 0U;
    depth_ -= ends(event) ? 1U : 0U;
    while (!open_.empty() && depth_ == open_.back().depth) {
      anchors_[open_.back().name].end = kept_.size();
      open_.pop_back();
    }
  }

  void carry_out(const YamlEvent& event) {
    if (event.kind == YamlEvent::Kind::alias) {
      replay(event);
    } else if (ends(event)) {
      end_level();
    } else if (!levels_.empty() && levels_.back().awaits_key) {
      take_key(event);
    } else {
      take_value(event);
    }
  }

  /// An alias takes as long as what it stands for: the builder's limits end what a few of them
  /// multiply.
  void replay(const YamlEvent& alias) {
    const Anchored meant = anchors_[alias.anchor];
    if (meant.end == 0) {
      throw InputError(*file_, fmt::format("line {}", alias.line),
                       "an alias that refers to the value around it", "write the value itself");
    }
    for (std::size_t i = meant.begin; i < meant.end; ++i) {
      carry_out(kept_[i]);
    }
  }

  void take_key(const YamlEvent& event) {
    if (event.kind != YamlEvent::Kind::scalar) {
      throw InputError(*file_, fmt::format("line {}", event.line),
                       "a key that is a list or a mapping", "write keys as words");
    }
    levels_.back().awaits_key = false;
    if (event.text == "<<") {
      builder_.merged_key(event.line);
    } else {
      builder_.key(event.text, event.line);
    }
  }

  void take_value(const YamlEvent& event) {
    if (levels_.empty() && event.kind != YamlEvent::Kind::begin_map) {
      throw InputError(*file_, "", "YAML that has no keys",
                       "give the configuration of a training run");
    }
    const bool is_mapping = event.kind == YamlEvent::Kind::begin_map;
    if (is_mapping) {
      builder_.begin_mapping(event.line);
    } else if (event.kind == YamlEvent::Kind::begin_list) {
      builder_.begin_list(event.line);
    } else {
      builder_.value(setting_of(event));
      return end_value();
    }
    levels_.push_back({is_mapping, is_mapping});
  }

  void end_level() {
    const bool is_mapping = levels_.back().is_mapping;
    levels_.pop_back();
    if (is_mapping) {
      builder_.end_mapping();
    } else {
      builder_.end_list();
    }
    end_value();
  }

  void end_value() {
    if (!levels_.empty()) {
      levels_.back().awaits_key = levels_.back().is_mapping;
    }
  }

  const std::string* file_;
  detail::SettingsBuilder builder_;
  std::vector<Level> levels_;
  std::size_t depth_ = 0;  ///< of the file's own events
  std::vector<YamlEvent> kept_;
  std::unordered_map<Anchor, Anchored> anchors_;
  std::vector<OpenAnchor> open_;
};

/// yaml-cpp's parser tells of what it reads, and keeps nothing: a tree of nodes would take 45 times
/// the file's size.
class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(YamlSettings& settings) : settings_(&settings) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, Anchor anchor) override {
    settings_->take({.line = line_of(mark), .anchor = anchor});
  }

  void OnAlias(const YAML::Mark& mark, Anchor anchor) override {
    settings_->take({.kind = YamlEvent::Kind::alias, .line = line_of(mark), .anchor = anchor});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, Anchor anchor,
                const std::string& value) override {
    settings_->take({.kind = YamlEvent::Kind::scalar,
                     .line = line_of(mark),
                     .is_quoted = tag == "!",
                     .text = value,
                     .anchor = anchor});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, Anchor anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    settings_->take({.kind = YamlEvent::Kind::begin_list, .line = line_of(mark), .anchor = anchor});
  }

  void OnSequenceEnd() override { settings_->take({.kind = YamlEvent::Kind::end_list}); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, Anchor anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    settings_->take({.kind = YamlEvent::Kind::begin_map, .line = line_of(mark), .anchor = anchor});
  }

  void OnMapEnd() override { settings_->take({.kind = YamlEvent::Kind::end_map}); }

 private:
  YamlSettings* settings_;
};

/// The first document of the file, as programs load it.
SettingList parse_yaml(std::string_view text, const std::string& file) {
  YamlSettings settings(file);
  YamlEvents events(settings);
  std::istringstream in{std::string(text)};
  YAML::Parser parser(in);
  if (!parser.HandleNextDocument(events)) {
    throw InputError(file, "", "YAML that has no keys", "give the configuration of a training run");
  }
  return settings.finish();
}

}  // namespace

SettingList read_yaml_settings(std::string_view text, const std::string& file) {
  try {
    return resolve_interpolations(parse_yaml(text, file), file);
  } catch (const YAML::Exception& error) {
    throw InputError(file,
                     fmt::format("line {}, column {}", error.mark.line + 1, error.mark.column + 1),
                     "not YAML: " + error.msg, "mend the file; programs would refuse it as well");
  }
}

}  // namespace highwater
