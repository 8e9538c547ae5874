#include "tools/reports/scan/scan_database.hpp"

#include <memory>
#include <new>
#include <span>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/scan/scan_report.hpp"
#include "traces/error.hpp"
#include "traces/utf8.hpp"

namespace highwater {
namespace {

struct CloseDatabase {
  void operator()(::sqlite3* database) const { ::sqlite3_close(database); }

  void operator()(::sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }

  void operator()(unsigned char* bytes) const { ::sqlite3_free(bytes); }
};

using Database = std::unique_ptr<::sqlite3, CloseDatabase>;

void require(::sqlite3* database, bool is_done) {
  if (!is_done) {
    throw Error(fmt::format("SQLite: {}", ::sqlite3_errmsg(database)));
  }
}

Database database_in_memory() {
  ::sqlite3* raw = nullptr;
  const int status = ::sqlite3_open(":memory:", &raw);
  Database database(raw);
  require(raw, status == SQLITE_OK);
  return database;
}

void execute(const Database& database, const std::string& sql) {
  const int status = ::sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr);
  require(database.get(), status == SQLITE_OK);
}

/// Rows into one table.
class Insert {
 public:
  Insert(const Database& database, std::string_view table, std::size_t columns)
      : database_(database.get()) {
    const std::string sql =
        fmt::format("insert into {} values ({})", table,
                    fmt::join(std::vector<std::string_view>(columns, "?"), ", "));
    ::sqlite3_stmt* raw = nullptr;
    const int status = ::sqlite3_prepare_v2(database_, sql.c_str(), -1, &raw, nullptr);
    statement_.reset(raw);
    require(database_, status == SQLITE_OK);
  }

  void add(const std::vector<MetricValue>& values) {
    ::sqlite3_reset(statement_.get());
    int place = 0;
    for (const MetricValue& value : values) {
      require(database_, bind(++place, value) == SQLITE_OK);
    }
    require(database_, ::sqlite3_step(statement_.get()) == SQLITE_DONE);
  }

 private:
  int bind(int place, const MetricValue& value) {
    ::sqlite3_stmt* const statement = statement_.get();
    return std::visit(
        [&](const auto& each) {
          using T = std::decay_t<decltype(each)>;
          if constexpr (std::is_same_v<T, std::monostate>) {
            return ::sqlite3_bind_null(statement, place);
          } else if constexpr (std::is_same_v<T, std::string>) {
            const std::string text = valid_utf8(each);
            return ::sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()),
                                       SQLITE_TRANSIENT);
          } else if constexpr (std::is_same_v<T, double>) {
            return ::sqlite3_bind_double(statement, place, each);
          } else if constexpr (std::is_same_v<T, Bytes>) {
            return ::sqlite3_bind_int64(statement, place,
                                        static_cast<::sqlite3_int64>(each.count()));
          } else {
            return ::sqlite3_bind_int64(statement, place, static_cast<::sqlite3_int64>(each));
          }
        },
        value);
  }

  ::sqlite3* database_;
  std::unique_ptr<::sqlite3_stmt, CloseDatabase> statement_;
};

Columns<ScanRow> stored_columns() {
  Columns<ScanRow> columns = scan_columns();
  std::erase_if(columns, [](const Column<ScanRow>& column) { return column.key.empty(); });
  return columns;
}

void make_tables(const Database& database, const Columns<ScanRow>& columns) {
  std::vector<std::string> names;
  for (const Column<ScanRow>& column : columns) {
    names.push_back(column.key);
  }
  execute(database,
          fmt::format("create table ranks (id integer primary key, {})", fmt::join(names, ", ")));
  execute(database, "create table held (rank_id integer, kind text, name text, bytes integer)");
  execute(database,
          "create table differences (rank_id integer, kind text, name text, bytes integer, "
          "usual_bytes integer)");
}

void add_rows(const Database& database, const Scan& scan, const Columns<ScanRow>& columns) {
  Insert ranks(database, "ranks", columns.size() + 1);
  Insert held(database, "held", 4);
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

void add_stored_differences(const Database& database, const Scan& scan) {
  Insert insert(database, "differences", 5);
  for (const RankDifference& each : scan.differences) {
    insert.add({std::uint64_t{each.row}, std::string(to_string(each.by)), scan.names[each.name],
                each.bytes, each.usual});
  }
}

}  // namespace

void write_scan_database(const Scan& scan, ByteSink& sink) {
  const Database database = database_in_memory();
  const Columns<ScanRow> columns = stored_columns();
  execute(database, "begin");
  make_tables(database, columns);
  add_rows(database, scan, columns);
  add_stored_differences(database, scan);
  execute(database, "commit");
  ::sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, CloseDatabase> bytes(
      ::sqlite3_serialize(database.get(), "main", &size, 0));
  if (!bytes) {
    throw std::bad_alloc();
  }
  sink.write(std::as_bytes(std::span(bytes.get(), static_cast<std::size_t>(size))));
  sink.commit();
}

}  // namespace highwater
