#include "tools/record/record_outcome.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& line, std::string_view key) {
  const json::value* value = line.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::uint64_t count_of(const json::object& line, std::string_view key) {
  const json::value* value = line.if_contains(key);
  json::error_code none;
  return value == nullptr ? 0 : value->to_number<std::uint64_t>(none);
}

WrittenSnapshot written(const json::object& line) {
  WrittenSnapshot snapshot{.path = text_of(line, "output"),
                           .torch = text_of(line, "torch"),
                           .ended = text_of(line, "ended"),
                           .error = text_of(line, "error"),
                           .entries = count_of(line, "entries"),
                           .steps = count_of(line, "steps"),
                           .launches = count_of(line, "launches"),
                           .trainable = count_of(line, "trainable"),
                           .values_read = count_of(line, "values_read")};
  const json::value* groups = line.if_contains("communicators");
  for (const json::value& ranks :
       groups != nullptr && groups->is_array() ? groups->get_array() : json::array()) {
    json::error_code none;
    snapshot.communicators.push_back(ranks.to_number<int>(none));
  }
  const json::value* calls = line.if_contains("not_modelled");
  if (calls != nullptr && calls->is_object()) {
    for (const auto& [name, count] : calls->get_object()) {
      json::error_code none;
      snapshot.not_modelled[name] = count.to_number<std::uint64_t>(none);
    }
  }
  const json::value* cudnn = line.if_contains("cudnn");
  if (cudnn != nullptr && cudnn->is_object()) {
    snapshot.cudnn = read_cudnn_facts(cudnn->get_object());
  }
  return snapshot;
}

void take(const json::object& line, RecordOutcome& outcome) {
  const std::string event = text_of(line, "event");
  if (event == "refused") {
    outcome.refusal = text_of(line, "place") + ": " + text_of(line, "reason");
  } else if (event == "loaded") {
    outcome.torch_seen = true;
    outcome.torch = text_of(line, "release");
    const json::value* const tested = line.if_contains("tested");
    outcome.torch_tested = tested != nullptr && tested->is_bool() && tested->get_bool();
  } else if (event == "started") {
    outcome.cuda_used = true;
  } else if (event == "nothing") {
    outcome.nothing_allocated = true;
  } else if (event == "waiting") {
    outcome.waiting_at = text_of(line, "where");
  } else if (event == "written") {
    outcome.snapshots.push_back(written(line));
  }
}

std::string how_it_ended(ProcessEnd end) {
  return end.signal != 0 ? fmt::format("was killed by signal {}", end.signal)
                         : fmt::format("ended with status {}", end.status);
}

bool any_ended(const RecordOutcome& outcome, std::initializer_list<std::string_view> ways) {
  return std::ranges::any_of(outcome.snapshots, [&](const WrittenSnapshot& snapshot) {
    return std::ranges::find(ways, snapshot.ended) != ways.end();
  });
}

/// A status or signal that none of the snapshots explains.
bool ended_unexplained(const RecordOutcome& outcome) {
  return (outcome.end.status != 0 || outcome.end.signal != 0) &&
         !any_ended(outcome, {"oom", "interrupted", "terminated", "error", "crash"});
}

std::string list_of(const std::map<std::string, std::uint64_t>& calls) {
  std::string text;
  for (const auto& [name, count] : calls) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

}  // namespace

RecordOutcome read_record_outcome(const std::filesystem::path& status, ProcessEnd end) {
  RecordOutcome outcome{.end = end};
  std::ifstream in(status);
  for (std::string line; std::getline(in, line);) {
    json::error_code broken;  // a killed process may leave half a line
    const json::value value = json::parse(line, broken);
    if (!broken && value.is_object()) {
      take(value.get_object(), outcome);
    }
  }
  if (in.bad()) {
    throw InputError(status.string(), "", "cannot be read", "check the disk");
  }
  return outcome;
}

const WrittenSnapshot& main_snapshot(const RecordOutcome& outcome,
                                     const std::filesystem::path& asked_for) {
  const auto found =
      std::ranges::find(outcome.snapshots, asked_for.string(), &WrittenSnapshot::path);
  return found != outcome.snapshots.end() ? *found : outcome.snapshots.front();
}

bool command_failed(const RecordOutcome& outcome) {
  return any_ended(outcome, {"error", "crash"}) || ended_unexplained(outcome);
}

bool ended_early(const RecordOutcome& outcome) {
  return command_failed(outcome) || any_ended(outcome, {"interrupted", "terminated"});
}

std::string why_nothing_recorded(const RecordOutcome& outcome) {
  if (!outcome.refusal.empty()) {
    return outcome.refusal;
  }
  const std::string ended = how_it_ended(outcome.end);
  if (!outcome.torch_seen) {
    return fmt::format(
        "the command {} and imported no torch; check that it runs Python without -I, -E or -S, "
        "and that its Python has a CUDA build of PyTorch 2.4 or later",
        ended);
  }
  const bool has_failed = outcome.end.status != 0 || outcome.end.signal != 0;
  if (has_failed && (!outcome.cuda_used || outcome.nothing_allocated)) {
    return fmt::format("the command {} before it {}; see its own message", ended,
                       outcome.cuda_used ? "allocated anything on the device" : "used CUDA");
  }
  if (!outcome.cuda_used) {
    return fmt::format(
        "the command {} and never used CUDA; check that it trains on device 'cuda' (a fake one is "
        "present: torch.cuda.is_available() is True)",
        ended);
  }
  if (outcome.nothing_allocated) {
    return fmt::format(
        "the command {} and allocated nothing on the device; check that it trains on device 'cuda'",
        ended);
  }
  return fmt::format(
      "the command {} before its snapshot could be written; if the host ran out of memory, make "
      "the run shorter (--steps 2) or record without call stacks (--stacks none)",
      ended);
}

std::vector<std::string> record_notes(const RecordOutcome& outcome) {
  std::vector<std::string> notes;
  for (const WrittenSnapshot& snapshot : outcome.snapshots) {
    if (snapshot.ended == "crash") {
      notes.push_back(fmt::format("the command crashed: it {}; its history up to then was saved",
                                  how_it_ended(outcome.end)));
    } else if (snapshot.ended == "error") {
      notes.push_back("the script ended with " + snapshot.error);
    } else if (snapshot.ended == "interrupted" || snapshot.ended == "terminated") {
      notes.push_back(
          fmt::format("the script was {}; further steps may need more", snapshot.ended));
    }
    if (snapshot.ended == "error" && snapshot.values_read != 0) {
      notes.push_back(fmt::format(
          "it had read {} value{} from the device; on the fake device values are zeros, which "
          "some scripts do not expect (--answers sets others)",
          snapshot.values_read, snapshot.values_read == 1 ? "" : "s"));
    }
    if (!snapshot.not_modelled.empty()) {
      notes.push_back(
          "functions that do nothing here were called, so the memory they would request is "
          "missing: " +
          list_of(snapshot.not_modelled));
    }
    std::ranges::move(cudnn_notes(snapshot.cudnn), std::back_inserter(notes));
  }
  if (ended_unexplained(outcome)) {
    notes.push_back("the command " + how_it_ended(outcome.end));
  }
  if (!outcome.torch_tested) {
    notes.push_back(fmt::format("PyTorch {} is newer than the tested releases", outcome.torch));
  }
  if (!outcome.waiting_at.empty()) {
    notes.push_back("the script seemed to wait for a value from the device at " +
                    outcome.waiting_at + "; such values are zeros here");
  }
  return notes;
}

}  // namespace highwater
