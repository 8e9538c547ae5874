#include "sim/diff/aligned_side.hpp"

#include <functional>

#include "traces/phase_names.hpp"

namespace highwater {
namespace {

constexpr std::uint16_t kUnseen = 0xffff;

std::uint64_t fingerprint(const PhaseKey& key) {
  const auto& [step, phase, occurrence] = key;
  const std::uint64_t name = std::hash<std::string>()(phase);
  return name ^ (step.value_or(~0ULL) * 0x9e3779b97f4a7c15ULL) ^ (occurrence << 48U) ^ 1U;
}

}  // namespace

AlignedSide::AlignedSide(const ComparedTrace& compared)
    : trace_(compared.requests),
      ordinals_(trace_->allocation_count, kNoPartner),
      streams_(trace_->stream_handles.size() + 1, kUnseen) {
  read(compared);
}

void AlignedSide::read(const ComparedTrace& compared) {
  auto boundary = compared.phases.begin();
  begin_phase(std::nullopt, std::string(kBeforeSteps));
  for (std::size_t i = 0; i < trace_->events.size(); ++i) {
    for (; boundary != compared.phases.end() && boundary->event <= i; ++boundary) {
      begin_phase(boundary->step, boundary->phase);
    }
    const Event& event = trace_->events[i];
    if (compared.failed && event.kind == EventKind::alloc && event.allocation == *compared.failed) {
      break;
    }
    add(event, static_cast<std::uint32_t>(i));
  }
  end_phase();
  partners.assign(bytes_.size(), kNoPartner);
}

void AlignedSide::add(const Event& event, std::uint32_t index) {
  if (event.kind == EventKind::alloc) {
    ordinals_[event.allocation.index()] = static_cast<std::uint32_t>(bytes_.size());
    bytes_.push_back(event.bytes());
    allocated_at.push_back(requests.size());
    fates.push_back(0);
    requests.push_back({index, ordinals_[event.allocation.index()], event.bytes(),
                        stream_number(event.stream), true});
  } else if (event.kind == EventKind::free) {
    const std::uint32_t ordinal = std::exchange(ordinals_[event.allocation.index()], kNoPartner);
    if (ordinal != kNoPartner) {  // freeing twice does nothing
      requests.push_back({index, ordinal, bytes_[ordinal], 0, false});
      fates[ordinal] = fingerprint(phases.back().key);
    }
  }
}

std::uint16_t AlignedSide::stream_number(StreamId stream) {
  if (!stream.has_value()) {
    return 0;
  }
  if (stream.index() >= streams_.size()) {
    streams_.resize(stream.index() + 1, kUnseen);
  }
  std::uint16_t& number = streams_[stream.index()];
  number = number == kUnseen ? streams_seen_++ : number;
  return number;
}

void AlignedSide::begin_phase(std::optional<std::uint64_t> step, const std::string& name) {
  if (name == kBeforeSteps && !phases.empty() && phases.back().key == PhaseKey{step, name, 0}) {
    return;  // goes on
  }
  end_phase();
  const std::size_t occurrence = seen_[{step, name}]++;
  phases.push_back({{step, name, occurrence}, requests.size(), requests.size()});
}

void AlignedSide::end_phase() {
  if (phases.empty()) {
    return;
  }
  PhaseRange& last = phases.back();
  last.end = requests.size();
  if (last.begin == last.end) {
    // An empty phase counts as one of its name all the same: the next is the next micro-batch.
    phases.pop_back();
  }
}

}  // namespace highwater
