// What memory is used for, in terms that allow closed forms and a simulation to be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace highwater {

/// The parts of a process's GPU memory. In a simulation they are disjoint and sum to everything the
/// process takes; a term of a closed form states which of them it stands for.
enum class MemoryPart : std::uint8_t {
  // Tensors, in the bytes that the program asked for.
  parameters,
  gradients,  ///< of parameters
  optimizer_states,
  weight_copies,  ///< parameters in another type: autocast's cache
  activations,    ///< kept for backward, without logits and loss
  logits,         ///< the output head's result, the loss and their gradients
  temporaries,    ///< gradients of activations and other short-lived tensors
  inputs,         ///< token ids, labels, masks
  buffers,        ///< of modules: rotary tables, masks
  workspaces,     ///< of libraries: cuBLAS
  communication,  ///< buckets, gathered parameters
  // What the caching allocator adds.
  rounding,     ///< blocks are multiples of 512 bytes, or larger with roundup_power2_divisions
  split_tails,  ///< free blocks handed out whole because what was left over was too small to split
  segment_slack,  ///< free blocks in the pool that held most: cached, and usable
  isolation,     ///< free blocks in other pools and on other streams, and blocks that wait for them
  later_growth,  ///< reserved at its own peak, above what it was when most was allocated
  // What no allocator sees.
  outside  ///< the CUDA context and loaded kernels
};

inline constexpr std::size_t kMemoryPartCount =
    static_cast<std::size_t>(MemoryPart::outside) + std::size_t{1};

/// "optimizer states", "split tails", ...
std::string_view to_string(MemoryPart part);

/// Some of the parts.
class PartSet {
 public:
  constexpr PartSet() = default;

  constexpr PartSet(std::initializer_list<MemoryPart> parts) {
    for (const MemoryPart part : parts) {
      bits_ |= bit(part);
    }
  }

  [[nodiscard]] constexpr bool contains(MemoryPart part) const { return (bits_ & bit(part)) != 0; }

  [[nodiscard]] constexpr bool intersects(PartSet other) const {
    return (bits_ & other.bits_) != 0;
  }

  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

  constexpr PartSet operator&(PartSet other) const {
    PartSet both;
    both.bits_ = bits_ & other.bits_;
    return both;
  }

  constexpr PartSet& operator|=(PartSet other) {
    bits_ |= other.bits_;
    return *this;
  }

  constexpr bool operator==(const PartSet&) const = default;

 private:
  static constexpr std::uint32_t bit(MemoryPart part) {
    return std::uint32_t{1} << static_cast<unsigned>(part);
  }

  std::uint32_t bits_ = 0;
};

/// Parameters, gradients and optimizer states: what a rank holds between steps.
inline constexpr PartSet kModelStates{MemoryPart::parameters, MemoryPart::gradients,
                                      MemoryPart::optimizer_states};

}  // namespace highwater
