#include "tools/record/fakecuda/core/announced_split.hpp"

#include <utility>

namespace highwater::fakecuda {
namespace {

thread_local std::optional<Place> t_announced;

}  // namespace

void announce_split(std::optional<Place> place) {
  t_announced = place;
}

std::optional<Place> take_announced_split() {
  return std::exchange(t_announced, std::nullopt);
}

}  // namespace highwater::fakecuda
