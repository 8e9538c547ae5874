#include "workloads/sources/settings/interpolation.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/scalar.hpp"

namespace highwater {
namespace {

/// A value that names a value that names a value, and so on.
constexpr int kMostSteps = 8;

/// What stands for a reference, a text with references in it, and all such texts of a file.
constexpr std::size_t kLongestValue = 4096;
constexpr std::size_t kLongestText = 65536;
constexpr std::size_t kMostText = std::size_t{16} << 20;

/// "a.b" of "x ${a.b} y", with where it stands; empty if there is none without another in it.
struct Reference {
  std::size_t begin = std::string::npos;
  std::size_t end = 0;
  std::string key;
};

Reference first_reference(const std::string& text, std::size_t from) {
  const std::size_t begin = text.find("${", from);
  const std::size_t end = text.find('}', begin == std::string::npos ? from : begin);
  if (begin == std::string::npos || end == std::string::npos) {
    return {};
  }
  return {begin, end + 1, text.substr(begin + 2, end - begin - 2)};
}

/// "NAME:8" and "oc.env:NAME,8": a variable of the environment, with what stands for it if it is
/// not set (Primus, primus/core/utils/yaml_utils.py; OmegaConf's resolver oc.env).
std::optional<std::string> fallback_of(std::string_view key) {
  constexpr std::string_view kResolver = "oc.env:";
  const bool is_resolver = key.starts_with(kResolver);
  const std::string_view rest = is_resolver ? key.substr(kResolver.size()) : key;
  const std::size_t end = rest.find(is_resolver ? ',' : ':');
  const bool is_variable = end != std::string_view::npos && end > 0 &&
                           std::ranges::all_of(rest.substr(0, end), [](unsigned char c) {
                             return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
                           });
  return is_variable ? std::optional(std::string(rest.substr(end + 1))) : std::nullopt;
}

std::optional<std::string> value_of(const std::string& key, const SettingList& settings) {
  const Setting* const meant = settings.find(key);
  if (meant == nullptr) {
    return fallback_of(key);
  }
  return meant->kind == SettingKind::null ? std::nullopt : std::optional(meant->value);
}

/// One step of every reference that a key answers, unless the text gets longer than any value.
bool replace_once(std::string& text, const SettingList& settings) {
  std::string result;
  bool replaced = false;
  std::size_t from = 0;
  for (Reference found = first_reference(text, from);
       found.begin != std::string::npos && result.size() < kLongestText;
       found = first_reference(text, from)) {
    const std::optional<std::string> value = value_of(found.key, settings);
    const bool is_known = value && value->size() < kLongestValue && *value != text;
    result.append(text, from, found.begin - from);
    result.append(is_known ? *value : text.substr(found.begin, found.end - found.begin));
    replaced = replaced || is_known;
    from = found.end;
  }
  text = std::move(result.append(text, from));
  return replaced;
}

std::string resolved(std::string text, const SettingList& settings) {
  for (int step = 0; step < kMostSteps && text.find("${") != std::string::npos; ++step) {
    if (text.size() > kLongestText || !replace_once(text, settings)) {
      break;
    }
  }
  return text;
}

}  // namespace

SettingList resolve_interpolations(SettingList settings, const std::string& file) {
  const SettingList written = settings;
  std::size_t total = 0;
  for (std::size_t i = 0; i < written.list().size(); ++i) {
    const Setting& setting = written.list()[i];
    if (setting.kind != SettingKind::text || setting.value.find("${") == std::string::npos) {
      continue;
    }
    Setting typed = typed_scalar(resolved(setting.value, written));
    total += typed.value.size();
    if (total > kMostText) {
      throw InputError(file, fmt::format("line {}", setting.line),
                       "values that name other values (\"${...}\") become more than 16 MiB",
                       "write the values themselves");
    }
    if (typed.value != setting.value) {
      settings.replace_value(i, std::move(typed.value), typed.kind);
    }
  }
  return settings;
}

}  // namespace highwater
