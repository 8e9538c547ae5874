#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/json/json_stream.hpp"
#include "workloads/sources/settings/read_settings.hpp"
#include "workloads/sources/settings/settings_builder.hpp"

namespace highwater {
namespace {

/// What Boost's parser finds, as settings.
class JsonSettings : public detail::JsonEvents {
 public:
  explicit JsonSettings(const std::string& file) : file_(&file), builder_(file) {}

  void begin_object() {
    ++depth_;
    builder_.begin_mapping(0);
  }

  void end_object() {
    --depth_;
    builder_.end_mapping();
  }

  void begin_array() {
    require_keys();
    ++depth_;
    builder_.begin_list(0);
  }

  void end_array() {
    --depth_;
    builder_.end_list();
  }

  void key(std::string_view text) { builder_.key(text, 0); }

  void text(std::string_view value) { add({{}, std::string(value)}); }

  void integer(std::int64_t value) { add_number(fmt::format("{}", value)); }

  void natural(std::uint64_t value) { add_number(fmt::format("{}", value)); }

  void real(double value) { add_number(fmt::format("{}", value)); }  // "0", not Boost's "0E0"

  void boolean(bool value) { add({{}, value ? "true" : "false", SettingKind::boolean}); }

  void null() { add({{}, "null", SettingKind::null}); }

  SettingList finish() { return builder_.finish(); }

 private:
  void add_number(std::string text) { add({{}, std::move(text), SettingKind::number}); }

  void add(Setting setting) {
    require_keys();
    builder_.value(std::move(setting));
  }

  void require_keys() const {
    if (depth_ == 0) {
      throw InputError(*file_, "", "JSON that has no keys",
                       "give the configuration of a training run");
    }
  }

  const std::string* file_;
  detail::SettingsBuilder builder_;
  std::size_t depth_ = 0;
};

}  // namespace

SettingList read_json_settings(std::string_view text, const std::string& file) {
  const auto source = memory_source(std::as_bytes(std::span(text)), file);
  JsonSettings settings(file);
  detail::JsonStream stream(*source, settings, "mend the file; programs would refuse it as well",
                            detail::JsonLeniency::comments_and_commas);
  while (stream.next()) {
  }
  return settings.finish();
}

}  // namespace highwater
