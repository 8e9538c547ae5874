// Messages between the processes of one job. What carries them (MPI) is elsewhere: tools/fleet/mpi.
#pragma once

#include <optional>
#include <string>

namespace highwater {

struct Message {
  int from = 0;
  std::string bytes;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Does not wait for `to`. Messages between two processes keep their order.
  virtual void send(int to, std::string bytes) = 0;

  /// A message that has come, from anybody.
  virtual std::optional<Message> poll() = 0;

  /// Leaves the job with all the others. No messages after that.
  virtual void finish() = 0;

  /// Ends the job though some do not answer.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace highwater
