#include "traces/formats/binary/binary_tables.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "traces/side_table_memory.hpp"

namespace highwater {
namespace {

/// At most this much is taken over from a neighbour.
constexpr std::size_t kLongestShared = 512;
constexpr std::size_t kNeighbours = 4;

template <class Sequence>
std::size_t shared_front(const Sequence& a, const Sequence& b) {
  const auto at = std::ranges::mismatch(a, b).in1;
  return std::min(kLongestShared, static_cast<std::size_t>(at - a.begin()));
}

/// The last few strings, which the next one is compared with.
struct Neighbour {
  std::size_t which = 0;  ///< 0 = the previous string
  std::size_t shared = 0;
};

Neighbour best_neighbour(const StringTable& strings, std::size_t i) {
  Neighbour best;
  for (std::size_t which = 0; which < std::min(i, kNeighbours); ++which) {
    const std::size_t shared = shared_front(strings[StringId{i}], strings[StringId{i - which - 1}]);
    if (shared > best.shared) {
      best = {which, shared};
    }
  }
  return best;
}

void put_strings(BinaryWriter& out, const StringTable& strings) {
  out.put(strings.size());
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const auto [which, shared] = best_neighbour(strings, i);
    out.put(shared * kNeighbours + which);
    out.put_string(strings[StringId{i}].substr(shared));
  }
}

std::string get_shared_front(BinaryReader& in, const StringTable& strings) {
  const std::uint64_t code = in.number_below((kLongestShared + 1) * kNeighbours, "shared string");
  const std::size_t which = code % kNeighbours;
  const std::size_t shared = code / kNeighbours;
  if (shared == 0) {
    return {};
  }
  const std::size_t count = strings.size();
  if (which >= count || shared > strings[StringId{count - which - 1}].size()) {
    in.fail("a string continues one that does not exist");
  }
  return std::string(strings[StringId{count - which - 1}].substr(0, shared));
}

StringTable get_strings(BinaryReader& in) {
  StringTable strings;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text = get_shared_front(in, strings);
    text += in.string();
    in.keep(string_memory(text.size()));
    if (strings.intern(text).index() != i) {
      in.fail("a string occurs twice in its table");
    }
  }
  return strings;
}

/// Most ids name something new or recently new, so the distance from the newest is stored.
class RecentId {
 public:
  void put(BinaryWriter& out, std::uint64_t id) {
    out.put_signed(static_cast<std::int64_t>(next_ - id));
    next_ = std::max(next_, id + 1);
  }

  std::uint32_t get(BinaryReader& in, std::size_t count, const char* what) {
    const std::uint64_t id = next_ - static_cast<std::uint64_t>(in.signed_number());
    if (id >= count) {
      in.fail(std::string(what) + " does not exist in its table");
    }
    next_ = std::max(next_, id + 1);
    return static_cast<std::uint32_t>(id);
  }

 private:
  std::uint64_t next_ = 0;
};

void put_frames(BinaryWriter& out, const StackTable& stacks) {
  RecentId recent;
  std::int64_t line = 0;
  out.put(stacks.frame_count());
  for (std::size_t i = 0; i < stacks.frame_count(); ++i) {
    const Frame& frame = stacks.frame(FrameId{i});
    recent.put(out, frame.file.value());
    recent.put(out, frame.function.value());
    out.put_signed(static_cast<std::int64_t>(static_cast<std::uint64_t>(frame.line) -
                                             static_cast<std::uint64_t>(line)));
    line = frame.line;
  }
}

void get_frames(BinaryReader& in, SideTables& tables) {
  RecentId recent;
  Frame frame;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    frame.file = StringId{recent.get(in, tables.strings.size(), "a file name")};
    frame.function = StringId{recent.get(in, tables.strings.size(), "a function name")};
    frame.line = static_cast<std::int64_t>(static_cast<std::uint64_t>(frame.line) +
                                           static_cast<std::uint64_t>(in.signed_number()));
    in.keep(frame_memory());
    if (tables.stacks.intern_frame(frame).index() != i) {
      in.fail("a frame occurs twice in its table");
    }
  }
}

/// Outermost frame first: consecutive stacks share their outer frames.
std::vector<FrameId> outermost_first(std::span<const FrameId> stack) {
  return {stack.rbegin(), stack.rend()};
}

void put_stacks(BinaryWriter& out, const StackTable& stacks) {
  RecentId recent;
  std::vector<FrameId> previous;
  out.put(stacks.stack_count());
  for (std::size_t i = 0; i < stacks.stack_count(); ++i) {
    const auto frames = outermost_first(stacks.stack(StackId{i}));
    const std::size_t shared = shared_front(frames, previous);
    out.put(shared);
    out.put(frames.size() - shared);
    for (const FrameId frame : std::span(frames).subspan(shared)) {
      recent.put(out, frame.value());
    }
    previous = frames;
  }
}

void get_stacks(BinaryReader& in, StackTable& stacks) {
  RecentId recent;
  std::vector<FrameId> frames;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t most = std::min(frames.size(), kLongestShared);
    frames.resize(in.number_below(most + 1, "shared frames"));
    for (std::uint64_t left = in.number(); left > 0; --left) {
      frames.push_back(FrameId{recent.get(in, stacks.frame_count(), "a frame")});
    }
    in.keep(stack_memory(frames.size()));
    if (stacks.intern_stack(outermost_first(frames)).index() != i) {
      in.fail("a stack occurs twice in its table");
    }
  }
}

}  // namespace

void put_tables(BinaryWriter& out, const SideTables& tables) {
  put_strings(out, tables.strings);
  put_frames(out, tables.stacks);
  put_stacks(out, tables.stacks);
}

SideTables get_tables(BinaryReader& in) {
  SideTables tables;
  tables.strings = get_strings(in);
  get_frames(in, tables);
  get_stacks(in, tables.stacks);
  return tables;
}

void put_streams(BinaryWriter& out, const std::vector<std::uint64_t>& handles) {
  std::uint64_t previous = 0;
  out.put(handles.size());
  for (const std::uint64_t handle : handles) {
    out.put(handle - previous);
    previous = handle;
  }
}

std::vector<std::uint64_t> get_streams(BinaryReader& in) {
  std::vector<std::uint64_t> handles;
  std::uint64_t handle = 0;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    handle += in.number();
    handles.push_back(handle);
  }
  return handles;
}

void put_pools(BinaryWriter& out, const std::vector<PoolId>& pools) {
  out.put(pools.size());
  for (const PoolId& pool : pools) {
    out.put(pool.capture);
    out.put(pool.user);
  }
}

std::vector<PoolId> get_pools(BinaryReader& in) {
  std::vector<PoolId> pools;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    const std::uint64_t capture = in.number();
    pools.push_back({capture, in.number()});
  }
  return pools;
}

}  // namespace highwater
