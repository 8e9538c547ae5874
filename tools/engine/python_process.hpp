// A Python process that answers lines with lines.
#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace highwater {

class PythonProcess {
 public:
  /// Starts `command` (searched for in PATH) with only `environment`; what it prints besides its
  /// answers goes to the file `log`. @throws InputError if it cannot be started
  PythonProcess(const std::vector<std::string>& command,
                const std::map<std::string, std::string>& environment, const std::string& log);
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;
  ~PythonProcess();

  void send(const std::string& line);

  /// Its next line; waits for it. Empty if it has ended.
  std::string receive();

  /// Ends it, with all that it started: receive() finds no further line.
  void end();

 private:
  pid_t process_ = 0;
  int to_process_ = -1;
  int from_process_ = -1;
  std::string unread_;
};

}  // namespace highwater
