#include "sim/edits/capture_lives.hpp"

namespace highwater {
namespace {

void note_origins(const RequestTrace& trace, const std::vector<Capture>& captures,
                  CaptureLives& lives) {
  lives.origins.resize(trace.allocation_count, {.capture = captures.size(), .block = {}});
  for (std::size_t c = 0; c < captures.size(); ++c) {
    std::map<StackId, std::uint32_t> counts;
    for (std::size_t i = captures[c].begin; i < captures[c].end; ++i) {
      const Event& event = trace.events[i];
      if (event.kind == EventKind::alloc) {
        lives.origins[event.allocation.index()] = {.capture = c,
                                                   .block = {event.stack, counts[event.stack]++}};
      } else if (event.kind == EventKind::free) {
        CaptureOrigin& origin = lives.origins[event.allocation.index()];
        origin.ends_inside |= origin.capture == c;
      }
    }
  }
}

void note_successions(const RequestTrace& trace, const std::vector<Capture>& captures,
                      CaptureLives& lives) {
  for (std::size_t c = 0; c < captures.size(); ++c) {
    CapturePlace place;
    for (std::size_t i = captures[c].begin; i < captures[c].end; ++i) {
      const Event& event = trace.events[i];
      if (event.kind == EventKind::alloc) {
        place = {.made = lives.origins[event.allocation.index()].block};
      } else if (event.kind == EventKind::free) {
        const CaptureOrigin& origin = lives.origins[event.allocation.index()];
        if (origin.capture < c) {
          lives.successions.try_emplace(
              origin.block, CaptureSuccession{.places = c - origin.capture, .behind = place});
        }
        place.freed += origin.capture == c ? 1U : 0U;
      }
    }
  }
}

}  // namespace

CaptureLives lives_of(const RequestTrace& trace, const std::vector<Capture>& captures) {
  CaptureLives lives;
  note_origins(trace, captures, lives);
  note_successions(trace, captures, lives);
  return lives;
}

}  // namespace highwater
