// What the caller knows about a communicator that is about to be split off, but cannot pass to
// ncclCommSplit.
#pragma once

#include <optional>

namespace highwater::fakecuda {

/// A rank's place in a group.
struct Place {
  int rank = 0;
  int size = 1;
};

/// The next split of this thread gets this place; without an announcement, the parent's.
void announce_split(std::optional<Place> place);

/// The announced place, once.
std::optional<Place> take_announced_split();

}  // namespace highwater::fakecuda
