// The pieces that were made, by what was drawn for them, as long as they fit into a budget: those
// that were not asked for longest go first. A run gets the same pieces whatever is kept.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "sim/chance/piece_source.hpp"

namespace highwater {

/// One piece among all that a source can make.
struct PieceKey {
  StepDraw draw;             ///< of what the piece depends on
  std::uint32_t number = 0;  ///< which of the pieces made for this draw

  auto operator<=>(const PieceKey&) const = default;
};

class PieceStore {
 public:
  static constexpr std::size_t kBudget = std::size_t{512} << 20U;

  explicit PieceStore(std::size_t budget = kBudget) : budget_(budget) {}

  /// The piece, or none.
  PiecePtr find(const PieceKey& key);

  /// Keeps `piece`, unless another thread was faster: its piece is the same.
  void add(const PieceKey& key, PiecePtr piece);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    PiecePtr piece;
    std::list<const PieceKey*>::iterator use;
  };

  void drop_oldest();

  std::mutex lock_;
  std::size_t budget_;
  std::size_t bytes_ = 0;
  std::map<PieceKey, Kept> kept_;
  std::list<const PieceKey*> uses_;  ///< the last one first
};

}  // namespace highwater
