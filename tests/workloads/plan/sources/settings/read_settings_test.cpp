// Configuration files as flat lists: the same keys from YAML, TOML and JSON.
#include "workloads/plan/sources/settings/read_settings.hpp"

#include <catch2/catch.hpp>

#include "traces/error.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

SettingKind kind_of(const SettingList& settings, std::string_view key) {
  const Setting* const setting = settings.find(key);
  REQUIRE(setting != nullptr);
  return setting->kind;
}

}  // namespace

TEST_CASE("settings: the three formats say the same", "[plan][settings]") {
  const SettingList yaml = read_yaml_settings(
      "training: {seq_len: 8192, compile: no}\nfsdp: [full_shard, offload]\ndatasets:\n"
      "  - path: a\n    split: train\nseed: ~\n",
      "x.yaml");
  const SettingList toml = read_toml_settings(
      "fsdp = ['full_shard', 'offload']\n[training]\nseq_len = 8192\ncompile = false\n"
      "[[datasets]]\npath = 'a'\nsplit = 'train'\n",
      "x.toml");
  const SettingList json = read_json_settings(
      R"({"training": {"seq_len": 8192, "compile": false}, // a comment
          "fsdp": ["full_shard", "offload"], "datasets": [{"path": "a", "split": "train"}],
          "seed": null,})",
      "x.json");
  for (const SettingList* settings : {&yaml, &toml, &json}) {
    CHECK(settings->whole("training.seq_len") == 8192);
    CHECK(settings->find("training.compile")->value == "false");
    CHECK(kind_of(*settings, "training.compile") == SettingKind::boolean);
    CHECK(settings->text("fsdp") == "full_shard,offload");
    CHECK(settings->find("fsdp")->items.size() == 2);
    CHECK(settings->text("datasets.0.split") == "train");
  }
  CHECK(kind_of(yaml, "seed") == SettingKind::null);
  CHECK_FALSE(json.text("seed"));
  CHECK(toml.find("training.compile")->line == 4);
  CHECK(yaml.find("datasets.0.split")->line == 5);
}

TEST_CASE("settings: keys are alike with dashes and in upper case; the last one counts",
          "[plan][settings]") {
  SettingList settings;
  settings.add({"micro-batch-size", "1"});
  settings.add({"Micro_Batch_Size", "4"});
  CHECK(settings.whole("micro_batch_size") == 4);
  CHECK_FALSE(settings.whole("micro_batch"));
}

TEST_CASE("settings: YAML's quoted words, merged keys, references", "[plan][settings]") {
  const SettingList settings = read_yaml_settings(
      "base: &base {lr: 1e-4, bf16: 'true'}\nrun: {<<: *base, steps: 3}\nhidden: 64\n"
      "ffn: ${hidden}\nname: size-${hidden}\nother: ${missing.key}\nloop: ${loop}\n",
      "x.yaml");
  CHECK(settings.text("run.lr") == "1e-4");
  CHECK(kind_of(settings, "run.bf16") == SettingKind::text);
  CHECK(settings.whole("ffn") == 64);
  CHECK(kind_of(settings, "ffn") == SettingKind::number);
  CHECK(settings.text("name") == "size-64");
  CHECK(settings.text("other") == "${missing.key}");
  CHECK(settings.text("loop") == "${loop}");
}

TEST_CASE("settings: broken files are refused with the place", "[plan][settings]") {
  CHECK_THROWS_WITH(read_yaml_settings("a: [1, 2\nb: 3\n", "x.yaml"),
                    Contains("x.yaml: line 2") && Contains("not YAML"));
  CHECK_THROWS_WITH(read_yaml_settings("- a\n- b\n", "x.yaml"), Contains("YAML without keys"));
  CHECK_THROWS_WITH(read_yaml_settings("? [a, b]\n: 1\n", "x.yaml"),
                    Contains("line 1") && Contains("a key that is a list"));
  CHECK_THROWS_WITH(read_toml_settings("a = 1\nb = \n", "x.toml"),
                    Contains("x.toml: line 2") && Contains("not TOML"));
  CHECK_THROWS_WITH(read_json_settings("{\"a\": }", "x.json"), Contains("x.json: byte"));
  CHECK_THROWS_WITH(read_json_settings("[1]", "x.json"), Contains("JSON without keys"));
}

TEST_CASE("settings: aliases that multiply are refused, not expanded", "[plan][settings]") {
  std::string text = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 24; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    const std::string name = std::to_string(i);
    text += "a" + name + ": &a" + name + " {x: " + before + ", y: " + before + "}\n";
  }
  CHECK_THROWS_WITH(read_yaml_settings(text, "bomb.yaml"), Contains("more than 20000 settings"));
  std::string nested;
  for (int i = 0; i < 100; ++i) {
    nested += R"({"a":)";
  }
  CHECK_THROWS_WITH(read_json_settings(nested + "1" + std::string(100, '}'), "deep.json"),
                    Contains("deep.json"));
}
