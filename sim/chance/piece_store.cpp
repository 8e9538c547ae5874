#include "sim/chance/piece_store.hpp"

#include <utility>

namespace highwater {

PiecePtr PieceStore::find(const PieceKey& key) {
  const std::lock_guard guard(lock_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) {
    return nullptr;
  }
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.piece;
}

void PieceStore::add(const PieceKey& key, PiecePtr piece) {
  const std::lock_guard guard(lock_);
  const auto [place, is_new] = kept_.try_emplace(key);
  if (!is_new) {
    return;
  }
  bytes_ += piece->bytes();
  uses_.push_front(&place->first);
  place->second = {std::move(piece), uses_.begin()};
  while (bytes_ > budget_ && uses_.size() > 1) {
    drop_oldest();
  }
}

void PieceStore::drop_oldest() {
  const auto oldest = kept_.find(*uses_.back());
  uses_.pop_back();
  bytes_ -= oldest->second.piece->bytes();
  kept_.erase(oldest);
}

}  // namespace highwater
