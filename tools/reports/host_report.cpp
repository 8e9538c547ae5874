#include "tools/reports/host_report.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::string size_text(std::int64_t bytes) {
  return to_iec(Bytes{static_cast<std::uint64_t>(bytes)});
}

std::string spoken(std::string what) {
  std::ranges::replace(what, '_', ' ');
  return what;
}

auto size_of(std::int64_t HostBuffers::*member) {
  return [member](const HostBuffers& each) { return size_text(each.*member); };
}

Table buffer_table(std::string title, const std::vector<HostBuffers>& buffers) {
  using enum Align;
  static const Columns<HostBuffers> kColumns{
      {"", "what", left, [](const HostBuffers& each) { return spoken(each.what); }},
      {"", "kind", left, host_kind},
      {"", "blocks", right, &HostBuffers::blocks},
      {"", "requested", right, size_of(&HostBuffers::requested)},
      {"", "taken", right, size_of(&HostBuffers::taken)}};
  return tabulate(std::move(title), kColumns, buffers);
}

auto size_of(std::int64_t HostPart::*member) {
  return [member](const HostPart& each) { return size_text(each.*member); };
}

Table part_table(std::string title, const std::vector<HostPart>& parts) {
  using enum Align;
  static const Columns<HostPart> kColumns{{"", "during", left, &HostPart::part},
                                          {"", "pinned", right, size_of(&HostPart::pinned)},
                                          {"", "pageable", right, size_of(&HostPart::pageable)},
                                          {"", "this rank", right, size_of(&HostPart::rank)},
                                          {"", "node", right, size_of(&HostPart::node)}};
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
                          host_parts(node));
}

std::string_view host_kind(const HostBuffers& buffers) {
  return buffers.is_pinned ? "pinned" : "pageable";
}

std::vector<HostPart> host_parts(const NodeHostMemory& memory) {
  const auto part = [&memory](std::string_view what, const HostAccount& host) {
    return HostPart{.part = what,
                    .pinned = host.pinned(),
                    .pageable = host.pageable(),
                    .rank = host.taken(),
                    .node = host.taken() * memory.ranks};
  };
  return {part("model construction", memory.rank.making),
          part("initialisation", memory.rank.initialising), part("training", memory.rank.training)};
}

}  // namespace highwater
