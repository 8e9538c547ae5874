#include "traces/formats/bytes/peeked_source.hpp"

#include <algorithm>
#include <utility>

namespace highwater {

std::size_t read_fully(ByteSource& source, std::span<std::byte> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const std::size_t n = source.read(buffer.subspan(filled));
    if (n == 0) {
      break;
    }
    filled += n;
  }
  return filled;
}

PeekedSource::PeekedSource(std::unique_ptr<ByteSource> inner)
    : inner_(std::move(inner)), head_(kHead) {
  head_.resize(read_fully(*inner_, head_));
}

std::size_t PeekedSource::read(std::span<std::byte> buffer) {
  if (replayed_ == head_.size()) {
    return inner_->read(buffer);
  }
  const auto rest = std::span(head_).subspan(replayed_);
  const std::size_t n = std::min(rest.size(), buffer.size());
  std::ranges::copy(rest.first(n), buffer.begin());
  replayed_ += n;
  return n;
}

}  // namespace highwater
