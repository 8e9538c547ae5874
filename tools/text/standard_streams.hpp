// The process's own descriptors 0, 1 and 2, made safe before anything is read or written, and the
// signals that a write may end in.
#pragma once

#include <array>
#include <memory>
#include <ostream>
#include <streambuf>

#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// A descriptor 0, 1 or 2 that is closed at the start would be given to the first file opened, and
/// reports would end up in it; /dev/null takes its place. A pipe whose reader has ended, and a file
/// as large as it may become (ulimit -f), become an error of the write, not the end of the process;
/// children start with the default again.
void secure_standard_descriptors();

/// Standard output as a stream that fails with the system's reason.
class StandardOutput : public std::ostream {
 public:
  /// Writing and flushing throw Error where the medium takes no more.
  explicit StandardOutput(std::unique_ptr<ByteSink> sink = open_sink("-"));

  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  ~StandardOutput() override;

  /// Once, after the last word: what the medium reports only now (a full disk of a network) is an
  /// error, too. @throws Error
  void finish();

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::unique_ptr<ByteSink> sink);

    void commit() { sink_->commit(); }

   protected:
    int_type overflow(int_type character) override;
    int sync() override;

   private:
    void write_out();

    std::unique_ptr<ByteSink> sink_;
    std::array<char, 65536> text_{};
  };

  Buffer buffer_;
};

}  // namespace highwater
