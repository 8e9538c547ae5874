// A sequence that grows without moving what it holds.
//
// A std::vector of 100 million records needs three times its size while it doubles; here growth
// adds one chunk. Indexing costs one more load than a vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace highwater {

template <class T>
class ChunkedVector {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 15;

  ChunkedVector() = default;
  ChunkedVector(ChunkedVector&&) noexcept = default;
  ChunkedVector& operator=(ChunkedVector&&) noexcept = default;
  ChunkedVector(const ChunkedVector&) = delete;
  ChunkedVector& operator=(const ChunkedVector&) = delete;
  ~ChunkedVector() = default;

  /// Where memory runs out, nothing has changed.
  T& push_back(T value) {
    if (size_ == chunks_.size() * kChunk) {
      std::vector<T> chunk;
      chunk.reserve(kChunk);
      chunks_.push_back(std::move(chunk));
    }
    T& place = chunks_.back().emplace_back(std::move(value));
    ++size_;
    return place;
  }

  [[nodiscard]] T& operator[](std::size_t i) { return chunks_[i / kChunk][i % kChunk]; }

  [[nodiscard]] const T& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }

  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }

  /// The elements from `i` to `end`, or to the end of the chunk if that comes first. @pre i < end
  [[nodiscard]] std::span<const T> piece(std::size_t i, std::size_t end) const {
    return {&(*this)[i], std::min(end - i, kChunk - i % kChunk)};
  }

  /// Hands the elements to `use` in order and frees them as it goes; nothing is left.
  template <class Use>
  void drain(Use use) {
    for (std::size_t i = 0; i < size_; ++i) {
      use(std::as_const((*this)[i]));
      if (i % kChunk == kChunk - 1) {
        chunks_[i / kChunk] = {};
      }
    }
    *this = {};
  }

  /// Read-only iteration in order.
  class const_iterator {
   public:
    const_iterator(const ChunkedVector* owner, std::size_t i) : owner_(owner), i_(i) {}

    const T& operator*() const { return (*owner_)[i_]; }

    const T* operator->() const { return &(*owner_)[i_]; }

    const_iterator& operator++() {
      ++i_;
      return *this;
    }

    bool operator==(const const_iterator&) const = default;

   private:
    const ChunkedVector* owner_;
    std::size_t i_;
  };

  [[nodiscard]] const_iterator begin() const { return {this, 0}; }

  [[nodiscard]] const_iterator end() const { return {this, size_}; }

 private:
  std::vector<std::vector<T>> chunks_;  ///< none of them grows beyond what it reserves
  std::size_t size_ = 0;
};

}  // namespace highwater
