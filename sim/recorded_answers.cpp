#include "sim/recorded_answers.hpp"

#include <algorithm>

namespace highwater {
namespace {

bool is_answer(RecordedAction action) {
  return action == RecordedAction::segment_alloc || action == RecordedAction::segment_free ||
         action == RecordedAction::segment_map || action == RecordedAction::segment_unmap ||
         action == RecordedAction::oom;
}

/// Reservations are sized by the device's memory; no recording tells it, and room enough will do.
constexpr Bytes kTotalMemory{std::uint64_t{1} << 43};

}  // namespace

void RecordedAnswers::begin(EntryRange entries) {
  answers_.clear();
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

std::vector<std::size_t> RecordedAnswers::unmatched() const {
  std::vector<std::size_t> entries;
  for (const Answer& answer : answers_) {
    if (!answer.used && entry(answer).action != RecordedAction::oom) {
      entries.push_back(answer.entry);
    }
  }
  return entries;
}

bool RecordedAnswers::is_made_up(Address address) {
  return address.value() >= kMadeUp;
}

RecordedAnswers::Answer* RecordedAnswers::next() {
  const auto found = std::ranges::find(answers_, false, &Answer::used);
  return found == answers_.end() ? nullptr : &*found;
}

void RecordedAnswers::use(Answer& answer) {
  answer.used = true;
  ++matched_;
}

Address RecordedAnswers::make_up(Bytes size) {
  ++unexpected_;
  const Address address = made_up_;
  made_up_ = made_up_ + round_up(size, kRoundLarge);
  return address;
}

std::optional<Address> RecordedAnswers::allocate(Bytes size) {
  Answer* const answer = next();
  if (answer == nullptr) {
    return make_up(size);
  }
  if (entry(*answer).action == RecordedAction::segment_alloc && entry(*answer).size == size) {
    use(*answer);
    return entry(*answer).address;
  }
  if (entry(*answer).action == RecordedAction::segment_alloc ||
      entry(*answer).action == RecordedAction::segment_map) {
    return make_up(size);  // another size: the model went another way
  }
  return std::nullopt;
}

/// Uses the recorded entry for exactly this range, wherever it stands in the operation.
bool RecordedAnswers::take(RecordedAction action, AddressRange range) {
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

void RecordedAnswers::free(AddressRange segment) {
  take(RecordedAction::segment_free, segment);
}

void RecordedAnswers::unmap(AddressRange range) {
  take(RecordedAction::segment_unmap, range);
}

Address RecordedAnswers::reserve(const ReservationRequest& request) {
  const Answer* const answer = next();
  if (answer != nullptr && entry(*answer).action == RecordedAction::segment_map) {
    return entry(*answer).address;
  }
  return make_up(request.size);
}

bool RecordedAnswers::map(AddressRange range, Bytes) {
  Answer* const answer = next();
  if (answer != nullptr && entry(*answer).action != RecordedAction::segment_map) {
    return false;
  }
  if (answer != nullptr && answer->after_wait) {
    answer->after_wait = false;  // other streams were waited for, so there was too little memory
    return false;
  }
  take(RecordedAction::segment_map, range);
  return true;
}

std::optional<Bytes> RecordedAnswers::recorded_reclaim() const {
  Bytes reclaimed;
  for (const Answer& answer : answers_) {
    if (!answer.used && entry(answer).action == RecordedAction::segment_free) {
      reclaimed += entry(answer).size;
    }
  }
  return reclaimed;
}

Bytes RecordedAnswers::free_memory() const {
  for (const Answer& answer : answers_) {
    if (entry(answer).action == RecordedAction::oom) {
      return entry(answer).device_free();
    }
  }
  return Bytes{0};
}

Bytes RecordedAnswers::total_memory() const {
  return kTotalMemory;
}

}  // namespace highwater
