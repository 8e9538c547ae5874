#include "tools/reports/explain_sentences.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/site_label.hpp"

namespace highwater {
namespace {

using Kind = Counterfactual::Kind;

Bytes excess_over(Bytes larger, Bytes smaller) {
  return larger - std::min(larger, smaller);
}

/// What the shortage or the obstacle is, in one clause.
std::string because(const OomExplanation& oom) {
  const OutOfMemory& account = oom.state.account;
  const Bytes lacking = excess_over(oom.in_use + account.requested, oom.limit);
  if (lacking == Bytes{0} && oom.most_alive > oom.limit) {
    return fmt::format(
        "the run has up to {} in use at once, more than the {} available; the first request that "
        "fails asks for {} with {} in use",
        to_iec(oom.most_alive), to_iec(oom.limit), to_iec(account.requested), to_iec(oom.in_use));
  }
  switch (oom.cause) {
    case OomCause::capacity:
      return fmt::format("{} in use and the {} requested are {} more than the {} available",
                         to_iec(oom.in_use), to_iec(account.requested), to_iec(lacking),
                         to_iec(oom.limit));
    case OomCause::memory_limit:
      return fmt::format(
          "{} in use and the {} requested are {} more than the {} that the process may take; the "
          "device has more",
          to_iec(oom.in_use), to_iec(account.requested), to_iec(lacking), to_iec(oom.limit));
    case OomCause::outside_pytorch:
      return fmt::format(
          "{} in use and the {} requested would fit on the device, but others leave only {}",
          to_iec(oom.in_use), to_iec(account.requested), to_iec(oom.limit));
    case OomCause::pending_frees:
      if (oom.came_free_too_late > Bytes{0}) {
        return fmt::format(
            "a block of {} that could hold the {} requested was waiting for another stream; "
            "PyTorch waits for it as a last resort, but does not look at it again",
            to_iec(oom.came_free_too_late), to_iec(account.requested));
      }
      return fmt::format("{} were freed but still wait for other streams", to_iec(oom.pending));
    case OomCause::stream_isolation:
      return fmt::format("{} are free, but belong to other streams", to_iec(oom.free_other_stream));
    case OomCause::private_pool:
      return fmt::format("{} are free, but in private pools", to_iec(oom.free_private));
    case OomCause::fragmentation:
      return fmt::format(
          "{} of {} are not in use, but no free block can hold the {} requested (largest {}), and "
          "a "
          "new segment of {} does not fit",
          to_iec(excess_over(oom.limit, account.active)), to_iec(oom.limit),
          to_iec(account.requested), to_iec(account.largest_usable_free_block),
          to_iec(account.segment_size));
  }
  return "";
}

std::string_view inside_session(const OomExplanation& oom) {
  return !oom.session              ? ""
         : oom.session->is_capture ? " inside the capture of a CUDA graph"
                                   : " inside a private pool";
}

/// What a session keeps PyTorch from, and what is out of reach for it.
std::string session_line(const OpenSession& session) {
  std::string line =
      fmt::format("{} in private pool ({}, {})",
                  session.is_capture ? "a CUDA graph was being captured" : "requests were served",
                  session.pool.capture, session.pool.user);
  if (session.holds_back) {
    line += ": until it ends, PyTorch gives no cached memory back and waits for no stream";
  }
  if (session.holds_back && session.returnable > Bytes{}) {
    line += fmt::format("; {} of the common pools, free in whole segments, stayed out of reach",
                        to_iec(session.returnable));
  }
  return line;
}

/// One request says little of a run that needs more than there is later.
std::string whole_run(const Explanation& e) {
  const Bytes at_failure = e.oom->in_use + e.oom->state.account.requested;
  return at_failure > e.oom->limit && e.oom->most_alive > at_failure
             ? fmt::format("; later the run has up to {} in use at once", to_iec(e.oom->most_alive))
             : "";
}

std::string state_alone(const Explanation& e) {
  const Usage& now = e.workload.replay.result.final;
  return fmt::format(
      "no history in this file, only the state when it was taken: reserved {}, allocated {}; "
      "whether it ran out of memory, and why, cannot be told; {}",
      to_iec(now.reserved), to_iec(now.allocated), kHowToRecord);
}

/// What was reserved and free when most was reserved, if that is worth a word, and what expandable
/// segments would need instead.
std::string slack(const Explanation& e) {
  constexpr double kWorthAWord = 0.05;
  const ReplayResult& result = e.workload.replay.result;
  const Bytes reserved = result.peak.reserved;
  const Bytes free = excess_over(reserved, result.at_peak_reserved.active);
  const auto share = [reserved](Bytes part) {
    return static_cast<double>(part.count()) / static_cast<double>(reserved.count());
  };
  if (reserved == Bytes{} || share(free) < kWorthAWord) {
    return "";
  }
  const Bytes saved = excess_over(reserved, e.bars.expandable.reserved);
  return fmt::format("; {} of it were free then ({:.0f} %), {} in pieces between live blocks{}",
                     to_iec(free), share(free) * 100, to_iec(e.blame.pinned),
                     share(saved) < kWorthAWord
                         ? ""
                         : fmt::format("; expandable_segments:True would need {}",
                                       to_iec(e.bars.expandable.reserved)));
}

std::string no_failure(const Explanation& e) {
  if (!e.workload.has_history()) {
    return state_alone(e);
  }
  const ReplayResult& result = e.workload.replay.result;
  std::string text = fmt::format("does not run out of memory: peak reserved {}, allocated {}",
                                 to_iec(result.peak.reserved), to_iec(result.peak.allocated));
  if (e.limit) {
    text += fmt::format(" of {}", to_iec(*e.limit));
  }
  text += slack(e);
  if (e.is_reproduced == false) {
    text +=
        "; the recording did, but replaying its requests does not under the limit that its "
        "failure implies: set the limit with --memory-limit or --capacity";
  }
  return text;
}

/// What a memory map holds besides its live bytes.
struct StateSums {
  std::uint64_t live_blocks = 0;
  Bytes waiting;           ///< freed, but in use on other streams
  Bytes free_beside_live;  ///< in segments that something else keeps
  Bytes returnable;        ///< in segments that are free as a whole
  Bytes largest_free;

  void add(const MapSegment& segment) {
    Bytes free;
    for (const MapBlock& block : segment.blocks) {
      live_blocks += block.state == BlockState::active_allocated ? 1 : 0;
      waiting += block.state == BlockState::active_pending_free ? block.size : Bytes{};
      if (block.state == BlockState::inactive) {
        free += block.size;
        largest_free = std::max(largest_free, block.size);
      }
    }
    (free == segment.size ? returnable : free_beside_live) += free;
  }
};

/// Whether the places are known at all: recordings without stacks name none.
bool has_stacks(const std::vector<PlaceHolder>& sites) {
  return sites.size() > 1 || (sites.size() == 1 && sites.front().origin != kNoSite);
}

std::string freed_text(const Explanation& e, const FreedBlocks& freed) {
  const std::vector<PlaceHolder> sites = freed_sites(e.workload, freed);
  const std::string size = to_iec(freed.bytes);
  std::string text =
      freed.blocks.size() == 1
          ? fmt::format("would have fit if one {} block", size)
          : fmt::format("would have fit if {} ({})", plural(freed.blocks.size(), "block"), size);
  if (has_stacks(sites)) {
    text += " allocated at " + sites.front().origin;
  }
  if (sites.size() > 1) {
    text += fmt::format(" and {}", plural(sites.size() - 1, "other site"));
  }
  return text + " had been freed earlier";
}

/// "; nothing fails after it (peak reserved 2.55 GiB)".
std::string rest_of_run(const Counterfactual& trial) {
  if (!trial.serves) {
    return "";
  }
  const std::string peak =
      trial.peak ? fmt::format(", peak reserved {}", to_iec(trial.peak->reserved)) : "";
  return trial.survives ? fmt::format("; the rest of the run succeeds as well{}", peak)
                        : "; but a later request fails";
}

std::string limit_shown(const RecordedLimit& limit) {
  if (limit.source == RecordedLimit::Source::noted) {
    return fmt::format("the device of the recording had {} for this process",
                       to_iec(limit.at_least));
  }
  if (limit.source == RecordedLimit::Source::device) {
    return fmt::format(
        "according to the recording, the device had {} for this process when it failed",
        to_iec(limit.at_least));
  }
  return fmt::format(
      "the recording only bounds the limit: {} could be reserved, {} could not; if you know the "
      "limit, give it with --memory-limit",
      to_iec(limit.at_least), to_iec(limit.below));
}

std::string condition(const Explanation& e, const Counterfactual& trial) {
  switch (trial.kind) {
    case Kind::settings: {
      const std::string conf = to_conf(trial.settings);
      return "with " + (conf.empty() ? "default settings" : conf);
    }
    case Kind::more_memory:
      return fmt::format("with {} more memory ({} in total)", to_iec(trial.bytes),
                         to_iec(e.oom->limit + trial.bytes));
    case Kind::no_limit:
      return "without the memory limit of the process";
    case Kind::one_stream:
      return "with everything on one stream";
    case Kind::no_stream_uses:
      return "if no block had been used on a second stream (record_stream)";
    case Kind::no_private_pools:
      return "without private pools";
    case Kind::emptied_before:
      return e.oom->session->is_capture
                 ? "with torch.cuda.empty_cache() before the capture"
                 : "with torch.cuda.empty_cache() before the pool was opened";
    case Kind::edit:
      return fmt::format("with {} (--edit {})", trial.edit_words, trial.edit);
    case Kind::freed_blocks:
      return "";
  }
  return "";
}

void add_growth(const Explanation& e, std::vector<std::string>& lines) {
  const MemoryGrowth& growth = e.growth;
  const auto rate = [](const Growth& slope) {
    return fmt::format("{} per step ({} to {})", bytes_text(slope.per_step), bytes_text(slope.low),
                       bytes_text(slope.high));
  };
  if (growth.verdict == GrowthVerdict::none) {
    lines.emplace_back("no growth: neither live nor reserved memory grows from step to step");
    return;
  }
  if (growth.verdict == GrowthVerdict::leak) {
    lines.push_back("leak: live memory at the end of steps grows by " + rate(growth.end));
  } else if (growth.verdict == GrowthVerdict::larger_steps) {
    lines.push_back("larger steps: the allocated peak grows by " + rate(growth.peak));
  } else if (growth.verdict == GrowthVerdict::fragmentation) {
    lines.push_back("fragmentation: reserved grows by " + rate(growth.reserved) +
                    " although live memory does not");
  }
}

void add_forecast(const Explanation& e, std::vector<std::string>& lines) {
  const auto forecast = e.limit ? e.growth.forecast(*e.limit) : std::nullopt;
  if (forecast) {
    lines.push_back(fmt::format(
        "forecast: {} is reached about {:.0f} steps after the last one ({:.0f} to {:.0f})",
        to_iec(forecast->limit), forecast->steps, forecast->earliest, forecast->latest));
  }
}

}  // namespace

std::string_view to_string(Counterfactual::Kind kind) {
  switch (kind) {
    case Kind::settings:
      return "settings";
    case Kind::more_memory:
      return "more_memory";
    case Kind::freed_blocks:
      return "freed_blocks";
    case Kind::edit:
      return "edit";
    case Kind::no_limit:
      return "no_limit";
    case Kind::one_stream:
      return "one_stream";
    case Kind::no_stream_uses:
      return "no_stream_uses";
    case Kind::no_private_pools:
      return "no_private_pools";
    case Kind::emptied_before:
      return "emptied_before";
  }
  return "";
}

std::string explain_verdict(const Explanation& e) {
  if (!e.oom) {
    return no_failure(e);
  }
  return fmt::format("OUT OF MEMORY{}, {}: {}{}", inside_session(*e.oom), to_string(e.oom->cause),
                     because(*e.oom), whole_run(e));
}

std::string counterfactual_text(const Explanation& e, const Counterfactual& trial) {
  if (trial.kind == Kind::freed_blocks) {
    return freed_text(e, trial.freed);
  }
  return fmt::format("would {}have succeeded {}{}", trial.serves ? "" : "not ", condition(e, trial),
                     rest_of_run(trial));
}

std::vector<std::string> oom_evidence(const Explanation& e) {
  const OomExplanation& oom = *e.oom;
  const OutOfMemory& account = oom.state.account;
  std::vector<std::string> lines;
  const std::string site = e.workload.site(oom.state.stack);
  lines.push_back(
      fmt::format("where: operation {}{}{}{}", oom.state.operation,
                  oom.state.step ? fmt::format(", step {}", *oom.state.step) : "",
                  oom.state.phase.empty() ? "" : ", " + oom.state.phase,
                  site == kNoSite ? "; no call stack was recorded" : ", requested at " + site));
  lines.push_back(fmt::format(
      "limit {} - reserved {} = {} left; needed {}", to_iec(oom.limit), to_iec(account.reserved),
      to_iec(excess_over(oom.limit, account.reserved)), to_iec(account.segment_size)));
  lines.push_back(fmt::format("reserved {} = in use {} + waiting for streams {} + free {}",
                              to_iec(account.reserved), to_iec(account.allocated),
                              to_iec(excess_over(account.active, account.allocated)),
                              to_iec(excess_over(account.reserved, account.active))));
  lines.push_back(fmt::format(
      "free: {} in the request's own pool and stream (largest block {}), {} for other streams, {} "
      "in other pools, {} in private pools",
      to_iec(oom.free_same_place), to_iec(account.largest_usable_free_block),
      to_iec(oom.free_other_stream), to_iec(oom.free_other_pool), to_iec(oom.free_private)));
  if (oom.session) {
    lines.push_back(session_line(*oom.session));
  }
  if (e.workload.is_limit_shown()) {
    lines.push_back(limit_shown(*e.workload.limit));
  }
  if (e.is_reproduced) {
    lines.emplace_back(*e.is_reproduced
                           ? "replaying the requests fails at the same request with the same "
                             "memory in use"
                           : "a replay of the requests fails at another point than the recording: "
                             "take what follows as an approximation");
  }
  return lines;
}

std::vector<std::string> state_lines(const Explanation& e) {
  const MemoryMap& map = e.workload.replay.result.map;
  StateSums sums;
  for (const MapSegment& segment : map.segments) {
    sums.add(segment);
  }
  return {
      fmt::format("{} in {}, with {}", to_iec(e.workload.replay.result.final.reserved),
                  plural(map.segments.size(), "segment"), plural(sums.live_blocks, "live block")),
      fmt::format("free beside live blocks: {}, which empty_cache() cannot give back (largest "
                  "free block {})",
                  to_iec(sums.free_beside_live), to_iec(sums.largest_free)),
      fmt::format("in segments without live blocks: {}, which empty_cache() gives back",
                  to_iec(sums.returnable)),
      fmt::format("freed, but waiting for other streams: {}", to_iec(sums.waiting))};
}

std::vector<std::string> growth_lines(const Explanation& e, std::size_t top) {
  std::vector<std::string> lines;
  if (e.growth.verdict == GrowthVerdict::too_few_steps) {
    const std::size_t steps = e.growth.steps.size();
    lines.push_back(steps == 0 ? "no steps found"
                               : plural(steps, "step") + " found: too few to show a trend");
  } else if (!e.are_steps_sure()) {
    lines.push_back(fmt::format(
        "{} found by {}, too different from one another to show a trend (confidence {:.2f})",
        plural(e.growth.steps.size(), "step"), to_string(e.steps.source), e.steps.confidence));
  } else {
    lines.push_back(fmt::format("{} found by {}, confidence {:.2f}",
                                plural(e.growth.steps.size(), "step"), to_string(e.steps.source),
                                e.steps.confidence));
    add_growth(e, lines);
    add_forecast(e, lines);
  }
  const std::size_t leaks = e.are_steps_sure() ? std::min(top, e.growth.leaks.size()) : 0;
  for (std::size_t i = 0; i < leaks; ++i) {
    const LeakSite& leak = e.growth.leaks[i];
    lines.push_back(fmt::format("left behind by {}: {} in {}, allocated at {}",
                                plural(leak.steps, "step"), to_iec(leak.left.held),
                                plural(leak.left.blocks, "block"),
                                e.workload.site(leak.left.origin)));
  }
  if (!e.growth.pending.empty()) {
    lines.push_back(fmt::format("{} freed but waiting for other streams at the end: {}",
                                plural(e.growth.pending.size(), "block"),
                                to_iec(e.growth.pending_bytes)));
  }
  return lines;
}

std::vector<PlaceHolder> freed_sites(const Workload& workload, const FreedBlocks& freed) {
  HolderSums<std::string> sums;
  for (const HeldBlock& block : freed.blocks) {
    sums.add(workload.site(block.stack), block.size);
  }
  return sums.largest_first();
}

}  // namespace highwater
