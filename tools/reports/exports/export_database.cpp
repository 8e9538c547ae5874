#include "tools/reports/exports/export_database.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/reports/database/sqlite_database.hpp"
#include "tools/reports/exports/operation_texts.hpp"
#include "tools/reports/exports/stack_profile.hpp"
#include "tools/text/cell.hpp"

namespace highwater {
namespace {

void make_tables(SqliteDatabase& database) {
  database.execute(
      "create table operations (device integer, n integer, action text, id text, bytes integer, "
      "stream integer, address integer, reserved integer, allocated integer, active integer, "
      "requested integer, step integer, phase text, stack_id integer)");
  database.execute(
      "create table stacks (stack_id integer primary key, device integer, site text, depth "
      "integer)");
  database.execute(
      "create table frames (stack_id integer, place integer, function text, file text, "
      "line integer)");
}

template <class Value>
MetricValue value_or_null(const std::optional<Value>& value) {
  return value ? MetricValue(*value) : MetricValue();
}

MetricValue text_or_null(const std::string& text) {
  return text.empty() ? MetricValue() : MetricValue(text);
}

/// The tables of a database being filled, run by run.
class DatabaseRows {
 public:
  explicit DatabaseRows(SqliteDatabase& database)
      : operations_(database, "operations", 14),
        stacks_(database, "stacks", 4),
        frames_(database, "frames", 5) {}

  void add(const ObservedRun& run) {
    numbers_.clear();  // a run has stacks of its own
    OperationTexts texts(*run.trace);
    OperationRows rows(*run.trace, run.older,
                       [&](const OperationRow& row) { add(row, run, texts); });
    run.observe(rows);
  }

 private:
  void add(const OperationRow& row, const ObservedRun& run, OperationTexts& texts) {
    const auto address = row.address ? std::optional(row.address->value()) : std::nullopt;
    operations_.add({std::int64_t{run.replay.device}, row.operation, std::string(action_of(row)),
                     text_or_null(texts.allocation(row.allocation)),
                     row.allocation.has_value() ? MetricValue(row.bytes) : MetricValue(),
                     value_or_null(texts.stream(row.stream)), value_or_null(address),
                     row.after.reserved, row.after.allocated, row.after.active, row.after.requested,
                     value_or_null(row.step), text_or_null(texts.phase(row.phase)),
                     stack_of(row, run, texts)});
  }

  MetricValue stack_of(const OperationRow& row, const ObservedRun& run, OperationTexts& texts) {
    if (!row.stack.has_value()) {
      return {};
    }
    const auto [entry, is_new] = numbers_.try_emplace(row.stack, next_);
    if (is_new) {
      ++next_;
      add_stack(entry->second, row.stack, run, texts);
    }
    return entry->second;
  }

  void add_stack(std::uint64_t number, StackId stack, const ObservedRun& run,
                 OperationTexts& texts) {
    const std::vector<FrameWords> frames = frames_of(run.trace->tables, stack);
    stacks_.add(
        {number, std::int64_t{run.replay.device}, texts.site(stack), std::uint64_t{frames.size()}});
    for (std::size_t place = 0; place < frames.size(); ++place) {
      const FrameWords& frame = frames[place];
      frames_.add({number, std::uint64_t{place}, frame.function, text_or_null(frame.file),
                   frame.line > 0 ? MetricValue(frame.line) : MetricValue()});
    }
  }

  SqliteDatabase::Insert operations_;
  SqliteDatabase::Insert stacks_;
  SqliteDatabase::Insert frames_;
  std::map<StackId, std::uint64_t> numbers_;  ///< of the run's stacks in the table
  std::uint64_t next_ = 1;
};

}  // namespace

void write_operations_database(const ObservedRuns& runs, ByteSink& sink) {
  SqliteDatabase database;
  make_tables(database);
  {
    DatabaseRows rows(database);
    for (const ObservedRun& run : runs.runs) {
      rows.add(run);
    }
  }
  database.write_to(sink);
}

}  // namespace highwater
