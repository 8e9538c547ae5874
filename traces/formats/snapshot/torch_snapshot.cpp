#include "traces/formats/snapshot/torch_snapshot.hpp"

#include "traces/error.hpp"
#include "traces/formats/pickle/pickle_machine.hpp"
#include "traces/formats/pickle/pickle_opcodes.hpp"
#include "traces/formats/snapshot/snapshot_assembly.hpp"
#include "traces/formats/snapshot/snapshot_builder.hpp"

namespace highwater {
namespace {

constexpr const char* kRemedy =
    "give Highwater the unchanged file that torch.cuda.memory._dump_snapshot(file) wrote";

}  // namespace

Recording read_torch_snapshot(ByteSource& source, const SnapshotOptions& options) {
  detail::SnapshotStore store(options.stacks);
  detail::SnapshotBuilder builder(store);
  detail::PickleMachine machine(source, store, builder);
  const detail::PickleValue top = machine.run();
  try {
    return detail::assemble_snapshot(store, top, machine.bytes_read());
  } catch (const detail::PathProblem& problem) {
    throw InputError(source.name(), problem.path, problem.problem, kRemedy);
  } catch (const detail::FieldProblem& problem) {
    const std::string where = problem.field.empty() ? "top level" : problem.field;
    throw InputError(source.name(), where, problem.problem, kRemedy);
  }
}

bool looks_like_pickle(std::span<const std::byte> first_bytes) {
  if (first_bytes.size() < 2) {
    return false;
  }
  const auto opcode = std::to_integer<std::uint8_t>(first_bytes[0]);
  const auto protocol = std::to_integer<int>(first_bytes[1]);
  return opcode == static_cast<std::uint8_t>(detail::PickleOpcode::proto) &&
         protocol >= detail::kOldestPickleProtocol && protocol <= detail::kNewestPickleProtocol;
}

}  // namespace highwater
