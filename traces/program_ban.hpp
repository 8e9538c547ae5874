// Work that a file asks for (merge): it starts no program, and reads nothing but files.
//
// A thread that starts others hands its ban on, as it does a cancellation.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "traces/error.hpp"

namespace highwater {

namespace detail {
inline thread_local const std::string* program_ban = nullptr;
}  // namespace detail

/// The name of the file whose work this thread carries out; none as a rule.
inline const std::string* program_ban() {
  return detail::program_ban;
}

/// To the end of the scope this thread starts no program, for `file` has asked for its work;
/// nullptr: as without it. The name outlives the scope.
class ProgramBan {
 public:
  explicit ProgramBan(const std::string* file)
      : before_(std::exchange(detail::program_ban, file)) {}

  ProgramBan(const ProgramBan&) = delete;
  ProgramBan& operator=(const ProgramBan&) = delete;

  ~ProgramBan() { detail::program_ban = before_; }

 private:
  const std::string* before_;
};

/// To be called by whatever is about to start `program`. @throws InputError under a ban
inline void require_programs(std::string_view program) {
  if (const std::string* const file = program_ban()) {
    throw InputError(*file, "", "needs to start " + std::string(program),
                     "merge starts no program; run the command itself, without shards");
  }
}

}  // namespace highwater
