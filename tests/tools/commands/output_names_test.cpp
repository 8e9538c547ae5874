// No option destroys an input: every option of every command that names a file to write is tried
// with each input of that command, by every name that the file has.
//
// Options that write are those whose value is an OutputName (tools/options/output_option.hpp). One
// that writes without it is found here, too: the test gives every other option a new name, and
// looks whether a file is there afterwards.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sstream>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/commands/commands.hpp"
#include "workloads/plan/options/option_table.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Contains;

namespace output_names_test {

namespace {

namespace fs = std::filesystem;

/// A command line with a name of an input in each word that begins with "@".
struct Line {
  std::string command;
  std::string rest;
};

const std::vector<Line>& lines() {
  static const std::vector<Line> kLines{
      {"scan", "@ranks"},
      {"sweep", "@run.trace --set expandable_segments=False,True"},
      {"sweep", "--model @config.json --seq 16 --set batch=1,2"},
      {"plan", "--model @config.json --seq 16 --gpus 2 --gpu 8GiB --formulas-only"},
      {"chance", "--model @config.json --lengths @lengths.txt --runs 2 --steps 2"},
      {"simulate", "--model @config.json --seq 16 --dp 2 --rank all"},
      {"validate", "@grid.json"},
      {"solve", "--for batch --model @config.json --seq 16 --gpu 2GiB --frontier checkpoint"},
      {"generate", "--model @config.json --seq 16 --output=@new.trace"},
      {"report", "@run.trace --output=@new.html"},
      {"report", "--model @config.json --seq 16 --output=@new.html"},
      {"export", "@run.trace --to csv --output=@new.csv"},
      {"export", "--model @config.json --seq 16 --edit then:@run.trace --to csv --output=@new.csv"},
      {"reduce", "@oom.trace --keep oom --capacity 8MiB --output=@new.trace --script=@new.py"},
      {"check", "@run.trace --baseline @baseline.json"},
      {"fit",
       "@fit-2-256.trace:batch=2,seq=256 @fit-4-256.trace:batch=4,seq=256 "
       "@fit-2-512.trace:batch=2,seq=512 @fit-4-768.trace:batch=4,seq=768 --output=@new.hwp"},
      {"merge", "@part"},
      {"record", "--output=@new.pickle -- sh @script.sh"},
  };
  return kLines;
}

/// What an option needs beside it.
const std::map<std::string, std::string>& companions() {
  static const std::map<std::string, std::string> kCompanions{{"output", "--shard=1/1"}};
  return kCompanions;
}

std::string trace_of_fit(int batch, int seq) {
  std::string text = "frame 1 12 train.py\tstep\nstack 1 1\n";
  for (int step = 0; step < 3; ++step) {
    text += fmt::format("step {0}\na a{0} {1} 0 @1\na b{0} {2} 0 @1\nf a{0}\nf b{0}\n", step,
                        batch * seq * 1024, seq * 512 + 4096);
  }
  return text;
}

class Inputs {
 public:
  Inputs() {
    fs::create_directory(folder_ / "ranks");
    write("ranks/rank0.trace", "a 1 1048576 0\nf 1\n");
    write("ranks/rank1.trace", "a 1 2097152 0\nf 1\n");
    write("run.trace", trace_of_fit(2, 256));
    write("oom.trace", "a 1 4194304 0\na 2 20971520 0\nf 1\n");
    write("config.json", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2})");
    write("lengths.txt", "16\n24\n");
    write("grid.json", R"({"grid": {"model": "gpt2", "seq": 16, "batch": [1, 2]}})");
    write("script.sh", "true\n");
    for (const auto& [batch, seq] : {std::pair(2, 256), {4, 256}, {2, 512}, {4, 768}}) {
      write(fmt::format("fit-{}-{}.trace", batch, seq), trace_of_fit(batch, seq));
    }
    REQUIRE(run(with_folder("check @run.trace --accept --baseline @baseline.json")).code ==
            ExitCode::ok);
    REQUIRE(run(with_folder("scan @ranks --shard 1/1 --output @part")).code == ExitCode::ok);
    remember();
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  /// The words of `text`, names with the folder in front.
  [[nodiscard]] Arguments with_folder(const std::string& text) const {
    Arguments all = words(text);
    for (std::string& word : all) {
      if (const std::size_t at = word.find('@'); at != std::string::npos) {
        word = word.substr(0, at) + path(word.substr(at + 1));
      }
    }
    return all;
  }

  /// The files that `line` names.
  [[nodiscard]] std::vector<std::string> in(const Line& line) const {
    std::vector<std::string> found;
    for (const auto& [file, content] : contents_) {
      const std::string first = file.substr(0, file.find('/'));
      if (line.rest.find("@" + first) != std::string::npos) {
        found.push_back(file);
      }
    }
    return found;
  }

  [[nodiscard]] bool are_unchanged() const {
    return std::ranges::all_of(contents_, [this](const auto& each) {
      return read_file(folder_ / each.first) == each.second;
    });
  }

 private:
  void write(const std::string& name, const std::string& content) {
    write_file(folder_ / name, content);
  }

  void remember() {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) {
        contents_[entry.path().lexically_relative(folder_.path())] = read_file(entry.path());
      }
    }
  }

  TempDir folder_;
  std::map<std::string, std::string> contents_;
};

/// All names of one file.
class Spellings {
 public:
  explicit Spellings(const fs::path& file) : descriptor_(::open(file.c_str(), O_RDWR | O_APPEND)) {
    fs::create_symlink(file, folder_ / "symbolic");
    fs::create_hard_link(file, folder_ / "hard");
    names_ = {file.string(),
              (file.parent_path() / "." / file.filename()).string(),
              (folder_ / "symbolic").string(),
              (folder_ / "hard").string(),
              fmt::format("/proc/self/fd/{}", descriptor_),
              fmt::format("/dev/fd/{}", descriptor_)};
  }

  Spellings(const Spellings&) = delete;
  Spellings& operator=(const Spellings&) = delete;

  ~Spellings() { ::close(descriptor_); }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  TempDir folder_;
  int descriptor_;
  std::vector<std::string> names_;
};

/// `line` with `option` in front, and without a value that it has for that itself.
Arguments with_option(const Inputs& inputs, const Line& line, const std::string& option,
                      const std::string& value) {
  Arguments all = inputs.with_folder(line.rest);
  std::erase_if(all,
                [&](const std::string& word) { return word.starts_with("--" + option + "="); });
  const bool is_fleet =
      std::ranges::count(options_of(command(line.command)), "shard", &OptionSummary::name) > 0;
  if (const auto companion = companions().find(option);
      is_fleet && companion != companions().end()) {
    all.insert(all.begin(), companion->second);
  }
  all.insert(all.begin(), fmt::format("--{}={}", option, value));
  all.insert(all.begin(), line.command);
  return all;
}

bool has_line(std::string_view command) {
  return std::ranges::any_of(lines(), [&](const Line& line) { return line.command == command; });
}

void check_refusal(const Inputs& inputs, const Arguments& arguments) {
  CAPTURE(arguments);
  const CommandRun done = run(arguments);
  CHECK(done.code == ExitCode::usage);
  CHECK_THAT(done.err, Contains("choose another name") || Contains("unknown file extension") ||
                           Contains("exists; add --resume to go on from it"));
  CHECK(inputs.are_unchanged());
}

}  // namespace

TEST_CASE("outputs: no option of a command overwrites an input", "[cli][outputs][long]") {
  const Inputs inputs;
  std::size_t tried = 0;
  for (const Line& line : lines()) {
    for (const OptionSummary& option : options_of(command(line.command))) {
      for (const std::string& file : option.is_output ? inputs.in(line) : Arguments()) {
        const Spellings spellings(inputs.path(file));
        for (const std::string& name : spellings.names()) {
          check_refusal(inputs, with_option(inputs, line, option.name, name));
          ++tried;
        }
      }
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("outputs: the same command lines may replace a file that they do not read",
          "[cli][outputs]") {
  const Inputs inputs;
  for (const Line& line : lines()) {
    for (const OptionSummary& option : options_of(command(line.command))) {
      if (!option.is_output || line.command == "record") {  // which needs PyTorch
        continue;
      }
      const std::string output = inputs.path(line.command + "-" + option.name + ".trace");
      const Arguments arguments = with_option(inputs, line, option.name, output);
      CAPTURE(arguments);
      const CommandRun done = run(arguments);
      CAPTURE(done.err);
      CHECK(done.code == ExitCode::ok);
      CHECK(fs::exists(output));
      fs::remove(output);
    }
  }
}

TEST_CASE("outputs: whatever writes says so, and has been tried", "[cli][outputs]") {
  const Inputs inputs;
  const std::string output = inputs.path("written");
  for (const Command& each : commands()) {
    const std::vector<OptionSummary> options = options_of(each);
    CAPTURE(each.name);
    CHECK((std::ranges::none_of(options, &OptionSummary::is_output) || has_line(each.name)));
    for (const OptionSummary& option : options) {
      for (const Line& line : lines()) {
        if (line.command != each.name || !option.has_value || option.is_output ||
            find_option(option.name) != nullptr) {
          continue;
        }
        const Arguments arguments = with_option(inputs, line, option.name, output);
        CAPTURE(arguments);
        run(arguments);
        CHECK_FALSE(fs::exists(output));
        CHECK(inputs.are_unchanged());
      }
    }
  }
}

TEST_CASE("outputs: a name without an option overwrites no input", "[cli][outputs]") {
  const Inputs inputs;
  const std::string file = inputs.path("run.trace");
  const Spellings spellings(file);
  for (const std::string& name : spellings.names()) {
    for (const char* command : {"convert", "redact"}) {
      CAPTURE(command, name);
      const CommandRun done = run({command, file, name});
      CHECK(done.code == ExitCode::usage);
      CHECK(inputs.are_unchanged());
    }
    CHECK(run({"check", file, "--accept", "--baseline", name}).code == ExitCode::bad_input);
    CHECK(inputs.are_unchanged());
  }
}

}  // namespace output_names_test
