#include "tools/reports/database/sqlite_database.hpp"

#include <new>
#include <span>
#include <sqlite3.h>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "traces/utf8.hpp"

namespace highwater {
namespace {

struct FreeBytes {
  void operator()(unsigned char* bytes) const { ::sqlite3_free(bytes); }
};

void require(::sqlite3* database, bool is_done) {
  if (!is_done) {
    throw Error(fmt::format("SQLite: {}", ::sqlite3_errmsg(database)));
  }
}

}  // namespace

void SqliteDatabase::Close::operator()(::sqlite3* database) const {
  ::sqlite3_close(database);
}

void SqliteDatabase::Insert::Finalize::operator()(::sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

SqliteDatabase::SqliteDatabase() {
  ::sqlite3* raw = nullptr;
  const int status = ::sqlite3_open(":memory:", &raw);
  database_.reset(raw);
  require(raw, status == SQLITE_OK);
  execute("begin");
}

void SqliteDatabase::execute(const std::string& sql) {
  const int status = ::sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  require(database_.get(), status == SQLITE_OK);
}

void SqliteDatabase::write_to(ByteSink& sink) {
  execute("commit");
  ::sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, FreeBytes> bytes(
      ::sqlite3_serialize(database_.get(), "main", &size, 0));
  if (!bytes) {
    throw std::bad_alloc();
  }
  sink.write(std::as_bytes(std::span(bytes.get(), static_cast<std::size_t>(size))));
  sink.commit();
}

SqliteDatabase::Insert::Insert(SqliteDatabase& database, std::string_view table,
                               std::size_t columns)
    : database_(database.database_.get()) {
  const std::string sql = fmt::format("insert into {} values ({})", table,
                                      fmt::join(std::vector<std::string_view>(columns, "?"), ", "));
  ::sqlite3_stmt* raw = nullptr;
  const int status = ::sqlite3_prepare_v2(database_, sql.c_str(), -1, &raw, nullptr);
  statement_.reset(raw);
  require(database_, status == SQLITE_OK);
}

void SqliteDatabase::Insert::add(const std::vector<MetricValue>& values) {
  ::sqlite3_reset(statement_.get());
  int place = 0;
  for (const MetricValue& value : values) {
    require(database_, bind(++place, value) == SQLITE_OK);
  }
  require(database_, ::sqlite3_step(statement_.get()) == SQLITE_DONE);
}

int SqliteDatabase::Insert::bind(int place, const MetricValue& value) {
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
          return ::sqlite3_bind_int64(statement, place, static_cast<::sqlite3_int64>(each.count()));
        } else {
          return ::sqlite3_bind_int64(statement, place, static_cast<::sqlite3_int64>(each));
        }
      },
      value);
}

}  // namespace highwater
