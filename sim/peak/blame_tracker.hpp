// Follows segments and active blocks through a replay for fragmentation_blame.hpp.
//
// The byte-operations of a whole run need no moment, and the moment of the highest reserved is
// known only at the end of a run. So a first replay finds both, and a second one up to that moment,
// often early in the run, looks at what is pinned then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/container/flat_map.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "sim/peak/fragmentation_blame.hpp"
#include "sim/peak/free_byte_shares.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

/// Shares by stack, made as stacks appear; looked up at every event, so not HolderSums.
class StackShares {
 public:
  PinningStack& of(StackId stack) {
    const std::size_t slot = stack.has_value() ? stack.index() + 1 : 0;
    if (slot >= shares_.size()) {
      shares_.resize(slot + 1);
    }
    shares_[slot].origin = stack;
    return shares_[slot];
  }

  /// Those that had blocks, largest first.
  std::vector<PinningStack> take() {
    std::erase_if(shares_, [](const PinningStack& share) { return share.blocks == 0; });
    const auto pinned = [](const PinningStack& share) { return share.held.byte_operations; };
    std::ranges::stable_sort(shares_, std::ranges::greater{}, pinned);
    return std::move(shares_);
  }

 private:
  std::vector<PinningStack> shares_;
};

class BlameTracker : public ReplayObserver, public DecisionListener {
 public:
  /// Looks at what is pinned right after the event `moment`, if one is given.
  explicit BlameTracker(std::optional<std::size_t> moment = std::nullopt) : moment_(moment) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    allocator_ = &allocator;
    driver_ = &driver;
  }

  void on_decision(const Decision& decision) override;
  void on_event(const Event& event, AllocationStatus status, const Statistics& statistics) override;
  FragmentationBlame finish();

  /// The event that first reached the highest reserved.
  [[nodiscard]] std::size_t peak_event() const { return peak_event_; }

 private:
  /// An active block; interior pages of a large one are full and need no part.
  struct ActiveBlock {
    StackId stack;
    Bytes size;
    FreeByteShares::Part front;
    FreeByteShares::Part back;  ///< in an expandable segment, when it ends in another page
    Address front_page;         ///< pages only; a fixed segment is there without blocks, too
    Address back_page;
    bool is_paged = false;
    bool is_active = false;

    [[nodiscard]] bool has_back() const { return back.piece.has_value(); }
  };

  void block_handed_out(const Block& block, BlockId id, StackId stack);
  void block_returned(ActiveBlock& block);
  FreeByteShares::Part enter_page(AddressRange page, AddressRange block);
  std::uint64_t leave_page(const FreeByteShares::Part& part, Address page);
  PieceId segment_of(Address address);
  void look(const Statistics& statistics);
  Bytes share_now(const FreeByteShares::Part& part, std::vector<std::uint64_t>& given) const;

  const CachingAllocator* allocator_ = nullptr;
  const TraceDriver* driver_ = nullptr;
  FreeByteShares pieces_;
  boost::container::flat_map<Address, PieceId> segments_;          ///< fixed, by first address
  boost::unordered_flat_map<std::uint64_t, PieceId> pages_;        ///< with active blocks
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> slots_;  ///< of active blocks, by address
  std::vector<ActiveBlock> blocks_;
  std::vector<std::uint32_t> unused_slots_;
  StackShares shares_;
  std::size_t next_event_ = 0;
  std::uint64_t now_ = 0;  ///< operations carried out
  std::optional<std::size_t> moment_;
  Bytes highest_;
  std::size_t peak_event_ = 0;
  FragmentationBlame blame_;
};

}  // namespace highwater
