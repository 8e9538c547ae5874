// A further run in the tables of a trace: its events, translated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// Allocations, strings, stacks and pools of the further run become new ones of the trace; streams
/// with the same handle are the same. Both must outlive the appender.
class RunAppender {
 public:
  /// Adds what the events will name. Streams that the trace lacks renumber those that it has, and
  /// with them what another appender translates: name all of them before the first is made
  /// (streams_called(), rewriting.hpp).
  RunAppender(RequestTrace& trace, const RequestTrace& next);

  /// Steps are counted on from those of the trace.
  [[nodiscard]] Event translated(Event event) const;

  /// Puts all of its events at the end.
  void append();

 private:
  void add_strings();
  void add_stacks();
  void add_pools();
  void add_names();

  RequestTrace* trace_;
  const RequestTrace* next_;
  std::size_t first_allocation_;
  std::vector<StreamId> streams_;
  std::vector<StringId> strings_;
  std::vector<StackId> stacks_;
  std::vector<PoolIndex> pools_;
  std::uint64_t steps_ = 0;  ///< numbers that the trace uses
};

}  // namespace highwater
