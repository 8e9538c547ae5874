// Configuration files as flat lists: the same keys from YAML, TOML and JSON.
#include "workloads/sources/settings/read_settings.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/key_pattern.hpp"

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
  CHECK_THROWS_WITH(read_yaml_settings("- a\n- b\n", "x.yaml"), Contains("YAML that has no keys"));
  CHECK_THROWS_WITH(read_yaml_settings("? [a, b]\n: 1\n", "x.yaml"),
                    Contains("line 1") && Contains("a key that is a list"));
  CHECK_THROWS_WITH(read_toml_settings("a = 1\nb = \n", "x.toml"),
                    Contains("x.toml: line 2") && Contains("not TOML"));
  CHECK_THROWS_WITH(read_json_settings("{\"a\": }", "x.json"), Contains("x.json: byte"));
  CHECK_THROWS_WITH(read_json_settings("[1]", "x.json"), Contains("JSON that has no keys"));
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

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

SettingList toml_of(const std::string& text) {
  return read_toml_settings(text, "x.toml");
}

SettingList yaml_of(const std::string& text) {
  return read_yaml_settings(text, "x.yaml");
}

SettingList json_of(const std::string& text) {
  return read_json_settings(text, "x.json");
}

}  // namespace

TEST_CASE("settings: TOML keys of many parts are refused before they are parsed",
          "[plan][settings]") {
  const auto dotted = [](std::size_t parts) { return repeated("a.", parts - 1) + "a"; };
  CHECK(toml_of("x = 1\n" + dotted(64) + " = 1").find(dotted(64)) != nullptr);
  CHECK_THROWS_WITH(toml_of("x = 1\n" + dotted(65) + " = 1"),
                    Contains("x.toml: line 2: a key of more than 64 parts"));
  CHECK_THROWS_WITH(toml_of("x = \"\"\"\n\n\"\"\"\n[" + dotted(35'000) + "]\n"),
                    Contains("line 4: a key of more than 64 parts"));
  CHECK_THROWS_WITH(toml_of(dotted(35'000) + " = 1"), Contains("line 1: a key of more"));
  CHECK_THROWS_WITH(toml_of("[" + dotted(40) + "]\n" + dotted(40) + " = 1"), Contains("line 2"));
  CHECK_THROWS_WITH(toml_of("x = {" + dotted(40) + " = {" + dotted(40) + " = 1}}"),
                    Contains("line 1: a key of more"));
  CHECK_THROWS_WITH(toml_of("x = " + repeated("[", 5000) + repeated("]", 5000)),
                    Contains("values nested as deep"));
  CHECK_THROWS_WITH(toml_of(repeated("\"a b\".", 35'000) + "c = 1"), Contains("a key of more"));
}

TEST_CASE("settings: what looks like a long TOML key and is none", "[plan][settings]") {
  const std::string dots = repeated("a.", 100) + "a = [{[";
  const SettingList settings = toml_of(
      "# " + dots + "\n\"" + dots + "\" = 1\nc = \"\\\"" + dots + "\" # " + dots + "\nd = '" +
      dots + "'\ne = \"\"\"" + dots + "\n\\\"\"\" " + dots + "\"\"\"\"\"\nf = '''" + dots + "\n'" +
      dots + "''''\ng = [1.5, 2.5, # " + dots + "\n  3.5]\n[[h]]\ni = {j.k = 1, l = [1]}\n[[h]]\n");
  CHECK(settings.text(dots) == "1");
  CHECK(settings.text("c") == "\"" + dots);
  CHECK(settings.text("d") == dots);
  CHECK(settings.text("e") == dots + "\n\"\"\" " + dots + "\"\"");
  CHECK(settings.text("f") == dots + "\n'" + dots + "'");
  CHECK(settings.text("g") == "1.5,2.5,3.5");
  CHECK(settings.whole("h.0.i.j.k") == 1);
}

TEST_CASE("settings: limits hold while a file is read", "[plan][settings]") {
  std::string yaml;
  std::string toml;
  std::string json = "{";
  for (int i = 0; i < 20'001; ++i) {
    yaml += fmt::format("k{}: 1\n", i);
    toml += fmt::format("k{} = 1\n", i);
    json += fmt::format("\"k{}\": 1, ", i);
  }
  // What follows would be an error of its own, had it been reached.
  CHECK_THROWS_WITH(yaml_of(yaml + "'"), Contains("line 20001: more than 20000 settings"));
  CHECK_THROWS_WITH(toml_of(toml + "'"), Contains("line 20001: more than 20000 settings"));
  CHECK_THROWS_WITH(json_of(json + "'"), Contains("more than 20000 settings"));
  CHECK_THROWS_WITH(yaml_of("x: [" + repeated("1,", 200'001) + "'"),
                    Contains("more than 200000 values in lists"));
  CHECK_THROWS_WITH(json_of("{\"x\": [" + repeated("1,", 200'001) + "'"),
                    Contains("more than 200000 values in lists"));
  // Every setting below a long key would have a copy of it.
  const std::string wide(5000, 'k');
  CHECK_THROWS_WITH(json_of("{\"" + wide + "\": 1}"), Contains("a key of more than 4096"));
  CHECK_THROWS_WITH(yaml_of("a: 1\n? " + wide + "\n: {b: 1}\n"),
                    Contains("line 2: a key of more than 4096 characters"));
}

TEST_CASE("settings: aliases are what they stand for, within the limits", "[plan][settings]") {
  const SettingList settings =
      yaml_of("a: &a {b: [1, &two 2], c: &c x}\nd: *a\ne: [*c, *two]\n*c : 7\nf: &f [*a]\ng: *f\n");
  CHECK(settings.text("d.b") == "1,2");
  CHECK(settings.text("e") == "x,2");
  CHECK(settings.whole("x") == 7);
  CHECK(settings.text("g.0.c") == "x");
  CHECK_THROWS_WITH(yaml_of("a: &a {b: *a}"),
                    Contains("line 1: an alias that refers to the value around it"));
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    bomb += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  }
  CHECK_THROWS_WITH(yaml_of(bomb), Contains("more than 20000 settings"));
}

TEST_CASE("settings: values that name other values stay within bounds", "[plan][settings]") {
  std::string text = "a: " + std::string(4000, 'x') + "\nb: ${a}-${a}\n";
  CHECK(yaml_of(text).text("b")->size() == 8001);
  for (int i = 0; i < 500; ++i) {
    text += fmt::format("k{}: '{}'\n", i, repeated("${a}", 100));
  }
  CHECK_THROWS_WITH(yaml_of(text), Contains("become more than 16 MiB"));
}

TEST_CASE("settings: of a key that stands twice the last one counts, with all that is in it",
          "[plan][settings]") {
  const SettingList yaml = yaml_of("a: {x: 1, y: 2}\nb: 1\na: {x: 3}\nb: 4\n");
  const SettingList json = json_of(R"({"a": {"x": 1, "y": 2}, "b": 1, "a": {"x": 3}, "b": 4})");
  for (const SettingList* settings : {&yaml, &json}) {
    CHECK(settings->whole("a.x") == 3);
    CHECK(settings->find("a.y") == nullptr);
    CHECK(settings->whole("b") == 4);
    REQUIRE(settings->repeated_key());
    CHECK(settings->repeated_key()->key == "a");
  }
  CHECK(yaml.repeated_key()->line == 3);
  CHECK_FALSE(yaml_of("a: {x: 1}\nb: {x: 1}\nc: [{x: 1}, {x: 2}]\n<<: {a: 1}\n").repeated_key());
}

TEST_CASE("settings: patterns of keys", "[plan][settings]") {
  CHECK(matches_key("Metrics.*", "metrics.enable-x"));
  CHECK(matches_key("*", ""));
  CHECK(matches_key("a*b*c", "a-b-b_c"));
  CHECK(matches_key("*able_loss", "enable_loss"));
  CHECK(matches_key("a*a", "aa"));
  CHECK_FALSE(matches_key("a*a", "a"));
  CHECK_FALSE(matches_key("ab*bc", "abc"));
  CHECK_FALSE(matches_key("a*b*c", "a_c_b"));
  CHECK_FALSE(matches_key("a", "ab"));
  SettingList settings;
  settings.add({"a.x", "null", SettingKind::null});
  settings.add({"b.x", "2"});
  settings.add({"a.x", "3"});
  CHECK(settings.first_like("*.X")->value == "2");
  CHECK(settings.first_like("A.x")->value == "3");
  CHECK(settings.first_like("c*") == nullptr);
  settings.add({"c", "4"});
  CHECK(settings.first_like("c*")->value == "4");
}
