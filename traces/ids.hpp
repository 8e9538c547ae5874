// Dense identifiers: small integers that cannot be mistaken for one another.
//
// Allocations, streams, stacks and strings are numbered from 0 in the order they appear, so tables
// indexed by them need no hashing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace highwater {

/// An index into the table that `Tag` names. No arithmetic; `none()` stands for absence inside
/// packed records, where an optional would not fit.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;

  constexpr explicit Id(std::uint32_t value) : value_(value) {}

  constexpr explicit Id(std::size_t value) : value_(static_cast<std::uint32_t>(value)) {}

  static constexpr Id none() { return Id{}; }

  [[nodiscard]] constexpr bool has_value() const { return value_ != kNone; }

  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }

  [[nodiscard]] constexpr std::size_t index() const { return value_; }

  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t value_ = kNone;
};

using AllocationId = Id<struct AllocationTag>;  ///< one alloc request of a trace
using StreamId = Id<struct StreamTag>;          ///< a stream; ids keep the order of the raw handles
using StackId = Id<struct StackTag>;            ///< a call stack in a StackTable
using FrameId = Id<struct FrameTag>;            ///< one frame in a StackTable
using StringId = Id<struct StringTag>;          ///< an interned string

/// A memory pool as PyTorch names it (MempoolId_t): {0,0} is the default pool, {n,0} the pool of
/// one graph capture, {0,n} a torch.cuda.MemPool or a pool shared by graphs.
struct PoolId {
  std::uint64_t capture = 0;
  std::uint64_t user = 0;

  [[nodiscard]] constexpr bool is_default() const { return capture == 0 && user == 0; }

  auto operator<=>(const PoolId&) const = default;
};

}  // namespace highwater

template <class Tag>
struct std::hash<highwater::Id<Tag>> {
  std::size_t operator()(highwater::Id<Tag> id) const noexcept { return id.index(); }
};
