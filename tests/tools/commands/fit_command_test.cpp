// Command line: `fit` and `simulate --from run.hwp` on recordings of real PyTorch on the fake
// device.
//
// Each program was recorded at four small sizes and at larger ones; what is predicted at these must
// be what was recorded there.
#include <filesystem>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace fit_command_test {
namespace fs = std::filesystem;

namespace {

const std::string kFolder = HIGHWATER_SOURCE "/traces/recorded/scaling/";

/// A program of the bundled recordings, whose names are NAME-BATCH-SIZE.
struct Bundled {
  std::string name;
  std::string size;  ///< what its second integer is
  std::vector<std::pair<int, int>> fitted;
  std::vector<std::pair<int, int>> predicted;

  [[nodiscard]] std::string path(std::pair<int, int> point) const {
    return fmt::format("{}{}-{}-{}.hwt.xz", kFolder, name, point.first, point.second);
  }

  [[nodiscard]] std::string named(std::pair<int, int> point) const {
    return fmt::format("{}:batch={},{}={}", path(point), point.first, size, point.second);
  }

  [[nodiscard]] std::string fit_line(const std::string& output) const {
    std::string line = "fit";
    for (const auto& point : fitted) {
      line += " " + named(point);
    }
    return line + " --output " + output;
  }
};

const Bundled kGpt2{
    "gpt2_loop", "seq", {{2, 256}, {4, 256}, {2, 512}, {4, 768}}, {{16, 512}, {4, 3072}}};
const Bundled kEncoder{"encoder", "seq", {{2, 256}, {4, 256}, {2, 512}, {4, 768}}, {{64, 512}}};
const Bundled kResnet{
    "resnet", "side", {{4, 64}, {8, 64}, {4, 128}, {8, 192}}, {{32, 128}, {8, 768}}};

std::string simulate_line(const Bundled& program, const std::string& file,
                          std::pair<int, int> point) {
  return fmt::format("simulate --from {} --batch {} --{} {}", file, point.first, program.size,
                     point.second);
}

boost::json::object recorded_peak(const std::string& path) {
  return json_of("replay " + path).at("devices").as_array()[0].at("peak").as_object();
}

/// A program that is fitted once and kept for a test.
struct Fitted {
  explicit Fitted(const Bundled& bundled)
      : file((folder.path() / "run.hwp").string()), report(json_of(bundled.fit_line(file))) {}

  test::TempDir folder;
  std::string file;
  boost::json::object report;
};

std::vector<std::string> kinds(const boost::json::object& run) {
  std::vector<std::string> found;
  for (const auto& warning : run.at("warnings").as_array()) {
    found.emplace_back(warning.at("kind").as_string());
  }
  return found;
}

}  // namespace

TEST_CASE("fit: peaks at several times the recorded sizes are those recorded there", "[cli][fit]") {
  const Bundled& program = GENERATE(from_range(std::vector<Bundled>{kEncoder, kGpt2, kResnet}));
  const Fitted fitted(program);
  for (const auto& point : program.predicted) {
    CAPTURE(program.name, point);
    const auto run = json_of(simulate_line(program, fitted.file, point));
    CHECK(run.at("peak") == boost::json::value(recorded_peak(program.path(point))));
    CHECK(run.at("verified") == false);
    CHECK_THAT(kinds(run), Catch::Matchers::VectorContains(std::string("beyond")));
  }
}

TEST_CASE("fit: workspaces of reductions follow the GPU, and what is beyond is the only doubt",
          "[cli][fit]") {
  const Fitted fitted(kEncoder);
  CHECK(fitted.report.at("requests").at("determined") == 0);
  CHECK(fitted.report.at("requests").at("estimated") == 0);
  CHECK(fitted.report.at("changes").as_array().empty());
  CHECK(fitted.report.at("notes").as_array().empty());
  const auto run = json_of(simulate_line(kEncoder, fitted.file, {64, 512}));
  CHECK(kinds(run) == std::vector<std::string>{"beyond"});
  CHECK(run.at("estimated_range").is_null());
}

TEST_CASE("fit: where recordings do not name the GPU --gpu does", "[cli][fit]") {
  const test::TempDir folder;
  std::string line = "fit";
  for (const auto& point : kEncoder.fitted) {
    const std::string file =
        (folder.path() / fmt::format("{}-{}.hwt", point.first, point.second)).string();
    REQUIRE(run_line("convert " + kEncoder.path(point) + " " + file + " --device 0").code ==
            ExitCode::ok);
    line += fmt::format(" {}:batch={},seq={}", file, point.first, point.second);
  }
  line += " --output " + (folder.path() / "x.hwp").string();
  const auto unknown = json_of(line);
  CHECK(unknown.at("requests").at("determined").to_number<int>() > 0);
  CHECK_THAT(std::string(unknown.at("notes").as_array().at(0).as_string()),
             Contains("say it with --gpu NAME"));
  const auto known = json_of(line + " --gpu h100-80");
  CHECK(known.at("requests").at("determined") == 0);
  CHECK(known.at("notes").as_array().empty());
}

TEST_CASE("fit: a program names the GPU, releases, model and loop that it holds for",
          "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const auto held = json_of(simulate_line(kGpt2, fitted.file, {16, 512})).at("holds_for");
  CHECK(held.at("GPU") == "h100-80");
  CHECK(held.at("model") == "GPT2LMHeadModel");
  CHECK(held.at("weights") == "float32");
  CHECK(held.at("autocast") == "bfloat16");
  CHECK(held.at("adapters") == "none");
  CHECK(held == fitted.report.at("holds_for"));
  CHECK_THAT(run_line(simulate_line(kGpt2, fitted.file, {16, 512})).out,
             Contains("\nholds for GPU h100-80, PyTorch 2.15"));
}

TEST_CASE("fit: a program answers for no GPU with other kernels", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const std::string line = simulate_line(kGpt2, fitted.file, {16, 512});
  CHECK_THAT(run_line(line + " --gpu a100-80").err,
             Contains("holds for h100-80; on a100-80") && Contains("--capacity "));
  CHECK(run_line(line + " --gpu h200").code == ExitCode::ok);
  CHECK(run_line(line + " --capacity 40GiB").code == ExitCode::ok);
}

TEST_CASE("fit: options of plans are refused by what the program holds for", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const std::string line = simulate_line(kGpt2, fitted.file, {16, 512});
  for (const std::string option : {"--lora 8", "--precision=bf16", "--target-seq 64"}) {
    CHECK_THAT(run_line(line + " " + option).err,
               Contains("holds for GPU h100-80") && Contains("it can vary batch, seq"));
  }
  CHECK(run_line(line + " --steps 5 --alloc-conf expandable_segments:True").code == ExitCode::ok);
}

TEST_CASE("fit: recordings of two programs are refused by what differs", "[cli][fit]") {
  const test::TempDir folder;
  const std::string line =
      fmt::format("fit {} {} --output {}", kGpt2.named({2, 256}), kEncoder.named({4, 256}),
                  (folder.path() / "x.hwp").string());
  CHECK_THAT(run_line(line).err, Contains("ran with ") && Contains("GPT2LMHeadModel") &&
                                     Contains("a program holds for one of them"));
}

TEST_CASE("fit: a recording that the program gives again needs no warning", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const auto run = json_of(simulate_line(kGpt2, fitted.file, {4, 768}));
  CHECK(run.at("extent") == "recorded");
  CHECK(run.at("verified") == true);
  CHECK(run.at("warnings").as_array().empty());
  CHECK(run.at("peak") == boost::json::value(recorded_peak(kGpt2.path({4, 768}))));
}

TEST_CASE("fit: the largest recording is held out, and what differs is told", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const auto& recordings = fitted.report.at("recordings").as_array();
  REQUIRE(recordings.size() == 4);
  CHECK(recordings[3].at("held_out") == true);
  CHECK(recordings[3].at("at").at("seq") == 768);
  CHECK(fitted.report.at("held_out").at("peaks_equal") == true);
}

TEST_CASE("fit: the largest batch that fits, and one more that does not", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const std::string line = fmt::format("simulate --from {} --seq 512 --capacity 8GiB", fitted.file);
  const auto run = json_of(line + " --find-batch");
  const auto largest = run.at("search").at("largest").to_number<std::int64_t>();
  CHECK(run.at("fits") == true);
  CHECK(json_of(fmt::format("{} --batch {}", line, largest)).at("fits") == true);
  CHECK(json_of(fmt::format("{} --batch {}", line, largest + 1)).at("fits") == false);
  CHECK(run_line(fmt::format("{} --batch {} --fail-on-oom", line, largest + 1)).code ==
        ExitCode::exceeded);
}

TEST_CASE("fit: more steps come to the same peak", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const std::string line = simulate_line(kGpt2, fitted.file, {4, 768});
  const auto more = json_of(line + " --steps 9");
  CHECK(more.at("steps_simulated") == 9);
  CHECK(more.at("peak") == json_of(line).at("peak"));
}

TEST_CASE("fit: a program is a FILE at values of its integers", "[cli][fit]") {
  const Fitted fitted(kGpt2);
  const auto replay = json_of("replay " + fitted.file + " --values batch=16,seq=512");
  CHECK(replay.at("devices").as_array()[0].at("peak") ==
        boost::json::value(recorded_peak(kGpt2.path({16, 512}))));
  CHECK_THAT(run_line("replay " + fitted.file).err, Contains("--values batch=N,seq=N"));
  CHECK_THAT(run_line("replay " + fitted.file + " --values batch=16,sq=512").err,
             Contains("did you mean 'seq'?"));
  CHECK_THAT(run_line("replay " + kGpt2.path({2, 256}) + " --values batch=16").err,
             Contains("is no program of highwater fit"));
}

TEST_CASE("fit: what is missing or wrong is said", "[cli][fit]") {
  const std::string a = kGpt2.named({2, 256});
  const std::string b = kGpt2.named({4, 256});
  const test::TempDir folder;
  const std::string output = " --output " + (folder.path() / "x.hwp").string();
  CHECK_THAT(run_line("fit " + a + output).err, Contains("two recordings or more"));
  CHECK_THAT(run_line("fit " + a + " " + b).err, Contains("--output run.hwp"));
  CHECK_THAT(run_line("fit " + a + " " + a + output).err, Contains("have the same values"));
  CHECK_THAT(run_line("fit " + a + " " + kGpt2.path({4, 256}) + ":side=4" + output).err,
             Contains("give all of them the same integers"));
  CHECK_THAT(run_line("fit " + a + " " + kGpt2.path({4, 256}) + ":capacity=4" + output).err,
             Contains("is an option of simulate already"));
  CHECK_THAT(run_line("fit " + a + " " + kGpt2.path({4, 256}) + ":batch=x" + output).err,
             Contains("whole numbers from 1"));
  CHECK_FALSE(fs::exists(folder.path() / "x.hwp"));
}

TEST_CASE("fit: an integer that is the same everywhere is built in", "[cli][fit]") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "x.hwp").string();
  const auto report = json_of(
      fmt::format("fit {} {} --output {}", kGpt2.named({2, 256}), kGpt2.named({4, 256}), file));
  CHECK_THAT(std::string(report.at("notes").as_array()[0].as_string()),
             Contains("seq is 256 in every recording"));
  CHECK_THAT(run_line("simulate --from " + file + " --batch 8 --seq 512").err,
             Contains("it can vary batch. Record the script"));
  const auto run = json_of("simulate --from " + file + " --batch 4");
  CHECK(run.at("peak") == boost::json::value(recorded_peak(kGpt2.path({4, 256}))));
}

}  // namespace fit_command_test
