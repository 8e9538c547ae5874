#include "tools/engine/torch_engine.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/recorded_settings.hpp"
#include "tools/engine/engine_request.hpp"
#include "tools/engine/python_process.hpp"
#include "tools/engine/recorded_attributes.hpp"
#include "tools/files/input.hpp"
#include "tools/record/record_environment.hpp"
#include "tools/record/record_files.hpp"
#include "tools/record/record_outcome.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::chrono::seconds kLongestStart{300};  // torch's import on a busy machine
constexpr std::chrono::seconds kLongestRun{1800};
// More than any plan takes: the run never ends early, and its requests are replayed on any GPU.
constexpr Bytes kRoom{std::uint64_t{1} << 43U};

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) {
    return "";
  }
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

/// As the recorder reads it: "even", "busiest:2" or the shares.
std::string moe_load_text(const MoeLoad& load) {
  if (!load.shares.empty()) {
    return fmt::format("{}", fmt::join(load.shares, ","));
  }
  return load.busiest ? fmt::format("busiest:{}", *load.busiest) : "even";
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A Python with torch loaded.
class WarmPython {
 public:
  /// @throws InputError
  explicit WarmPython(const std::string& python)
      : python_(python), process_({python, "-m", "highwater_engine"}, environment(), log()) {
    const std::string answer = process_.receive(kLongestStart);
    if (answer.empty()) {
      throw InputError("--python " + python, "", why_it_ended(),
                       "name a Python that has a CUDA build of PyTorch 2.4 or later");
    }
    const json::object ready = json::parse(answer).as_object();
    releases_ = {text_of(ready, "torch"), text_of(ready, "transformers")};
  }

  [[nodiscard]] const EngineReleases& releases() const { return releases_; }

  std::string refusal(const TrainingPlan& plan) {
    json::object request = engine_request(plan);
    request["only_asks"] = true;
    return text_of(answer_to(request), "refused");
  }

  GeneratedRun run(const TrainingPlan& plan) {
    const Workplace place(files_.folder() / fmt::format("run{}", runs_++));
    json::object request = engine_request(plan);
    request["folder"] = place.folder.string();
    request["limit"] = kLongestRun.count();
    request["only_asks"] = false;
    request["environment"] = variables(plan, place.folder);
    return recorded_run(answer_to(request), place.folder);
  }

 private:
  /// One question at a time, whoever asks.
  json::object answer_to(const json::object& request) {
    const std::lock_guard lock(one_question_);
    process_.send(json::serialize(request));
    const std::string answer = process_.receive(kLongestRun + kLongestStart);
    if (answer.empty()) {
      throw InputError("--engine torch", "", "Python ended: " + last_line(read_text(log())),
                       "try again, or use --engine model");
    }
    return json::parse(answer).as_object();
  }

  /// A folder that lives as long as one run.
  struct Workplace {
    explicit Workplace(fs::path path) : folder(std::move(path)) { fs::create_directory(folder); }

    Workplace(const Workplace&) = delete;
    Workplace& operator=(const Workplace&) = delete;

    ~Workplace() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }

    fs::path folder;
  };

  [[nodiscard]] std::string log() const { return (files_.folder() / "log").string(); }

  [[nodiscard]] std::string why_it_ended() const {
    const std::string line = last_line(read_text(log()));
    return line.empty() ? "ended without a word" : line;
  }

  [[nodiscard]] Environment environment() const {
    Environment all =
        record_environment({}, files_.folder(), files_.folder() / "status", current_environment());
    all["HF_HUB_OFFLINE"] = "1";
    all["TOKENIZERS_PARALLELISM"] = "false";
    return all;
  }

  /// What differs from one run to the next.
  [[nodiscard]] json::object variables(const TrainingPlan& plan, const fs::path& folder) const {
    RecordRequest request;
    request.gpu = plan.gpu;
    request.capacity = kRoom;
    request.output = (folder / "record.pickle").string();
    request.moe_load = moe_load_text(plan.moe_load);
    request.event_lag = static_cast<std::uint64_t>(plan.parallel.event_lag);
    json::object changed;
    for (const auto& [name, value] :
         record_environment(request, files_.folder(), folder / "status", {})) {
      if (name != "PYTHONPATH") {
        changed[name] = value;
      }
    }
    changed["HIGHWATER_RECORD_MODULES"] = "1";
    return changed;
  }

  static GeneratedRun recorded_run(const json::object& answer, const fs::path& folder) {
    if (const std::string refusal = text_of(answer, "refused"); !refusal.empty()) {
      throw InputError("", "", refusal, "");
    }
    const ProcessEnd end{.status = static_cast<int>(answer.at("status").to_number<int>())};
    const RecordOutcome outcome = read_record_outcome(folder / "status", end);
    if (outcome.snapshots.empty() || command_failed(outcome)) {
      throw InputError("--engine torch", "the script", why_it_failed(answer, outcome),
                       "correct the model's config.json or the plan, or give another --python");
    }
    const WrittenSnapshot& snapshot = main_snapshot(outcome, folder / "record.pickle");
    GeneratedRun run = derived_run(snapshot.path);
    run.trainable = static_cast<std::int64_t>(snapshot.trainable);
    return run;
  }

  static std::string why_it_failed(const json::object& answer, const RecordOutcome& outcome) {
    if (text_of(answer, "reason") == "timeout") {
      return "took longer than half an hour";
    }
    if (outcome.end.status < 0) {
      return fmt::format("was killed by signal {}; the host may have run out of memory",
                         -outcome.end.status);
    }
    const std::string said = last_line(text_of(answer, "log"));
    return !outcome.snapshots.empty() && !outcome.snapshots.front().error.empty()
               ? outcome.snapshots.front().error
           : !said.empty() ? said
                           : why_nothing_recorded(outcome);
  }

  static GeneratedRun derived_run(const std::string& path) {
    const TraceFile file =
        read_trace_file(path, StackMode::keep, {.progress = ReadingProgress::hidden});
    const auto& recording = std::get<Recording>(file);
    const auto device = std::ranges::max_element(
        recording.devices, {}, [](const RecordedDevice& each) { return each.entries.size(); });
    GeneratedRun run;
    run.trace =
        derive_requests(recording, *device, settings_of(recording, preset_of(recording))).requests;
    run.trace.header.settings.clear();
    take_attributes(run.trace);
    return run;
  }

  std::string python_;
  UnpackedRecordFiles files_;
  PythonProcess process_;
  EngineReleases releases_;
  std::mutex one_question_;
  std::atomic<int> runs_ = 0;
};

/// One for each Python that is asked for, as long as the program runs; what failed is not tried
/// again.
class WarmPythons {
 public:
  /// @throws InputError
  WarmPython& at(const std::string& python) {
    const std::lock_guard lock(one_start_);
    const auto [place, is_new] = all_.try_emplace(python);
    Start& start = place->second;
    if (is_new) {
      try {
        start.process = std::make_unique<WarmPython>(python);
      } catch (const InputError& error) {
        start.problem = error;
      }
    }
    if (start.problem) {
      throw *start.problem;
    }
    return *start.process;
  }

 private:
  struct Start {
    std::unique_ptr<WarmPython> process;
    std::optional<InputError> problem;
  };

  std::mutex one_start_;
  std::map<std::string, Start> all_;
};

WarmPython& python_of(const TrainingPlan& plan) {
  static WarmPythons pythons;
  return pythons.at(plan.python);
}

}  // namespace

std::string engine_problem(const TrainingPlan& plan) {
  try {
    python_of(plan);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string script_problem(const TrainingPlan& plan) {
  return python_of(plan).refusal(plan);
}

const EngineReleases& engine_releases(const TrainingPlan& plan) {
  return python_of(plan).releases();
}

GeneratedRun run_in_torch(const TrainingPlan& plan) {
  return python_of(plan).run(plan);
}

}  // namespace highwater
