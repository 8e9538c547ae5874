#include "tools/reports/host_report.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/studies/simulate_run.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"

namespace highwater {
namespace {

std::string size_text(std::int64_t bytes) {
  return to_iec(Bytes{static_cast<std::uint64_t>(bytes)});
}

std::string spoken(std::string what) {
  std::ranges::replace(what, '_', ' ');
  return what;
}

std::string kind_of(const HostBuffers& buffers) {
  return buffers.is_pinned ? "pinned" : "pageable";
}

/// Numbers in JSON, sizes for people.
auto size_of(std::int64_t HostBuffers::*member) {
  return [member](const HostBuffers& each) {
    return Cell(each.*member).shown_as(size_text(each.*member));
  };
}

Table buffer_table(std::string title, const std::vector<HostBuffers>& buffers) {
  using enum Align;
  static const Columns<HostBuffers> kColumns{
      {"what", "what", left,
       [](const HostBuffers& each) { return Cell(each.what).shown_as(spoken(each.what)); }},
      {"kind", "kind", left, kind_of},
      {"blocks", "blocks", right, &HostBuffers::blocks},
      {"requested_bytes", "requested", right, size_of(&HostBuffers::requested)},
      {"taken_bytes", "taken", right, size_of(&HostBuffers::taken)}};
  return tabulate(std::move(title), kColumns, buffers);
}

struct HostRow {
  std::string_view part;
  std::int64_t pinned = 0;
  std::int64_t pageable = 0;
  std::int64_t rank = 0;
  std::int64_t node = 0;
};

std::vector<HostRow> parts_of(const NodeHostMemory& memory) {
  const auto part = [&memory](std::string_view what, const HostAccount& host) {
    return HostRow{.part = what,
                   .pinned = host.pinned(),
                   .pageable = host.pageable(),
                   .rank = host.taken(),
                   .node = host.taken() * memory.ranks};
  };
  return {part("model construction", memory.rank.making),
          part("initialisation", memory.rank.initialising), part("training", memory.rank.training)};
}

auto size_of(std::int64_t HostRow::*member) {
  return [member](const HostRow& each) {
    return Cell(each.*member).shown_as(size_text(each.*member));
  };
}

Table part_table(std::string title, const std::vector<HostRow>& parts) {
  using enum Align;
  static const Columns<HostRow> kColumns{
      {"part", "during", left, &HostRow::part},
      {"pinned_bytes", "pinned", right, size_of(&HostRow::pinned)},
      {"pageable_bytes", "pageable", right, size_of(&HostRow::pageable)},
      {"rank_bytes", "this rank", right, size_of(&HostRow::rank)},
      {"node_bytes", "node", right, size_of(&HostRow::node)}};
  return tabulate(std::move(title), kColumns, parts);
}

}  // namespace

NodeHostMemory node_host_memory(const Simulation& simulation) {
  return {.rank = simulation.host, .ranks = usual_gpus_per_node(simulation.plan.parallel.gpus())};
}

Table host_table(const HostAccount& host) {
  auto buffers = host.buffers;
  std::ranges::stable_sort(buffers, std::ranges::greater{}, &HostBuffers::taken);
  Table table = buffer_table("Host memory of this rank at its peak", buffers);
  if (host.cached > 0) {
    table.footer.push_back({"cached", "pinned", "", "", size_text(host.cached)});
  }
  if (!table.rows.empty() || !table.footer.empty()) {
    table.footer.push_back({"all pinned", "", "", "", size_text(host.pinned())});
    table.footer.push_back({"all", "", "", size_text(host.requested()), size_text(host.taken())});
  }
  return table;
}

Table node_host_table(const NodeHostMemory& node) {
  const std::string ranks = node.ranks == 1 ? "1 rank" : fmt::format("{} ranks", node.ranks);
  return node.rank.highest() == 0
             ? Table{}
             : part_table(fmt::format("Host memory of a node of {}, at the peaks", ranks),
                          parts_of(node));
}

boost::json::object host_json(const NodeHostMemory& node) {
  const HostAccount& host = node.rank.training;
  return {{"requested_bytes", host.requested()},
          {"taken_bytes", host.taken()},
          {"pinned_bytes", host.pinned()},
          {"pageable_bytes", host.pageable()},
          {"cached_bytes", host.cached},
          {"buffers", rows_json(buffer_table("", host.buffers))},
          {"node", boost::json::object{{"ranks", node.ranks},
                                       {"peaks", rows_json(part_table("", parts_of(node)))}}}};
}

}  // namespace highwater
