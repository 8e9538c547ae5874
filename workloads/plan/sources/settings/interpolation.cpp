#include "workloads/plan/sources/settings/interpolation.hpp"

#include <string>
#include <utility>

#include "workloads/plan/sources/settings/scalar.hpp"

namespace highwater {
namespace {

/// A value that names a value that names a value, and so on.
constexpr int kMostSteps = 8;

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

/// One step of every reference that a key answers.
bool replace_once(std::string& text, const SettingList& settings) {
  bool replaced = false;
  std::size_t from = 0;
  for (Reference found = first_reference(text, from); found.begin != std::string::npos;
       found = first_reference(text, from)) {
    const Setting* const meant = settings.find(found.key);
    const bool is_known = meant != nullptr && meant->kind != SettingKind::null &&
                          meant->value.size() < 4096 && meant->value != text;
    if (is_known) {
      text.replace(found.begin, found.end - found.begin, meant->value);
      replaced = true;
    }
    from = is_known ? found.begin + meant->value.size() : found.end;
  }
  return replaced;
}

void resolve(Setting& setting, const SettingList& settings) {
  std::string value = setting.value;
  for (int step = 0; step < kMostSteps && value.find("${") != std::string::npos; ++step) {
    if (value.size() > 65536 || !replace_once(value, settings)) {
      break;
    }
  }
  if (value != setting.value) {
    const Setting typed = typed_scalar(value);
    setting.value = typed.value;
    setting.kind = typed.kind;
  }
}

}  // namespace

SettingList resolve_interpolations(SettingList settings) {
  const SettingList written = settings;
  for (Setting& setting : settings.list()) {
    if (setting.kind == SettingKind::text) {
      resolve(setting, written);
    }
  }
  return settings;
}

}  // namespace highwater
