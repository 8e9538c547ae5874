#include "tools/engine/torch_engine.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/cached_run.hpp"
#include "tools/engine/engine_recording.hpp"
#include "tools/engine/engine_request.hpp"
#include "tools/engine/python_command.hpp"
#include "tools/engine/python_conversation.hpp"
#include "tools/engine/run_cache.hpp"
#include "tools/record/record_environment.hpp"
#include "tools/record/record_files.hpp"
#include "tools/record/user_cache.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "traces/program_ban.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::chrono::seconds kLongestStart{300};  // torch's import on a busy machine
constexpr std::chrono::seconds kLongestRun{1800};
constexpr int kRunsAtOnce = 2;  // each takes a core, and memory for its libraries
constexpr Bytes kRoomForCache{std::uint64_t{2} << 30U};
// More than any plan takes: the run never ends early, and its requests are replayed on any GPU.
constexpr Bytes kRoom{std::uint64_t{1} << 43U};

/// As the recorder reads it: "even", "busiest:2", "zipf:1" or the shares.
std::string moe_load_text(const MoeLoad& load) {
  if (!load.shares.empty()) {
    return fmt::format("{}", fmt::join(load.shares, ","));
  }
  if (load.zipf) {
    return fmt::format("zipf:{}", *load.zipf);
  }
  return load.busiest ? fmt::format("busiest:{}", *load.busiest) : "even";
}

/// The recorder and the fake device decide what a recording holds.
std::string record_files_key() {
  std::string all;
  for (const EmbeddedFile& file : record_files()) {
    all.append(file.path).append(1, '\0').append(file.content).append(1, '\0');
  }
  return run_key(all);
}

using Turns = std::counting_semaphore<kRunsAtOnce>;

/// The right to run a script, as long as it lives.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) { turns_.acquire(); }

  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  ~Turn() { turns_.release(); }

 private:
  Turns& turns_;
};

/// A Python that loads torch once.
class WarmPython {
 public:
  /// @throws InputError
  explicit WarmPython(const std::string& python)
      : python_(python),
        process_(python_command(python, "from highwater_engine.serve import main; main()"),
                 environment()),
        cache_(user_cache_folder("highwater-runs"), kRoomForCache) {
    try {
      const json::object ready =
          with_progress("starting Python", [&] { return process_.greeting(kLongestStart); });
      releases_ = {text_of(ready, "torch"), text_of(ready, "transformers")};
      installed_ = text_of(ready, "installed");
    } catch (const PythonEnded& end) {
      throw InputError("--python " + python, "",
                       end.last_words.empty() ? "ended without a word" : end.last_words,
                       "name a Python that has a CUDA build of PyTorch 2.4 or later");
    }
  }

  [[nodiscard]] const EngineReleases& releases() const { return releases_; }

  /// What Python says of the plan under this key, without running it.
  std::string said(const TrainingPlan& plan, std::string_view key) {
    json::object request = engine_request(plan);
    if (const std::optional<fs::path> kept = cache_.find(key_of(plan, request))) {
      return kept_text(*kept, key);
    }
    request["only_asks"] = true;
    const std::optional<ProgressLine> progress = first_wait();
    return text_of(answer_to(std::move(request)), key);
  }

  GeneratedRun run(const TrainingPlan& plan) {
    json::object request = engine_request(plan);
    const std::string key = key_of(plan, request);
    if (std::optional<GeneratedRun> known = cached_run(key)) {
      return std::move(*known);
    }
    const Workplace place(files_.folder() / fmt::format("run{}", runs_++));
    request["folder"] = place.folder.string();
    request["limit"] = kLongestRun.count();
    request["only_asks"] = false;
    request["environment"] = variables(plan, files_.folder(), place.folder);
    const fs::path recorded = accept_recording(answer_in_turn(std::move(request)), place.folder);
    if (!key.empty()) {
      cache_.keep(key, recorded);
    }
    return read_recording(recorded);
  }

 private:
  json::object answer_to(json::object request) {
    try {
      return process_.ask(std::move(request), kLongestRun + kLongestStart);
    } catch (const PythonEnded& end) {
      throw InputError("--engine torch", "",
                       "Python ended" + (end.last_words.empty() ? "" : ": " + end.last_words),
                       "try again, or use --engine model");
    }
  }

  json::object answer_in_turn(json::object request) {
    const LongWork told(fmt::format("{} carries out the plan's script, for {} minutes at most",
                                    python_, kLongestRun.count() / 60));
    const Turn turn(turns_);
    return answer_to(std::move(request));
  }

  /// The first question loads torch, and nothing else shows yet how long that takes.
  std::optional<ProgressLine> first_wait() {
    return has_asked_.exchange(true)
               ? std::optional<ProgressLine>()
               : std::optional<ProgressLine>(std::in_place, "loading PyTorch");
  }

  /// Empty where something may change that is no part of the request (what is installed, under the
  /// same release; a file of the user's), and where the script is wanted.
  [[nodiscard]] std::string key_of(const TrainingPlan& plan, json::object request) const {
    static const std::string recorder = record_files_key();
    if (installed_.empty() || names_file(plan.model.config) ||
        std::getenv("HIGHWATER_SCRIPT_FOLDER") != nullptr) {
      return "";
    }
    request.at("options").as_object().erase("engine");
    request["environment"] = variables(plan, {}, {});
    return run_key(json::serialize(request) + installed_ + recorder);
  }

  [[nodiscard]] std::optional<GeneratedRun> cached_run(const std::string& key) const {
    const std::optional<fs::path> kept = key.empty() ? std::nullopt : cache_.find(key);
    if (!kept) {
      return std::nullopt;
    }
    try {
      return read_recording(*kept);
    } catch (const std::exception&) {  // removed meanwhile, or damaged: made again
      cache_.forget(key);
      return std::nullopt;
    }
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

  [[nodiscard]] Environment environment() const {
    Environment all =
        record_environment({}, files_.folder(), files_.folder() / "status", current_environment());
    all["HF_HUB_OFFLINE"] = "1";
    all["TOKENIZERS_PARALLELISM"] = "false";
    return python_environment(std::move(all));
  }

  /// What differs from one run to the next.
  static json::object variables(const TrainingPlan& plan, const fs::path& files,
                                const fs::path& folder) {
    RecordRequest request;
    request.gpu = plan.gpu;
    request.capacity = kRoom;
    request.output = (folder / "record.pickle").string();
    request.moe_load = moe_load_text(plan.moe_load);
    request.event_lag = static_cast<std::uint64_t>(plan.parallel.event_lag);
    json::object changed;
    for (const auto& [name, value] : record_environment(request, files, folder / "status", {})) {
      if (name != "PYTHONPATH") {
        changed[name] = value;
      }
    }
    changed["HIGHWATER_RECORD_MODULES"] = "1";
    return changed;
  }

  std::string python_;
  UnpackedRecordFiles files_;
  PythonConversation process_;
  RunCache cache_;
  EngineReleases releases_;
  std::string installed_;  ///< stands for all packages and their releases
  Turns turns_{kRunsAtOnce};
  std::atomic<int> runs_ = 0;
  std::atomic<bool> has_asked_ = false;
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
  require_programs(plan.python);  // one that runs already may not be asked either
  return pythons.at(plan.python);
}

}  // namespace

std::string engine_problem(const TrainingPlan& plan) {
  require_programs(plan.python);
  try {
    python_of(plan);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string script_problem(const TrainingPlan& plan) {
  return python_of(plan).said(plan, "refused");
}

const EngineReleases& engine_releases(const TrainingPlan& plan) {
  return python_of(plan).releases();
}

std::string script_note(const TrainingPlan& plan) {
  return python_of(plan).said(plan, kNote);
}

std::string script_assumption(const TrainingPlan& plan) {
  return python_of(plan).said(plan, kAssumed);
}

GeneratedRun run_in_torch(const TrainingPlan& plan) {
  return python_of(plan).run(plan);
}

}  // namespace highwater
