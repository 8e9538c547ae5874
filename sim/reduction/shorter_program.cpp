#include "sim/reduction/shorter_program.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "sim/reduction/needless_items.hpp"

namespace highwater {
namespace {

/// Those of `program` for which `is_kept`.
template <class IsKept>
Program filtered(const Program& program, IsKept is_kept) {
  Program result;
  std::ranges::copy_if(program, std::back_inserter(result), is_kept);
  return result;
}

/// The needed ones of `items`, where `program_with` makes the program that keeps some of them.
template <class Item, class ProgramWith>
std::vector<Item> needed(std::vector<Item> items, PropertyCheck& check, ProgramWith program_with) {
  return without_needless(
      std::move(items), check.offered(), [&](const std::vector<std::vector<Item>>& candidates) {
        std::vector<Program> programs;
        std::ranges::transform(candidates, std::back_inserter(programs), program_with);
        return check.first_that_shows(programs);
      });
}

/// `program` without the allocations that are in `all` and not in `kept`; both ascend.
Program with_allocations(const Program& program, const std::vector<AllocationId>& all,
                         const std::vector<AllocationId>& kept) {
  std::vector<AllocationId> sorted = kept;
  std::ranges::sort(sorted);
  std::vector<AllocationId> dropped;
  std::ranges::set_difference(all, sorted, std::back_inserter(dropped));
  std::vector<char> is_dropped(allocation_count(program));
  for (const AllocationId id : dropped) {
    is_dropped[id.index()] = 1;
  }
  return filtered(program, [&](const Event& event) {
    return !event.allocation.has_value() || is_dropped[event.allocation.index()] == 0;
  });
}

Program without_needless(const Program& program, PropertyCheck& check,
                         const std::vector<AllocationId>& candidates) {
  std::vector<AllocationId> all = candidates;
  std::ranges::sort(all);
  const auto program_with = [&](const std::vector<AllocationId>& kept) {
    return with_allocations(program, all, kept);
  };
  return renumbered(program_with(needed(candidates, check, program_with)));
}

struct Lifetimes {
  std::vector<AllocationId> given_back;  ///< in the order of their requests
  std::vector<AllocationId> kept;        ///< smallest first
};

Lifetimes lifetimes_of(const Program& program) {
  std::vector<char> is_freed(allocation_count(program));
  for (const Event& event : program) {
    if (event.kind == EventKind::free) {
      is_freed[event.allocation.index()] = 1;
    }
  }
  Lifetimes result;
  std::vector<std::pair<std::uint64_t, AllocationId>> by_size;
  for (const Event& event : program) {
    const bool may_go = event.kind == EventKind::alloc && &event != &program.back();
    if (may_go && is_freed[event.allocation.index()] != 0) {
      result.given_back.push_back(event.allocation);
    } else if (may_go) {
      by_size.emplace_back(event.value, event.allocation);
    }
  }
  std::ranges::sort(by_size);
  std::ranges::transform(by_size, std::back_inserter(result.kept),
                         [](const auto& pair) { return pair.second; });
  return result;
}

bool is_of_pool(const Event& event, PoolIndex pool) {
  const bool is_pool_call =
      event.kind == EventKind::pool_begin || event.kind == EventKind::pool_end ||
      event.kind == EventKind::pool_retire || event.kind == EventKind::pool_release;
  return is_pool_call && event.pool == pool;
}

/// `candidate` if it shows the property, else `program`.
Program better(Program candidate, Program program, PropertyCheck& check) {
  return check.shows(candidate) ? std::move(candidate) : std::move(program);
}

/// What came on `stream` comes on `other`.
Program moved(Program program, StreamId stream, StreamId other) {
  for (Event& event : program) {
    event.stream = event.stream == stream ? other : event.stream;
  }
  return program;
}

std::set<StreamId> streams_of(const Program& program) {
  std::set<StreamId> streams;
  for (const Event& event : program) {
    if (event.stream.has_value()) {
      streams.insert(event.stream);
    }
  }
  return streams;
}

}  // namespace

Program without_needless_allocations(const Program& program, PropertyCheck& check) {
  const Program shorter = without_needless(program, check, lifetimes_of(program).given_back);
  return without_needless(shorter, check, lifetimes_of(shorter).kept);
}

Program without_needless_operations(const Program& program, PropertyCheck& check) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].kind != EventKind::alloc) {
      others.push_back(i);
    }
  }
  const auto program_with = [&](const std::vector<std::size_t>& kept) {
    auto next = kept.begin();
    Program result;
    for (std::size_t i = 0; i < program.size(); ++i) {
      const bool is_kept = next != kept.end() && *next == i;
      next += is_kept ? 1 : 0;
      if (is_kept || program[i].kind == EventKind::alloc) {
        result.push_back(program[i]);
      }
    }
    return result;
  };
  return program_with(needed(others, check, program_with));
}

Program without_needless_places(const Program& program, PropertyCheck& check) {
  std::set<PoolIndex> pools;
  for (const Event& event : program) {
    if (is_of_pool(event, event.pool)) {
      pools.insert(event.pool);
    }
  }
  Program result = program;
  for (const PoolIndex pool : pools) {
    const auto is_other = [&](const Event& event) { return !is_of_pool(event, pool); };
    result = better(filtered(result, is_other), result, check);
  }
  const std::set<StreamId> streams = streams_of(result);
  for (auto stream = streams.rbegin(); stream != streams.rend(); ++stream) {
    if (*stream != *streams.begin()) {
      result = better(moved(result, *stream, *streams.begin()), result, check);
    }
  }
  return result;
}

}  // namespace highwater
