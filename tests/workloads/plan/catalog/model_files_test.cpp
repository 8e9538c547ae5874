// Files that describe a model: a recording's description, a config.json, a folder with one.
#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tests/workloads/plan/catalog/model_text.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/parameter_count.hpp"

using namespace highwater;
using test::model_from_text;
using test::model_text_error;
namespace json = boost::json;
using Catch::Matchers::Contains;

TEST_CASE("recordings: a description with family and config", "[models]") {
  const ModelSpec plain = model_from_text(
      R"({"family": "plain", "source": "plain",
          "config": {"vocab": 32000, "dim": 768, "ffn": 3072, "layers": 12, "heads": 12,
                     "kv_heads": 12}})");
  CHECK(plain.config.as<TorchtitanConfig>() == TorchtitanConfig{.kv_heads = 12});
  const ModelSpec gpt2 = model_from_text(
      R"({"family": "gpt2", "source": "transformers", "config": {"model_type": "gpt2"}})");
  CHECK(gpt2.config.as<Gpt2Config>() == Gpt2Config{});
  CHECK_THAT(model_text_error(R"({"family": "plain", "config": {"vocab": 1}})"),
             Contains("config.dim is missing"));
}

TEST_CASE("files: errors have a position, names come from the file", "[models]") {
  const test::TempDir folder;
  const std::string broken = (folder / "broken.json").string();
  std::ofstream(broken) << R"({"model_type": "gpt2", )";
  CHECK_THROWS_WITH(read_model(broken), Contains("byte 23") && Contains("not JSON"));
  const std::string twice = (folder / "twice.json").string();
  std::ofstream(twice) << "{} {}";
  CHECK_THROWS_WITH(read_model(twice), Contains("byte 3"));
  CHECK_THROWS_AS(read_model((folder / "absent.json").string()), InputError);
  const std::string small = (folder / "my-gpt2.json").string();
  std::ofstream(small) << R"({"model_type": "gpt2", "n_layer": 2})";
  CHECK(read_model(small).name == "my-gpt2");
  CHECK(read_model(small).source == small);
}

TEST_CASE("files: a folder is its config.json, and no path is taken for a name", "[models]") {
  const test::TempDir folder;
  const std::string path = folder.path().string();
  CHECK_THROWS_WITH(named_model(path), Contains("is a folder without a config.json"));
  std::ofstream(folder / "config.json") << R"({"model_type": "gpt2", "n_layer": 2})";
  CHECK(named_model(path).config.as<Gpt2Config>().n_layer == 2);
  CHECK(named_model(path).family_defaults.size() > 5);
  CHECK(named_model("gpt2").family_defaults.empty());
  CHECK_THROWS_WITH(named_model("/no/such/model"), Contains("does not exist"));
  CHECK_THROWS_WITH(named_model("/dev/null"), Contains("not JSON"));
  CHECK_THROWS_WITH(named_model("/dev/zero"), Contains("larger than 16 MiB"));
}

TEST_CASE("recordings: every model of the shared recordings is read", "[models][shared][long]") {
  namespace fs = std::filesystem;
  const fs::path truth = HIGHWATER_SHARED_DATA "/truth";
  if (!fs::exists(truth)) {
    WARN("skipped: shared data absent");
    return;
  }
  int compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(truth)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    std::ifstream file(entry.path());
    const json::value recording =
        json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    INFO(entry.path());
    const ModelSpec spec = model_from_json(recording.at("model"), entry.path().string());
    CHECK(model_problems(spec).empty());
    if (recording.at("case").at("overrides").as_object().empty()) {
      const ModelSpec& preset = model_preset(recording.at("case").at("model").as_string().c_str());
      CHECK(parameter_count(spec.config) == parameter_count(preset.config));
      ++compared;
    }
  }
  CHECK(compared > 0);
}
