#include "tools/messages/message_cause.hpp"

#include <algorithm>

namespace highwater {
namespace {

constexpr std::int64_t kMebibyteOfMessages = 1 << 20;

/// Requests that take a segment of the size asked for (get_allocation_size): up to 1 MiB take one
/// of 2 MiB, below 10 MiB one of 20 MiB, larger ones are rounded up to 2 MiB. PyTorch 1.0 and 1.1
/// rounded up by less.
SizeRange request_behind(const PrintedSize& asked) {
  constexpr std::int64_t kSmallSegment = 2 * kMebibyteOfMessages;
  constexpr std::int64_t kMiddleSegment = 20 * kMebibyteOfMessages;
  const SizeRange printed = asked.range();
  if (asked.bytes <= kSmallSegment) {
    return {1, printed.high};
  }
  if (asked.bytes == kMiddleSegment) {
    return {kMebibyteOfMessages + 1, printed.high};
  }
  return {printed.low - kSmallSegment, printed.high};
}

bool disagree(const MessageFigures& figures, SizeRange reserved) {
  constexpr std::int64_t kSlack = 64;  // a share of the device: its own figure is rounded, too
  if (figures.allocated->range().is_above(reserved)) {
    return true;
  }
  if (!figures.total) {
    return false;
  }
  const SizeRange total = figures.total->range();
  const std::int64_t most = total.high + total.high / kSlack;
  // Windows lets a process reserve more than the device has: nothing is free then.
  return figures.free->range().low > most ||
         (figures.free->bytes > 0 && (reserved + figures.free->range()).low > most);
}

/// What PyTorch could still take from the device.
SizeRange room_of(const MessageFigures& figures, SizeRange reserved) {
  const SizeRange free = figures.free->range();
  if (!figures.allowed) {
    return free;
  }
  const SizeRange left = figures.allowed->range() - reserved;
  return least(free, {std::max<std::int64_t>(left.low, 0), std::max<std::int64_t>(left.high, 0)});
}

/// Whether a memory fraction left less than the device had.
bool is_limited(const MessageFigures& figures, SizeRange reserved) {
  return figures.allowed && figures.free->range().is_above(figures.allowed->range() - reserved);
}

bool is_much_outside(const MessageFigures& figures, const MessageCause& known, SizeRange reserved) {
  constexpr std::int64_t kTenth = 10;
  if (!figures.total) {
    return false;
  }
  const SizeRange needed = known.in_use + known.request;
  const SizeRange outside = figures.total->range() - figures.free->range() - reserved;
  return needed.is_at_most(figures.total->range()) && outside.low > needed.high / kTenth;
}

/// Of a shortage.
OomCause shortage(const MessageFigures& figures, const MessageCause& known, SizeRange reserved) {
  if (is_limited(figures, reserved)) {
    return OomCause::memory_limit;
  }
  if (figures.private_pools && known.lacking.is_at_most(figures.private_pools->range())) {
    return OomCause::private_pool;
  }
  return is_much_outside(figures, known, reserved) ? OomCause::outside_pytorch : OomCause::capacity;
}

MessageCause decided(const MessageFigures& figures, MessageCause known, SizeRange reserved) {
  const SizeRange room = room_of(figures, reserved);
  known.reach = reserved + room;
  known.lacking = known.request - known.spare - room;  // not by way of larger sums, less exact
  if (figures.asked->range().is_at_most(room)) {
    known.unclear = UnclearCause::device_had_room;
  } else if (known.lacking.low > 0) {
    known.cause = shortage(figures, known, reserved);
  } else if (known.lacking.high <= 0) {
    known.cause = OomCause::fragmentation;
  } else {
    known.unclear = UnclearCause::too_close;
  }
  return known;
}

/// cudaMallocAsync refuses what is above its limit, and CUDA what it has no room for
/// (mallocAsync in c10/cuda/CUDAMallocAsyncAllocator.cpp).
MessageCause cause_without_reserved(const MessageFigures& figures) {
  MessageCause known;
  known.in_use = figures.allocated->range();
  known.request = figures.asked->range();
  const SizeRange needed = known.in_use + known.request;
  if (figures.total && needed.is_above(figures.total->range())) {
    known.reach = figures.total->range();
    known.cause = OomCause::capacity;
  }
  if (figures.allowed && needed.is_above(figures.allowed->range())) {
    known.reach = figures.allowed->range();
    known.cause = known.cause.value_or(OomCause::memory_limit);
  }
  known.lacking = needed - known.reach;
  if (!known.cause) {
    known.unclear = UnclearCause::pool_unknown;
  }
  return known;
}

MessageCause unclear(UnclearCause why) {
  MessageCause known;
  known.unclear = why;
  return known;
}

}  // namespace

MessageCause cause_of(const MessageFigures& figures) {
  if (!figures.asked || !figures.free || !figures.allocated) {
    return unclear(UnclearCause::figures_missing);
  }
  const auto reserved = figures.reserved_range();
  if (!reserved) {
    return figures.total ? cause_without_reserved(figures) : unclear(UnclearCause::figures_missing);
  }
  if (disagree(figures, *reserved)) {
    return unclear(UnclearCause::figures_disagree);
  }
  MessageCause known;
  known.in_use = figures.allocated->range();
  known.request = request_behind(*figures.asked);
  known.spare =
      figures.unallocated ? figures.unallocated->range() : *reserved - figures.allocated->range();
  return decided(figures, known, *reserved);
}

std::optional<BesidePytorch> beside_pytorch(const MessageFigures& figures) {
  const auto reserved = figures.reserved_range();
  if (!reserved || !figures.total || !figures.free || !figures.allocated ||
      disagree(figures, *reserved)) {
    return std::nullopt;
  }
  const SizeRange taken = figures.total->range() - figures.free->range();
  BesidePytorch beside{taken - *reserved, {}, {}, nullptr};
  std::optional<SizeRange> in_use;
  if (figures.in_use) {
    in_use = figures.in_use->range();
  } else {
    for (const ListedProcess& process : figures.processes) {
      if ((process.in_use.range() + *reserved).is_above(taken)) {
        beside.itself = &process;
        in_use = process.in_use.range();
      }
    }
  }
  if (in_use && !reserved->is_above(*in_use)) {  // some drivers report 0
    beside.own = *in_use - *reserved;
    beside.others = taken - *in_use;
  }
  return beside;
}

}  // namespace highwater
