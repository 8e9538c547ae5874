// Unknown option names: which known one was probably meant.
#include "allocator/settings/settings_options.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "allocator/settings/settings.hpp"
#include "tests/allocator/settings/grammar_presets.hpp"

namespace highwater {
namespace {

TEST_CASE("settings_options: misspelt options are recognised", "[allocator][settings]") {
  const auto [key, meant] = GENERATE(table<std::string, std::string>({
      {"max_split_size", "max_split_size_mb"},
      {"MAX_SPLIT_SIZE_MB", "max_split_size_mb"},
      {"max_split_size_mb=128", "max_split_size_mb"},
      {"expandable_segment", "expandable_segments"},
      {"garbage_collect_threshold", "garbage_collection_threshold"},
      {"roundup_power2_division", "roundup_power2_divisions"},
      {"backed", "backend"},
  }));
  CHECK(nearest_option(key, strict()) == meant);
  CHECK(nearest_option(key, tolerant()) == meant);
}

TEST_CASE("settings_options: a suggestion is made only for unknown options",
          "[allocator][settings]") {
  const auto suggested = [](std::string_view conf, const VersionPreset& version) -> std::string {
    try {
      (void)parse_settings(conf, version);
    } catch (const SettingsError& error) {
      return suggestion(error, version);
    }
    return "no error";
  };
  CHECK(suggested("max_split_size:128", strict()) == "; did you mean max_split_size_mb?");
  CHECK(suggested("unknown_key:1", strict()).empty());
  CHECK(suggested(",", strict()).empty());
  CHECK(suggested("max_split_size_mb:x", strict()).empty());
  CHECK(suggested("large_segment_size:40", tolerant()) == "; did you mean large_segment_size_mb?");
  CHECK(suggested("large_segment_size_mb:40", strict()) == "; known to --torch 2.11");
  CHECK(nearest_option("large_segment_size_mb", strict()) == std::nullopt);
}

TEST_CASE("settings_options: four characters may differ, in short names a third of them",
          "[allocator][settings]") {
  CHECK(nearest_option("max_split_size_mb_all", strict()) == "max_split_size_mb");
  CHECK(nearest_option("max_split_size_mb_each", strict()) == std::nullopt);
  CHECK(nearest_option("bookend", strict()) == "backend");
  CHECK(nearest_option("boorend", strict()) == std::nullopt);
}

}  // namespace
}  // namespace highwater
