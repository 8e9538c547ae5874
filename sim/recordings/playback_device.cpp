#include "sim/recordings/playback_device.hpp"

#include <algorithm>
#include <iterator>

namespace highwater {
namespace {

bool is_answer(RecordedAction action) {
  return action == RecordedAction::segment_alloc || action == RecordedAction::segment_free ||
         action == RecordedAction::segment_map || action == RecordedAction::segment_unmap ||
         action == RecordedAction::oom;
}

/// Reservations are as large as the device's memory, which recordings do not show; any size that is
/// large enough will do.
constexpr Bytes kTotalMemory{std::uint64_t{1} << 43};

}  // namespace

void PlaybackDevice::begin(EntryRange entries) {
  answers_.clear();
  begin_ = entries.begin;
  bool waited = false;
  for (std::size_t i = entries.begin; i < entries.end; ++i) {
    const RecordedAction action = recording_->entries[i].action;
    waited |= action == RecordedAction::free_completed && !answers_.empty();
    if (is_answer(action)) {
      answers_.push_back({i, false, waited});
      waited = false;
    }
  }
}

std::vector<std::size_t> PlaybackDevice::unmatched() const {
  std::vector<std::size_t> entries;
  for (const Answer& answer : answers_) {
    if (!answer.used && entry(answer).action != RecordedAction::oom) {
      entries.push_back(answer.entry);
    }
  }
  return entries;
}

bool PlaybackDevice::is_made_up(Address address) {
  return address.value() >= kMadeUp;
}

PlaybackDevice::Answer* PlaybackDevice::next() {
  const auto found = std::ranges::find(answers_, false, &Answer::used);
  return found == answers_.end() ? nullptr : &*found;
}

void PlaybackDevice::use(Answer& answer) {
  answer.used = true;
  ++matched_;
}

Address PlaybackDevice::make_up(Bytes size) {
  ++unexpected_;
  const Address address = made_up_;
  made_up_ = made_up_ + round_up(size, kRoundLarge);
  return address;
}

std::optional<Address> PlaybackDevice::allocate(Bytes size) {
  Answer* const answer = next();
  if (answer == nullptr) {
    return make_up(size);
  }
  if (entry(*answer).action == RecordedAction::segment_alloc && entry(*answer).size == size &&
      !holds_any({entry(*answer).address, size})) {
    use(*answer);
    hold({entry(*answer).address, size});
    return entry(*answer).address;
  }
  if (entry(*answer).action == RecordedAction::segment_alloc ||
      entry(*answer).action == RecordedAction::segment_map) {
    return make_up(size);  // another size: the model took another path
  }
  return std::nullopt;
}

/// Uses the recorded entry for exactly this range, wherever it stands in the operation.
bool PlaybackDevice::take(RecordedAction action, AddressRange range) {
  for (Answer& answer : answers_) {
    if (!answer.used && entry(answer).action == action && entry(answer).address == range.begin &&
        entry(answer).size == range.size) {
      use(answer);
      return true;
    }
  }
  ++unexpected_;
  return false;
}

bool PlaybackDevice::holds_any(AddressRange range) const {
  const auto after = held_.lower_bound(range.end());
  return after != held_.begin() && range.begin < std::prev(after)->second;
}

void PlaybackDevice::hold(AddressRange range) {
  held_[range.begin] = range.end();
}

void PlaybackDevice::drop(AddressRange range) {
  auto it = held_.lower_bound(range.end());
  while (it != held_.begin() && range.begin < std::prev(it)->second) {
    it = std::prev(it);
    const auto [begin, end] = *it;
    it = held_.erase(it);
    if (range.end() < end) {
      it = held_.emplace(range.end(), end).first;
    }
    if (begin < range.begin) {
      it = held_.emplace(begin, range.begin).first;
    }
  }
}

void PlaybackDevice::free(AddressRange segment) {
  drop(segment);
  take(RecordedAction::segment_free, segment);
}

void PlaybackDevice::unmap(AddressRange range) {
  drop(range);
  take(RecordedAction::segment_unmap, range);
}

/// Its first page lies where it begins. Where the device had no memory for that page yet, the map
/// comes after what was released, or with a later request.
Address PlaybackDevice::reserve(const ReservationRequest& request) {
  if (const std::optional<Address> first = first_mapped(request)) {
    return *first;
  }
  if (has_oom()) {  // mapped by no request at all
    const Address address = made_up_;
    made_up_ = made_up_ + round_up(request.size, kRoundLarge);
    return address;
  }
  return make_up(request.size);
}

bool PlaybackDevice::has_oom() const {
  return std::ranges::any_of(answers_, [this](const Answer& answer) {
    return entry(answer).action == RecordedAction::oom;
  });
}

std::optional<Address> PlaybackDevice::first_mapped(const ReservationRequest& request) const {
  std::size_t end = begin_;  // without names only the operation's own maps are certain
  for (const Answer& answer : answers_) {
    end = answer.entry + 1;
  }
  end = has_names() ? recording_->entries.size() : end;
  for (std::size_t i = begin_; i < end; ++i) {
    if (recording_->entries[i].action == RecordedAction::segment_map && is_for(request, i)) {
      return recording_->entries[i].address;
    }
  }
  return std::nullopt;
}

/// Whether the pages that the entry `map` maps are for requests of that stream and pool. The
/// request that they were mapped for is the next one.
bool PlaybackDevice::is_for(const ReservationRequest& request, std::size_t map) const {
  const RecordedEntry& mapped = recording_->entries[map];
  const bool is_of_pool = !has_names() || recording_->pools[mapped.pool] == request.owner;
  if (mapped.stream != request.stream.value() || !is_of_pool) {
    return false;
  }
  for (std::size_t i = map + 1; i < recording_->entries.size(); ++i) {
    const RecordedEntry& next = recording_->entries[i];
    if (next.action == RecordedAction::alloc || next.action == RecordedAction::oom) {
      return (next.size <= kSmallSize) == (request.kind == PoolKind::small);
    }
  }
  return false;
}

bool PlaybackDevice::map(AddressRange range, Bytes) {
  if (range.size >= kTotalMemory || holds_any(range)) {
    return false;  // a damaged file: more than a reservation holds, or memory held already
  }
  Answer* const answer = next();
  if (answer != nullptr && entry(*answer).action != RecordedAction::segment_map) {
    return false;
  }
  if (answer != nullptr && answer->after_wait) {
    answer->after_wait = false;  // other streams were waited for, so there was too little memory
    return false;
  }
  take(RecordedAction::segment_map, range);
  hold(range);
  return true;
}

/// Garbage collection frees large segments only. Where anything else was released, or other streams
/// were waited for, all cached memory went, and what collection had its part in makes no
/// difference.
std::optional<Bytes> PlaybackDevice::recorded_reclaim() const {
  Bytes reclaimed;
  for (const Answer& answer : answers_) {
    const RecordedEntry& recorded = entry(answer);
    const bool is_free = recorded.action == RecordedAction::segment_free;
    if (answer.after_wait || recorded.action == RecordedAction::segment_unmap ||
        recorded.action == RecordedAction::oom || (is_free && recorded.size == kSmallBuffer)) {
      return Bytes{0};
    }
    if (is_free && !answer.used) {
      reclaimed += recorded.size;
    }
  }
  return reclaimed;
}

Bytes PlaybackDevice::free_memory() const {
  for (const Answer& answer : answers_) {
    if (entry(answer).action == RecordedAction::oom) {
      return entry(answer).device_free();
    }
  }
  return Bytes{0};
}

Bytes PlaybackDevice::total_memory() const {
  return kTotalMemory;
}

}  // namespace highwater
