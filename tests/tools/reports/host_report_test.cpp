// Host memory: nothing, one kind of buffers, the largest first, and the ranks of a node.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tools/reports/host_members.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

HostBuffers buffers(const std::string& what, bool is_pinned, std::int64_t requested,
                    std::int64_t taken) {
  return {what, is_pinned, requested * kMiB, taken * kMiB, 2};
}

/// The cells of each footer row, joined.
std::vector<std::string> footer_of(const HostAccount& account) {
  std::vector<std::string> lines;
  for (const auto& row : host_table(account).footer) {
    std::string line;
    for (const std::string& cell : row) {
      line += "|" + cell;
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("host table: nothing on the host is no table at all", "[reports][host]") {
  CHECK(host_table({}).rows.empty());
  CHECK(host_table({}).footer.empty());
  CHECK(node_host_table({}).rows.empty());
}

TEST_CASE("host table: the largest first, equal ones in their order, names without underscores",
          "[reports][host]") {
  const Table table = host_table({.buffers = {buffers("a", true, 1, 2), buffers("b_c", false, 8, 8),
                                              buffers("d", false, 2, 2)}});
  REQUIRE(table.rows.size() == 3);
  CHECK(to_text(table.rows[0][0]) == "b c");
  CHECK(to_text(table.rows[0][1]) == "pageable");
  CHECK(to_text(table.rows[1][0]) == "a");
  CHECK(to_text(table.rows[1][1]) == "pinned");
  CHECK(to_text(table.rows[1][4]) == "2.00 MiB");
  CHECK(to_text(table.rows[2][0]) == "d");
}

TEST_CASE("host table: sums of what is pinned and of all, with the cached where there is any",
          "[reports][host]") {
  HostAccount account{.buffers = {buffers("a", true, 3, 4), buffers("b", false, 8, 8)}};
  CHECK(footer_of(account) ==
        std::vector<std::string>{"|all pinned||||4.00 MiB", "|all|||11.00 MiB|12.00 MiB"});
  account.cached = 2 * kMiB;
  CHECK(footer_of(account) == std::vector<std::string>{"|cached|pinned|||2.00 MiB",
                                                       "|all pinned||||6.00 MiB",
                                                       "|all|||11.00 MiB|14.00 MiB"});
  CHECK(footer_of({.buffers = {}, .cached = kMiB}).size() == 3);  // unused blocks alone
}

TEST_CASE("host table: the ranks of a node count as this one", "[reports][host]") {
  NodeHostMemory node;
  node.rank.making.buffers = {buffers("model", false, 5, 5)};
  CHECK_THAT(node_host_table(node).title, Contains("of a node of 1 rank,"));
  node.ranks = 8;
  const Table table = node_host_table(node);
  CHECK_THAT(table.title, Contains("of a node of 8 ranks,"));
  REQUIRE(table.rows.size() == 3);
  CHECK(to_text(table.rows[0][3]) == "5.00 MiB");
  CHECK(to_text(table.rows[0][4]) == "40.00 MiB");
  CHECK(to_text(table.rows[2][4]) == "0 B");
  const boost::json::object report = object_json(node);
  const auto& peaks = report.at("node").at("peaks").as_array();
  CHECK(peaks[0].at("node_bytes").to_number<std::int64_t>() == 40 * kMiB);
}
