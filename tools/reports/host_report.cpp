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

}  // namespace

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

boost::json::object host_json(const HostAccount& host) {
  return {{"requested_bytes", host.requested()},
          {"taken_bytes", host.taken()},
          {"pinned_bytes", host.pinned()},
          {"pageable_bytes", host.pageable()},
          {"cached_bytes", host.cached},
          {"buffers", rows_json(buffer_table("", host.buffers))}};
}

}  // namespace highwater
