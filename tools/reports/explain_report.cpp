#include "tools/reports/explain_report.hpp"

#include <algorithm>
#include <map>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "allocator/settings/settings_change.hpp"
#include "tools/reports/explain_members.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"

namespace highwater {

std::optional<Forecast> Drift::forecast() const {
  return of->limit ? of->growth.forecast(*of->limit) : std::nullopt;
}

std::vector<LeakLine> Drift::leaks() const {
  std::vector<LeakLine> lines;
  for (const LeakSite& leak : of->growth.leaks) {
    lines.push_back({of->workload.site(leak.left.origin), &leak});
  }
  return lines;
}

std::vector<PendingLine> Drift::pending() const {
  std::vector<PendingLine> lines;
  for (const PendingFree& block : of->growth.pending) {
    lines.push_back({of->workload.site(block.stack), &block});
  }
  return lines;
}

std::optional<Bytes> TrialLine::bytes() const {
  return is(Counterfactual::Kind::more_memory) ? std::optional(trial->bytes)
                                               : if_freed(trial->freed.bytes);
}

std::optional<std::vector<PlaceHolder>> TrialLine::sites() const {
  return is(Counterfactual::Kind::freed_blocks)
             ? std::optional(freed_sites(of->workload, trial->freed))
             : std::nullopt;
}

std::optional<std::string_view> ExplainedDevice::cause() const {
  return of->oom ? std::optional(to_string(of->oom->cause)) : std::nullopt;
}

std::vector<TrialLine> ExplainedDevice::trials() const {
  std::vector<TrialLine> lines;
  if (of->oom) {
    for (const Counterfactual& trial : of->oom->counterfactuals) {
      lines.push_back({of, &trial});
    }
  }
  return lines;
}

namespace {

constexpr std::string_view kExplainSchema = "highwater.explain/1";

/// C++ frames spell out every type of their parameters; JSON has them in full.
std::string shortened(const std::string& site) {
  constexpr std::size_t kWidest = 80;
  return site.size() <= kWidest ? site : site.substr(0, kWidest - 3) + "...";
}

Bytes sum_of(std::span<const PlaceHolder> sites) {
  Bytes sum;
  for (const PlaceHolder& site : sites) {
    sum += site.held;
  }
  return sum;
}

std::string share_of(Bytes bytes, Bytes all) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(bytes.count()) /
                                     static_cast<double>(std::max<std::uint64_t>(all.count(), 1)));
}

Table holder_table(std::string title, std::span<const PlaceHolder> sites, std::size_t top) {
  using enum Align;
  const Bytes all = sum_of(sites);
  const Columns<PlaceHolder> columns{
      {"", "site", left, [](const PlaceHolder& site) { return shortened(site.origin); }},
      {"", "bytes", right, &PlaceHolder::held},
      {"", "blocks", right, &PlaceHolder::blocks},
      {"", "share", right, [all](const PlaceHolder& site) { return share_of(site.held, all); }}};
  const std::size_t listed = std::min(top, sites.size());
  Table table = tabulate(std::move(title), columns, sites.first(listed));
  if (listed < sites.size()) {
    const Bytes rest = sum_of(sites.subspan(listed));
    table.footer.push_back(
        {fmt::format("... {} more", sites.size() - listed), to_iec(rest), "", share_of(rest, all)});
  }
  return table;
}

std::string pool_text(const PoolAccount& pool) {
  const std::string owner =
      pool.owner.is_default() ? "" : fmt::format(" ({}, {})", pool.owner.capture, pool.owner.user);
  return (pool.kind == PoolKind::small ? "small" : "large") + owner;
}

Table pool_table(const Explanation& e) {
  using enum Align;
  const Columns<PoolAccount> columns{
      {"", "pool", left, pool_text},
      {"", "stream", right,
       [&](const PoolAccount& pool) {
         return e.workload.replay.stream_handles[pool.stream.index()];
       }},
      {"", "reserved", right, &PoolAccount::reserved},
      {"", "allocated", right, &PoolAccount::allocated},
      {"", "waiting", right, &PoolAccount::pending_free},
      {"", "free", right, &PoolAccount::free},
      {"", "largest free", right, &PoolAccount::largest_free_block}};
  return tabulate("Pools and streams at that moment", columns, e.oom->state.account.pools);
}

struct BarRow {
  std::string bar;
  Bytes memory;
  std::string remark;
};

Table bars_table(const FourBars& bars) {
  using enum Align;
  static const Columns<BarRow> kColumns{{"", "bar", left, &BarRow::bar},
                                        {"", "memory", right, &BarRow::memory},
                                        {"", "", left, &BarRow::remark}};
  const auto replayed = [](std::string name, const ReplayBar& bar) {
    return BarRow{std::move(name), bar.reserved, bar.ran_out ? "runs out of memory" : ""};
  };
  return tabulate(
      "Bounds for any allocator given these requests", kColumns,
      std::vector<BarRow>{
          {"most bytes alive at once", bars.bound.live, "no allocator needs less"},
          {"packed offline", bars.bound.packed,
           fmt::format("at most {:.1f} % above the best packing", 100 * bars.bound.gap())},
          replayed("expandable segments", bars.expandable),
          replayed("default settings", bars.standard),
          replayed("these settings", bars.own)});
}

/// The options that a string of settings names, without their values.
std::vector<std::string> option_words(const Settings& settings) {
  std::vector<std::string> options = split_options(to_conf(settings));
  for (std::string& option : options) {
    option = option.substr(0, option.find(':'));
  }
  return options;
}

/// Whether an earlier counterfactual, and so a better one, sets the same options.
bool is_repeated(const OomExplanation& oom, const Counterfactual& trial) {
  for (const Counterfactual& earlier : oom.counterfactuals) {
    if (&earlier == &trial) {
      return false;
    }
    if (earlier.kind == Counterfactual::Kind::settings && trial.kind == earlier.kind &&
        option_words(earlier.settings) == option_words(trial.settings)) {
      return true;
    }
  }
  return false;
}

/// Of several values of an option that help, people see the best; JSON has all.
void add_oom(const Explanation& e, Report& report) {
  report.items("Evidence", oom_evidence(e));
  report.table(pool_table(e), Gap::before);
  std::vector<std::string> served;
  std::vector<std::string> rest;
  for (const Counterfactual& trial : e.oom->counterfactuals) {
    if (!is_repeated(*e.oom, trial)) {
      (trial.serves ? served : rest).push_back(counterfactual_text(e, trial));
    }
  }
  report.items("Changes of the plan with which it fits", e.cures);
  report.items("What would have helped (each replayed)", served);
  report.items("What would not", rest);
}

/// What a history shows, whether or not it ran out of memory.
void add_run(const Explanation& e, std::size_t top, Report& report) {
  report.table(holder_table(e.oom ? "Who held memory at that moment"
                                  : "Who holds memory at the peak of requested bytes",
                            e.holders, top),
               Gap::before);
  report.table(
      holder_table(fmt::format("Free memory pinned by live blocks ({} {})", to_iec(e.blame.pinned),
                               e.oom ? "then" : "at the reserved peak"),
                   e.pinned, top),
      Gap::before);
  report.table(bars_table(e.bars), Gap::before);
  report.items("From step to step", growth_lines(e, top));
}

MetricList explanation_metrics(const Explanation& e) {
  MetricList list;
  list.add("verdict", "", explain_verdict(e));
  list.add("cause", "", e.oom ? MetricValue(std::string(to_string(e.oom->cause))) : MetricValue());
  list.add("peak_reserved_bytes", "", e.workload.replay.result.peak.reserved);
  list.add("peak_allocated_bytes", "", e.workload.replay.result.peak.allocated);
  if (e.oom) {
    list.add("oom.requested_bytes", "", e.oom->state.account.requested);
    list.add("oom.limit_bytes", "", e.oom->limit);
    std::size_t number = 0;
    for (const Counterfactual& trial : e.oom->counterfactuals) {
      list.add(fmt::format("counterfactuals.{}", number++), "", counterfactual_text(e, trial));
    }
  }
  list.add("pinned_bytes", "", e.blame.pinned);
  list.add("bounds.live_bytes", "", e.bars.bound.live);
  list.add("bounds.packed_bytes", "", e.bars.bound.packed);
  list.add("bounds.expandable.reserved_bytes", "", e.bars.expandable.reserved);
  list.add("bounds.default.reserved_bytes", "", e.bars.standard.reserved);
  list.add("drift.verdict", "", std::string(to_string(e.growth.verdict)));
  list.add("trust", "", e.workload.trust());
  return list;
}

void add_explanation(const Explanation& e, std::size_t top, Report& report) {
  add_first_line(e.workload.replay, report);
  report.line(fmt::format("{}, device {}", e.workload.name, e.workload.replay.device));
  report.line(explain_verdict(e));
  add_private_pools(e.workload.replay.result, report);
  if (e.oom) {
    add_oom(e, report);
  }
  if (e.oom || e.workload.has_history()) {
    add_run(e, top, report);
  } else {
    report.items("The state when the snapshot was taken", state_lines(e));
    report.table(holder_table("Who holds memory", e.holders, top), Gap::before);
  }
  report.items("Notes", notes_below(e.workload.replay));
  report.line("");
  report.line(e.workload.trust());
}

Table explanation_lines(const std::vector<Explanation>& devices) {
  std::vector<MetricLine> lines;
  for (const Explanation& e : devices) {
    add_lines({std::to_string(e.workload.replay.device)}, explanation_metrics(e), lines);
  }
  return line_table({"device"}, lines);
}

ExplainAnswer answer_of(const std::vector<Explanation>& devices) {
  ExplainAnswer answer;
  for (const Explanation& e : devices) {
    answer.devices.push_back({&e});
  }
  return answer;
}

}  // namespace

std::string explain_report(const std::vector<Explanation>& devices, OutputFormat format,
                           std::size_t top) {
  Report report(format, kExplainSchema);
  if (devices.empty()) {
    report.line("The file holds no device with memory or events.");
  }
  for (const Explanation& device : devices) {
    add_explanation(device, top, report);
  }
  report.csv([&] { return explanation_lines(devices); });
  report.members([&] { return object_json(answer_of(devices)); });
  return report.str();
}

boost::json::object explain_schema() {
  return answer_schema<ExplainAnswer>("explain", kExplainSchema);
}

}  // namespace highwater
