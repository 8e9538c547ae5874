#include "tools/reports/host_report.hpp"

#include <algorithm>
#include <string>

#include <boost/json.hpp>

#include "tools/reports/replay_report.hpp"

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

}  // namespace

TextTable host_table(const HostAccount& host) {
  TextTable table{"Host memory of this rank, when most is taken",
                  {"what", "kind", "blocks", "requested", "taken"},
                  {},
                  {false, false, true, true, true}};
  auto buffers = host.buffers;
  std::ranges::stable_sort(buffers, std::ranges::greater{}, &HostBuffers::taken);
  for (const HostBuffers& each : buffers) {
    table.rows.push_back({spoken(each.what), kind_of(each), std::to_string(each.blocks),
                          size_text(each.requested), size_text(each.taken)});
  }
  if (host.cached > 0) {
    table.rows.push_back({"cached", "pinned", "", "", size_text(host.cached)});
  }
  if (!table.rows.empty()) {
    table.rows.push_back({"all pinned", "", "", "", size_text(host.pinned())});
    table.rows.push_back({"all", "", "", size_text(host.requested()), size_text(host.taken())});
  }
  return table;
}

boost::json::object host_json(const HostAccount& host) {
  boost::json::array buffers;
  for (const HostBuffers& each : host.buffers) {
    buffers.push_back({{"what", each.what},
                       {"kind", kind_of(each)},
                       {"blocks", each.blocks},
                       {"requested_bytes", each.requested},
                       {"taken_bytes", each.taken}});
  }
  return {{"requested_bytes", host.requested()}, {"taken_bytes", host.taken()},
          {"pinned_bytes", host.pinned()},       {"pageable_bytes", host.pageable()},
          {"cached_bytes", host.cached},         {"buffers", std::move(buffers)}};
}

}  // namespace highwater
