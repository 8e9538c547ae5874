#include "tests/support/program.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "traces/overloaded.hpp"

namespace highwater::program {
namespace {

std::string line_of(const Instruction& instruction) {
  return std::visit(
      Overloaded{
          [](const Alloc& i) {
            return fmt::format("a {} {} {}", i.id, i.size.count(), i.stream.value());
          },
          [](const Free& i) { return fmt::format("f {}", i.id); },
          [](const RecordStream& i) { return fmt::format("r {} {}", i.id, i.stream.value()); },
          [](const CompleteStream& i) { return fmt::format("e {}", i.stream.value()); },
          [](const CompleteAll&) { return std::string("E"); },
          [](const EmptyCache&) { return std::string("c"); },
          [](const ResetPeaks&) { return std::string("p"); },
          [](const PoolBegin& i) { return fmt::format("pool_begin {}", i.pool); },
          [](const PoolEnd& i) { return fmt::format("pool_end {}", i.pool); },
          [](const PoolRelease& i) { return fmt::format("pool_release {}", i.pool); },
          [](const ChangeSettings& i) { return fmt::format("setconf {}", i.conf); },
      },
      instruction);
}

/// Walks through a program and says whether each instruction is allowed where it stands.
class GuaranteeCheck {
 public:
  bool operator()(const Instruction& instruction) {
    if (must_follow_ && !concerns(instruction, *must_follow_)) {
      return false;
    }
    must_follow_.reset();
    return std::visit([this](const auto& i) { return allows(i); }, instruction);
  }

  /// Also true at the end of the program.
  [[nodiscard]] bool is_finished() const { return !must_follow_; }

 private:
  struct PoolUse {
    std::uint64_t count = 0;
    bool released = false;
  };

  /// Free or record_stream of `id`.
  static bool concerns(const Instruction& instruction, std::uint32_t id) {
    const auto* const free = std::get_if<Free>(&instruction);
    const auto* const record = std::get_if<RecordStream>(&instruction);
    return (free != nullptr && free->id == id) || (record != nullptr && record->id == id);
  }

  template <class Other>
  bool allows(const Other& /*instruction*/) {
    return true;
  }

  bool allows(const Alloc& i) { return allocated_.insert(i.id).second; }

  bool allows(const Free& i) { return allocated_.contains(i.id); }

  /// In an open pool the free has to follow at once.
  bool allows(const RecordStream& i) {
    if (open_) {
      must_follow_ = i.id;
    }
    return allocated_.contains(i.id);
  }

  bool allows(const EmptyCache& /*instruction*/) { return !open_; }

  bool allows(const PoolBegin& i) {
    PoolUse& use = pools_[i.pool];
    const bool allowed = !open_ && !use.released;
    open_ = i.pool;
    ++use.count;
    return allowed;
  }

  bool allows(const PoolEnd& i) {
    const bool allowed = open_ == i.pool;
    open_.reset();
    return allowed;
  }

  bool allows(const PoolRelease& i) {
    PoolUse& use = pools_[i.pool];
    if (open_ == i.pool || use.count == 0) {
      return false;
    }
    use.released = --use.count == 0;
    return true;
  }

  std::set<std::uint32_t> allocated_;
  std::map<std::uint64_t, PoolUse> pools_;
  std::optional<std::uint64_t> open_;
  std::optional<std::uint32_t> must_follow_;
};

std::optional<std::uint32_t> allocation_of(const Instruction& instruction) {
  return std::visit(Overloaded{
                        [](const Free& i) { return std::optional(i.id); },
                        [](const RecordStream& i) { return std::optional(i.id); },
                        [](const auto&) { return std::optional<std::uint32_t>(); },
                    },
                    instruction);
}

/// `program` without the instructions [begin, end) and without what refers to a dropped allocation.
Program without(const Program& program, std::size_t begin, std::size_t end) {
  Program shorter = program;
  shorter.instructions.clear();
  std::set<std::uint32_t> dropped;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (begin <= i && i < end) {
      if (const auto* const alloc = std::get_if<Alloc>(&instruction)) {
        dropped.insert(alloc->id);
      }
    } else if (const auto id = allocation_of(instruction); !id || !dropped.contains(*id)) {
      shorter.instructions.push_back(instruction);
    }
  }
  return shorter;
}

}  // namespace

bool keeps_guarantees(const Program& program) {
  GuaranteeCheck check;
  return std::ranges::all_of(program.instructions, std::ref(check)) && check.is_finished();
}

std::string to_trace(const Program& program) {
  std::string text = fmt::format("# torch {}\nconf {}\ndevice {}\n", program.version, program.conf,
                                 program.capacity.count());
  if (program.fraction) {
    text += fmt::format("fraction {}\n", *program.fraction);
  }
  if (program.addresses == AddressPolicy::lowest_fit) {
    text += "addr reuse\n";
  }
  if (program.fault) {
    text += fmt::format("# {} calls of {} fail, from the {}. on\n", program.fault->count,
                        program.fault->call == DeviceCall::map ? "map" : "allocate",
                        program.fault->first);
  }
  for (const Instruction& instruction : program.instructions) {
    text += line_of(instruction) + "\n";
  }
  return text;
}

/// Drops ever smaller stretches; a full round over single instructions without success ends it.
Program shrink(Program program, const std::function<bool(const Program&)>& fails) {
  std::size_t length = std::max<std::size_t>(1, program.instructions.size() / 2);
  while (true) {
    bool shortened = false;
    for (std::size_t begin = 0; begin < program.instructions.size();) {
      Program shorter = without(program, begin, begin + length);
      if (keeps_guarantees(shorter) && fails(shorter)) {
        program = std::move(shorter);
        shortened = true;
      } else {
        begin += length;
      }
    }
    if (length == 1 && !shortened) {
      return program;
    }
    length = std::max<std::size_t>(1, length / 2);
  }
}

}  // namespace highwater::program
