// What the caller knows of a communicator that is about to be split off and ncclCommSplit's
// arguments do not say.
#pragma once

#include <optional>

namespace highwater::fakecuda {

/// A rank's place in a group.
struct Place {
  int rank = 0;
  int size = 1;
};

/// The next split of this thread gets that place; nothing announced: the parent's.
void announce_split(std::optional<Place> place);

/// The announced place, once.
std::optional<Place> take_announced_split();

}  // namespace highwater::fakecuda
