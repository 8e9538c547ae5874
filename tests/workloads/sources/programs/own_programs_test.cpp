#include "workloads/sources/programs/own_programs.hpp"

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "traces/error.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

constexpr std::string_view kOwn = R"({
  "about": "Ours.", "program": "ours", "releases": "ours of 2026", "scripts": ["finetune_ours.py"],
  "implies": [{"option": "framework", "word": "trainer", "because": "Trainer"}],
  "includes": ["training_arguments"],
  "keys": [{"read": "length", "keys": ["context"]}, {"ignored": "names only", "keys": ["team"]}]})";

}  // namespace

TEST_CASE("own programs: the files of a folder, by name", "[plan][sources][programs]") {
  const test::TempDir folder;
  test::write_file(folder / "b.json", std::string(kOwn));
  test::write_file(folder / "a.json", R"({"program": "first", "releases": "1"})");
  test::write_file(folder / "notes.txt", "no program");
  const std::vector<Program> programs = programs_in(folder.path());
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].name == "first");
  CHECK(programs[1].name == "ours");
  CHECK(programs[1].implies.front().word == "trainer");
  CHECK(programs[1].keys.find("context")->use == KeyRule::Use::context);
  CHECK(programs[1].keys.find("learning_rate") != nullptr);
  CHECK(programs_in(std::string(folder / "nowhere")).empty());
}

TEST_CASE("own programs: a wrong file names its place", "[plan][sources][programs]") {
  const test::TempDir folder;
  const auto message = [&](const std::string& text) {
    test::write_file(folder / "own.json", text);
    try {
      static_cast<void>(programs_in(folder.path()));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(message("{"), Contains("own.json: byte 1: not JSON"));
  CHECK_THAT(message("[]"), Contains("own.json: the file: expected an object"));
  CHECK_THAT(message(R"({"program": "x"})"), Contains("the field 'releases' is missing"));
  CHECK_THAT(
      message(R"({"program": "x", "releases": "1", "keys": [{"read": "no", "keys": ["a"]}]})"),
      Contains("keys[0].read: there is no reader 'no'"));
}
