// Command line: `models` lists what is known by name and describes one model.
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace models_command_test {

TEST_CASE("models: the list has every reference model with its parameters", "[cli][models]") {
  const CommandRun list = run({"models", "--format", "json"});
  CHECK(list.code == ExitCode::ok);
  const auto root = boost::json::parse(list.out);
  CHECK(root.at("schema") == "highwater.models/1");
  CHECK(root.at("models").as_array().size() >= 43);
  CHECK_THAT(run({"models"}).out, Contains("llama-3.1-405b") && Contains("405853388800"));
  CHECK_THAT(run({"models", "--format", "csv"}).out, Contains("gpt2,gpt2,12,768,12,12,3072"));
}

TEST_CASE("models: one model in numbers, by name or from a file", "[cli][models]") {
  const CommandRun named = run({"models", "GPT2", "--format", "json"});
  CHECK(boost::json::parse(named.out).at("parameters").at("total") == 124439808);
  const test::TempDir folder;
  const std::string path = (folder / "config.json").string();
  std::ofstream(path) << R"({"model_type": "gpt2", "n_layer": 1})";
  const CommandRun file = run({"models", path, "--format", "csv"});
  CHECK(file.code == ExitCode::ok);
  CHECK_THAT(file.out, Contains("layers,1"));
}

TEST_CASE("models: unknown names and bad files are explained", "[cli][models]") {
  const CommandRun unknown = run({"models", "gpt3"});
  CHECK(unknown.code == ExitCode::usage);
  CHECK_THAT(unknown.err, Contains("'gpt2'"));
  const test::TempDir folder;
  const std::string path = (folder / "bad.json").string();
  std::ofstream(path) << R"({"model_type": "gpt2", "n_head": 7, "vocab_size": 0})";
  const CommandRun bad = run({"models", path});
  CHECK(bad.code == ExitCode::bad_input);
  CHECK_THAT(bad.err, Contains("n_head (7)") && Contains("vocab_size is 0"));
}

}  // namespace models_command_test
