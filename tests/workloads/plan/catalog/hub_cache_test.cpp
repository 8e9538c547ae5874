// Models whose config.json the hub's library has downloaded. The layout is huggingface_hub's
// (file_download.py): models--OWNER--NAME/refs/main has the commit of a folder in snapshots/.
#include "workloads/plan/catalog/hub_cache.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

/// HF_HUB_CACHE with one model, as long as it lives.
class HubCache {
 public:
  explicit HubCache(const std::string& config) {
    const std::filesystem::path model = folder_.path() / "models--acme--coder-8b";
    std::filesystem::create_directories(model / "snapshots" / "0a1b");
    std::filesystem::create_directories(model / "refs");
    std::ofstream(model / "refs" / "main") << "0a1b\n";
    std::ofstream(model / "snapshots" / "0a1b" / "config.json") << config;
    ::setenv("HF_HUB_CACHE", folder_.path().c_str(), 1);
  }

  HubCache(const HubCache&) = delete;
  HubCache& operator=(const HubCache&) = delete;

  ~HubCache() { ::unsetenv("HF_HUB_CACHE"); }

 private:
  test::TempDir folder_;
};

}  // namespace

TEST_CASE("hub cache: a downloaded config.json is a model by its id", "[plan][catalog]") {
  const HubCache cache(
      R"({"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 3,)"
      R"( "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000})");
  const auto model = find_named_model("acme/coder-8b");
  REQUIRE(model);
  CHECK(model->name == "acme/coder-8b");
  CHECK(shape_of(*model).layers == 3);
  CHECK(!find_named_model("acme/other"));
  CHECK(find_named_model("gpt2")->name == "gpt2");
}

TEST_CASE("hub cache: what is no id is looked for nowhere", "[plan][catalog]") {
  const HubCache cache("{}");
  for (const std::string id : {"coder-8b", "acme/../coder-8b", "../x", "acme/", "a/b/c", ""}) {
    INFO(id);
    CHECK(!is_hub_id(id));
    CHECK(!cached_config(id));
  }
}

TEST_CASE("hub cache: who names an unknown id is told how its sizes are found", "[plan][catalog]") {
  CHECK_THAT(unknown_model("acme/none-such"), Contains("hf download acme/none-such config.json"));
  CHECK_THAT(unknown_model("none-such"), Contains("give its config.json"));
}
