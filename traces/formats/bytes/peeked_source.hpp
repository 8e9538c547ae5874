// A look at the first bytes of an input that cannot be rewound.
//
// Formats are recognised by content, and standard input has only one pass: the bytes looked at are
// kept here and returned again when reading starts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {

class PeekedSource : public ByteSource {
 public:
  static constexpr std::size_t kHead = 4096;

  /// Reads the first kHead bytes of `inner`, fewer only when it is shorter.
  explicit PeekedSource(std::unique_ptr<ByteSource> inner);

  /// The first bytes of the whole input, however much has been read since.
  [[nodiscard]] std::span<const std::byte> head() const { return head_; }

  std::size_t read(std::span<std::byte> buffer) override;

  [[nodiscard]] const std::string& name() const override { return inner_->name(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::vector<std::byte> head_;
  std::size_t replayed_ = 0;
};

/// Reads until `buffer` is full or the source ends; returns the number of bytes.
std::size_t read_fully(ByteSource& source, std::span<std::byte> buffer);

}  // namespace highwater
