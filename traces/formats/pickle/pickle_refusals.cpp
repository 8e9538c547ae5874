// Error messages for opcodes that the PickleMachine refuses.
#include <algorithm>
#include <array>

#include "traces/formats/pickle/pickle_opcodes.hpp"

namespace highwater::detail {
namespace {

struct Group {
  std::string_view opcodes;
  PickleRefusal refusal;
};

// In the order of pickletools: GLOBAL STACK_GLOBAL INST OBJ | NEWOBJ NEWOBJ_EX REDUCE BUILD |
// PERSID BINPERSID EXT1 EXT2 EXT4, then byte strings, sets and the text forms of protocol 0.
constexpr std::array<Group, 5> kGroups{{
    {"c\x93io",
     {"the pickle tries to import a class or function; Highwater reads only plain data and "
      "never executes what is in a pickle",
      {}}},
    {"\x81\x92Rb",
     {"the pickle tries to run code (to build an object); Highwater reads only plain data "
      "and never executes what is in a pickle",
      {}}},
    {"PQ\x82\x83\x84",
     {"the pickle refers to objects outside the file (as torch.save does); Highwater reads "
      "only plain data and never executes what is in a pickle",
      {}}},
    {"CBTUS\x8e\x96\x97\x98\x8f\x90\x91",
     {"the pickle holds byte strings or sets, which Highwater does not read", {}}},
    {"FILVgp",
     {"the pickle uses the text opcodes of protocol 0 or 1, which Highwater does not read",
      kWriteProtocol4}},
}};

}  // namespace

PickleRefusal refusal_of(std::uint8_t opcode) {
  const auto group = std::ranges::find_if(kGroups, [&](const Group& g) {
    return g.opcodes.find(static_cast<char>(opcode)) != std::string_view::npos;
  });
  if (group != kGroups.end()) {
    return group->refusal;
  }
  return {"unknown pickle opcode: the file is damaged or not a pickle", {}};
}

}  // namespace highwater::detail
