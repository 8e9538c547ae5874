// Version presets: which one stands for a release, and where behaviour changes.
#include "allocator/settings/version.hpp"

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "traces/release.hpp"

using namespace highwater;

TEST_CASE("version: a release has the last preset before it", "[allocator][version]") {
  const auto [release, preset] = GENERATE(table<std::string, std::string>({
      {"2.6", "2.6"},
      {"2.7", "2.6"},
      {"2.8", "2.8"},
      {"2.9", "2.8"},
      {"2.10", "2.10"},
      {"2.11", "2.11"},
      {"2.12", "2.12"},
      {"2.14", "2.13"},
      {"2.15", "2.15"},
  }));
  CAPTURE(release);
  CHECK(was_recorded(release));
  CHECK(version_preset(release).name == preset);
  CHECK(nearest_preset(release).name == preset);
}

TEST_CASE("version: outside the recorded releases there is a nearest preset only",
          "[allocator][version]") {
  const auto [release, nearest] = GENERATE(table<std::string, std::string>({
      {"", "2.6"},
      {"1.13", "2.6"},
      {"2.5", "2.6"},
  }));
  CAPTURE(release);
  CHECK_FALSE(was_recorded(release));
  CHECK(nearest_preset(release).name == nearest);
  CHECK_THROWS_AS(version_preset(release), UsageError);
}

TEST_CASE("version: later releases are taken as the newest known", "[allocator][version]") {
  for (const char* release : {"2.16", "3.0", "3"}) {
    CAPTURE(release);
    CHECK(is_newer_than_known(release));
    CHECK_FALSE(was_recorded(release));
    CHECK(version_preset(release).name == kNewestTorch);
  }
  CHECK_FALSE(is_newer_than_known(kNewestTorch));
}

TEST_CASE("version: an unknown release is refused with the list of presets",
          "[allocator][version]") {
  CHECK_THROWS_WITH(version_preset("2.5"),
                    Catch::Contains("--torch 2.5") &&
                        Catch::Contains("one of 2.6, 2.8, 2.10, 2.11, 2.12, 2.13, 2.15 or"));
}

TEST_CASE("version: a preset says what it was confirmed by", "[allocator][version]") {
  CHECK(version_preset("2.7").basis == "exact: confirmed by vectors recorded from the release");
  CHECK(version_preset("2.9").basis == "exact: confirmed by vectors recorded from 2.8 and 2.9");
  CHECK(version_preset("2.11").basis == "exact: confirmed by vectors recorded from the release");
  CHECK(version_preset("2.14").basis == "exact: confirmed by vectors recorded from 2.13 and 2.14");
}

TEST_CASE("version: releases compare as numbers", "[allocator][version]") {
  CHECK(is_since(version_preset("2.10"), "2.9"));
  CHECK(is_since(version_preset("2.10"), "2.10"));
  CHECK_FALSE(is_since(version_preset("2.10"), "2.11"));
  CHECK_FALSE(is_since(version_preset("2.10"), "3"));
}

TEST_CASE("version: each behaviour changes at its release and stays", "[allocator][version]") {
  for (const VersionPreset& preset : version_presets()) {
    CAPTURE(preset.name);
    CHECK((preset.empty_cache == EmptyCacheInSession::skips_default_pools) ==
          is_since(preset, "2.8"));
    CHECK((preset.fraction == FractionRule::below_one) == is_since(preset, "2.10"));
    CHECK((preset.sessions == SessionOrder::newest_first) == is_since(preset, "2.10"));
    CHECK((preset.grammar == SettingsGrammar::tolerant) == is_since(preset, "2.10"));
    CHECK((preset.ties == TieOrder::by_address) == !is_since(preset, "2.12"));
    CHECK((preset.ties == TieOrder::by_segment_age) == is_since(preset, "2.13"));
    CHECK((preset.open_pool == OpenPool::changes_nothing) == is_since(preset, "2.13"));
  }
}
