// One option changed: the others stay, whatever their values contain.
#include "allocator/settings/settings_change.hpp"

#include <catch2/catch.hpp>

#include "traces/error.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

using Parts = std::vector<std::string>;

const VersionPreset& release() {
  return version_preset("2.6");
}

}  // namespace

TEST_CASE("settings_change: brackets keep their commas", "[allocator][settings]") {
  CHECK(split_options("") == Parts{""});
  CHECK(split_options("a:1") == Parts{"a:1"});
  CHECK(split_options("a:[1:2,3:4],b:5") == Parts{"a:[1:2,3:4]", "b:5"});
}

TEST_CASE("settings_change: an option is added, replaced and taken out", "[allocator][settings]") {
  const Settings before =
      parse_settings("max_split_size_mb:64,roundup_power2_divisions:[256:1,512:2]", release());
  Settings expected = before;
  expected.garbage_collection_threshold = 0.5;
  CHECK(with_option(before, "garbage_collection_threshold", "0.5", release()) == expected);
  expected = before;
  expected.max_split_size = 128_MiB;
  CHECK(with_option(before, "max_split_size_mb", "128", release()) == expected);
  expected.max_split_size = kUnlimited;
  CHECK(with_option(before, "max_split_size_mb", kDefaultValue, release()) == expected);
  CHECK(with_option(Settings{}, "max_split_size_mb", kDefaultValue, release()) == Settings{});
  expected = before;
  expected.roundup_power2_divisions.fill(8);
  CHECK(with_option(before, "roundup_power2_divisions", "8", release()) == expected);
}

TEST_CASE("settings_change: the split limit alone is also called unlimited",
          "[allocator][settings]") {
  const Settings before = parse_settings("max_split_size_mb:64", release());
  CHECK(with_option(before, "max_split_size_mb", "unlimited", release()) == Settings{});
  CHECK_THROWS_AS(with_option(before, "max_non_split_rounding_mb", "unlimited", release()),
                  SettingsError);
}
