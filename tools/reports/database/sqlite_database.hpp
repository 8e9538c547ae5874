// An SQLite database that is made in memory and written as one file, so that a file is whole or not
// there.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/text/cell.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace highwater {

/// Empty, with one transaction open.
class SqliteDatabase {
 public:
  SqliteDatabase();

  /// @throws Error with SQLite's own words
  void execute(const std::string& sql);

  /// Writes and commits; nothing may be added afterwards. @throws Error if the medium accepts no
  /// more
  void write_to(ByteSink& sink);

  /// Rows into one table, which must not outlive the database.
  class Insert {
   public:
    /// `columns` is how many `table` has.
    Insert(SqliteDatabase& database, std::string_view table, std::size_t columns);

    /// A text that is not UTF-8 goes in as valid_utf8() makes it.
    void add(const std::vector<MetricValue>& values);

   private:
    struct Finalize {
      void operator()(::sqlite3_stmt* statement) const;
    };

    int bind(int place, const MetricValue& value);

    ::sqlite3* database_;
    std::unique_ptr<::sqlite3_stmt, Finalize> statement_;
  };

 private:
  struct Close {
    void operator()(::sqlite3* database) const;
  };

  std::unique_ptr<::sqlite3, Close> database_;
};

}  // namespace highwater
