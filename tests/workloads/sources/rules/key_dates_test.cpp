// Which releases a file was written for. Days are those of the package index
// (workloads/facts/releases.json): transformers 4.51 came on 5 April 2025, when PyTorch was at 2.6
// and TRL at 0.16; TRL 0.20 on 29 July 2025.
#include "workloads/sources/rules/key_dates.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace highwater;

namespace {

SettingList with_keys(std::initializer_list<const char*> keys) {
  SettingList list;
  for (const char* key : keys) {
    list.add({.key = key, .value = "1"});
  }
  return list;
}

KeyDates dates_of(const std::string& text) {
  static std::vector<boost::json::value> kept;  // the dates refer to its texts
  static const std::string kName = "made.json";
  kept.reserve(16);
  kept.push_back(boost::json::parse(text));
  return KeyDates(JsonField(kept.back(), "", kName, "correct it"));
}

const std::string kTrl =
    R"({"package": "trl", "until": {"0.19": ["max_seq_length"], "1.14": ["gamma"]},
        "since": {"0.16": ["padding_free"]}, "includes": ["training_arguments"]})";

}  // namespace

TEST_CASE("key dates: a dropped key dates all packages", "[plan][sources]") {
  const KeyDates dates = dates_of(kTrl);
  const FileReleases releases =
      dates.releases_of(with_keys({"bf16", "evaluation_strategy", "max_seq_length"}), "trl");
  CHECK(releases.key == "evaluation_strategy");
  CHECK(releases.of("transformers") == Release{4, 50});
  CHECK(releases.of("torch") == Release{2, 6});
  CHECK(releases.of("trl") == Release{0, 16});
  CHECK(describe(releases, "trl") ==
        "trl 0.16, transformers 4.50 and torch 2.6, the newest with evaluation_strategy");
}

TEST_CASE("key dates: of two dropped keys the one that went first counts", "[plan][sources]") {
  const KeyDates dates = dates_of(kTrl);
  CHECK(dates.releases_of(with_keys({"gamma", "max_seq_length"}), "trl").of("trl") ==
        Release{0, 19});
  CHECK(dates.releases_of(with_keys({"gamma"}), "trl").of("trl") == Release{1, 14});
}

TEST_CASE("key dates: keys that all releases have tell nothing", "[plan][sources]") {
  CHECK_FALSE(dates_of(kTrl).releases_of(with_keys({"bf16"}), "trl").are_known());
}

TEST_CASE("key dates: keys that no release has together tell nothing", "[plan][sources]") {
  const KeyDates dates = dates_of(kTrl);
  CHECK_FALSE(dates.releases_of(with_keys({"evaluation_strategy", "liger_kernel_config"}), "trl")
                  .are_known());
}

TEST_CASE("key dates: a key that a release brought bounds the program from below",
          "[plan][sources]") {
  const KeyDates dates = dates_of(kTrl);
  CHECK(dates.releases_of(with_keys({"padding_free", "max_seq_length"}), "trl").oldest_of_program ==
        Release{0, 16});
  CHECK(dates.releases_of(with_keys({"max_seq_length"}), "trl").oldest_of_program == Release{});
}

TEST_CASE("key dates: a program with a schema of its own is not dated by what it includes",
          "[plan][sources]") {
  const KeyDates dates =
      dates_of(R"({"own_schema": "translated", "includes": ["training_arguments"]})");
  CHECK_FALSE(dates.releases_of(with_keys({"evaluation_strategy"}), "").are_known());
}
