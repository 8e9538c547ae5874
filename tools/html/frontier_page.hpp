// The frontier of memory against recomputation as one HTML page: a picture and its table.
//
// The page has no script and needs no network. A point is a plan; a disc on the line is one that
// no other beats, a ring one that is beaten, a cross one that does not fit, so that nothing rests
// on colour alone.
#pragma once

#include <string>
#include <string_view>

#include "tools/studies/solving/frontier.hpp"

namespace highwater {

/// `plan` says in a line what the points have in common. The same frontier gives the same page.
std::string frontier_page(const Frontier& frontier, std::string_view plan);

}  // namespace highwater
