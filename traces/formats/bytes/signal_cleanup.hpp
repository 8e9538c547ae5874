// What must not outlive this process when a signal of the terminal or of a batch system ends it:
// temporary files and folders, and processes that would go on writing into them.
//
// Only SIGKILL and a power cut leave something behind.
#pragma once

#include <string>
#include <sys/types.h>

namespace highwater {

/// Such a signal removes what is at `path`, a file or a folder with all that is in it, as long as
/// this lives. At most 64 at a time; further ones do nothing.
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(const std::string& path);
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;
  ~RemovedOnSignal();

 private:
  int slot_;
};

/// Such a signal kills `process` before anything is removed, as long as this lives: a child that
/// has not been waited for.
class KilledOnSignal {
 public:
  explicit KilledOnSignal(pid_t process);
  KilledOnSignal(const KilledOnSignal&) = delete;
  KilledOnSignal& operator=(const KilledOnSignal&) = delete;
  ~KilledOnSignal();

 private:
  int slot_;
};

/// Removes a file, or a folder with all that is in it; a symbolic link goes, what it names stays.
/// Nothing but system calls, so that a handler of a signal may call it.
void remove_tree(const char* path);

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT do all this before they end the process. One
/// that is ignored stays so, as under nohup.
void clean_up_on_signals();

}  // namespace highwater
