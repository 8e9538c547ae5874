#include "tools/reports/scan/scan_database.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/database/sqlite_database.hpp"
#include "tools/reports/scan/scan_report.hpp"

namespace highwater {
namespace {

Columns<ScanRow> stored_columns() {
  Columns<ScanRow> columns = scan_columns();
  std::erase_if(columns, [](const Column<ScanRow>& column) { return column.key.empty(); });
  return columns;
}

void make_tables(SqliteDatabase& database, const Columns<ScanRow>& columns) {
  std::vector<std::string> names;
  for (const Column<ScanRow>& column : columns) {
    names.push_back(column.key);
  }
  database.execute(
      fmt::format("create table ranks (id integer primary key, {})", fmt::join(names, ", ")));
  database.execute("create table held (rank_id integer, kind text, name text, bytes integer)");
  database.execute(
      "create table differences (rank_id integer, kind text, name text, bytes integer, "
      "usual_bytes integer)");
}

void add_rows(SqliteDatabase& database, const Scan& scan, const Columns<ScanRow>& columns) {
  SqliteDatabase::Insert ranks(database, "ranks", columns.size() + 1);
  SqliteDatabase::Insert held(database, "held", 4);
  for (std::size_t id = 0; id < scan.rows.size(); ++id) {
    std::vector<MetricValue> values{std::uint64_t{id}};
    for (const Column<ScanRow>& column : columns) {
      values.push_back(column.cell(scan.rows[id]).value.value_or(MetricValue()));
    }
    ranks.add(values);
    for (const HeldShare& share : scan.rows[id].held) {
      held.add({std::uint64_t{id}, std::string(to_string(share.by)), scan.names[share.name],
                share.bytes});
    }
  }
}

void add_stored_differences(SqliteDatabase& database, const Scan& scan) {
  SqliteDatabase::Insert insert(database, "differences", 5);
  for (const RankDifference& each : scan.differences) {
    insert.add({std::uint64_t{each.row}, std::string(to_string(each.by)), scan.names[each.name],
                each.bytes, each.usual});
  }
}

}  // namespace

void write_scan_database(const Scan& scan, ByteSink& sink) {
  SqliteDatabase database;
  const Columns<ScanRow> columns = stored_columns();
  make_tables(database, columns);
  add_rows(database, scan, columns);
  add_stored_differences(database, scan);
  database.write_to(sink);
}

}  // namespace highwater
