// What several keys of a file say together, asked by the programs of the Hugging Face ecosystem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/sources/plan_source.hpp"
#include "workloads/sources/settings/setting.hpp"

namespace highwater::program_table {

/// A text as a template's argument.
template <std::size_t N>
struct FixedText {
  char text[N] = {};

  constexpr FixedText(const char (&given)[N]) {
    std::copy_n(given, N, text);
  }  // NOLINT(google-explicit-constructor): a template's argument
};

/// The first setting whose key matches `pattern` ('*' stands for any characters) and that is not
/// null; nullptr if there is none.
const Setting* first_like(const SettingList& all, std::string_view pattern);

/// Whether the setting says no: null, false, 0, "none", "no", "" or an empty list.
bool says_no(const Setting& setting);

/// Whether one of `patterns` is there and does not say no.
bool is_any_on(const SettingList& all, std::initializer_list<std::string_view> patterns);

/// The value of the first of `patterns` that is there.
std::optional<std::string> text_of(const SettingList& all,
                                   std::initializer_list<std::string_view> patterns);

/// "5e8", "5E8" and "500000000" are 500000000; absent for what is not a whole number.
std::optional<long long> whole_number(std::string_view text);

/// "$MODEL", "<path_to_model>", "...": a place that the reader has to fill in.
bool is_left_to_reader(std::string_view text);

/// "off, as it is here"
void note_off(const Setting& setting, SourceKeys& keys);

/// Uses the setting for `option` if it is a whole number. "auto" and null leave it alone.
void offer_whole(const Setting& setting, std::string_view option, SourceKeys& keys);

/// offer_whole() as the rule of a key.
template <FixedText kOption>
void read_whole(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer_whole(setting, kOption.text, keys);
}

}  // namespace highwater::program_table
