#include "tools/reports/exports/export_speedscope.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/exports/stack_profile.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// Frames that all profiles of a file share.
class SharedFrames {
 public:
  /// Places in the list, outermost frame first.
  json::array places_of(const SideTables& tables, StackId stack) {
    json::array places;
    for (const FrameWords& frame : frames_of(tables, stack) | std::views::reverse) {
      places.emplace_back(place_of(frame));
    }
    return places;
  }

  json::array take() { return std::move(list_); }

 private:
  std::uint64_t place_of(const FrameWords& frame) {
    const auto [entry, is_new] = places_.try_emplace(frame, list_.size());
    if (is_new) {
      json::object made{{"name", frame.function}};
      if (!frame.file.empty()) {
        made["file"] = frame.file;
      }
      if (frame.line > 0) {
        made["line"] = frame.line;
      }
      list_.push_back(std::move(made));
    }
    return entry->second;
  }

  std::map<FrameWords, std::uint64_t> places_;
  json::array list_;
};

/// A profile whose samples are stacks, weighed by what `held` says of each.
json::object sampled_profile(const std::string& name, const SideTables& tables,
                             const std::vector<ProfiledStack>& stacks,
                             StackHolder ProfiledStack::*held, SharedFrames& frames) {
  json::array samples;
  json::array weights;
  Bytes total;
  for (const ProfiledStack& stack : stacks) {
    const Bytes bytes = (stack.*held).held;
    if (bytes > Bytes{}) {
      samples.push_back(frames.places_of(tables, stack.stack));
      weights.emplace_back(bytes.count());
      total += bytes;
    }
  }
  return {{"type", "sampled"},
          {"name", name},
          {"unit", "bytes"},
          {"startValue", 0},
          {"endValue", total.count()},
          {"samples", std::move(samples)},
          {"weights", std::move(weights)}};
}

std::string words_of(const LiveChoice& moment) {
  if (const auto* const operation = std::get_if<std::uint64_t>(&moment)) {
    return fmt::format("live after operation {}", *operation);
  }
  return std::get<LiveExtreme>(moment) == LiveExtreme::peak ? "live at the peak"
                                                            : "live at the end";
}

}  // namespace

Bytes write_speedscope(const ObservedRuns& runs, const LiveChoice& moment, ByteSink& sink) {
  SharedFrames frames;
  json::array profiles;
  Bytes total;
  for (const ObservedRun& run : runs.runs) {
    const std::vector<ProfiledStack> stacks = profile_of(run, moment);
    const std::string device = fmt::format("device {}: ", run.replay.device);
    const SideTables& tables = run.trace->tables;
    profiles.push_back(
        sampled_profile(device + words_of(moment), tables, stacks, &ProfiledStack::live, frames));
    profiles.push_back(sampled_profile(device + "allocated in the whole run", tables, stacks,
                                       &ProfiledStack::allocated, frames));
    for (const ProfiledStack& stack : stacks) {
      total += stack.live.held;
    }
  }
  const json::object file{{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                          {"name", "GPU memory"},
                          {"exporter", "highwater"},
                          {"activeProfileIndex", 0},
                          {"shared", {{"frames", frames.take()}}},
                          {"profiles", std::move(profiles)}};
  write_text(sink, json::serialize(file) + "\n");
  return total;
}

}  // namespace highwater
