// Collectives finish at once, as if every rank had sent what this one sends: gathers and broadcasts
// move known bytes, sums are not computed.
#include <cstddef>
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/contents.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/nccl/communicators.hpp"
#include "tools/record/fakecuda/nccl/grouped_broadcasts.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0;

// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16
// and two of 8 bits.
std::size_t bytes_of(std::size_t count, int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  constexpr int kTypes = sizeof kBytes / sizeof kBytes[0];
  return count * (type >= 0 && type < kTypes ? kBytes[type] : 1);
}

int computed(std::uint64_t to, std::size_t count, int type) {
  forget_contents(to, bytes_of(count, type));
  return kSuccess;
}

}  // namespace

FAKECUDA_API int ncclAllGather(std::uint64_t from, std::uint64_t to, std::size_t count, int type,
                               const Communicator* communicator, std::uint64_t) {
  launch_collective("ncclAllGather");
  const std::size_t size = bytes_of(count, type);
  for (int rank = 0; rank < communicator->size; ++rank) {
    move_contents(to + static_cast<std::uint64_t>(rank) * size, from, size);
  }
  return kSuccess;
}

FAKECUDA_API int ncclBroadcast(std::uint64_t from, std::uint64_t to, std::size_t count, int type,
                               int root, const Communicator* communicator, std::uint64_t) {
  launch_collective("ncclBroadcast");
  broadcast({from, to, bytes_of(count, type), root == communicator->rank});
  return kSuccess;
}

FAKECUDA_API int ncclBcast(std::uint64_t, std::size_t, int, int, const Communicator*,
                           std::uint64_t) {
  launch_collective("ncclBcast");
  return kSuccess;
}

FAKECUDA_API int ncclAllReduce(std::uint64_t, std::uint64_t to, std::size_t count, int type, int,
                               const Communicator*, std::uint64_t) {
  launch_collective("ncclAllReduce");
  return computed(to, count, type);
}

FAKECUDA_API int ncclReduce(std::uint64_t, std::uint64_t to, std::size_t count, int type, int, int,
                            const Communicator*, std::uint64_t) {
  launch_collective("ncclReduce");
  return computed(to, count, type);
}

FAKECUDA_API int ncclReduceScatter(std::uint64_t, std::uint64_t to, std::size_t count, int type,
                                   int, const Communicator*, std::uint64_t) {
  launch_collective("ncclReduceScatter");
  return computed(to, count, type);
}

FAKECUDA_API int ncclSend(std::uint64_t, std::size_t, int, int, const Communicator*,
                          std::uint64_t) {
  launch_collective("ncclSend");
  return kSuccess;
}

FAKECUDA_API int ncclRecv(std::uint64_t to, std::size_t count, int type, int, const Communicator*,
                          std::uint64_t) {
  launch_collective("ncclRecv");
  return computed(to, count, type);
}

FAKECUDA_API int ncclAlltoAll(std::uint64_t, std::uint64_t to, std::size_t count, int type,
                              const Communicator* communicator, std::uint64_t) {
  launch_collective("ncclAlltoAll");
  return computed(to, count * static_cast<std::size_t>(communicator->size), type);
}

FAKECUDA_API int ncclGroupStart() {
  start_group();
  return kSuccess;
}

FAKECUDA_API int ncclGroupEnd() {
  end_group();
  return kSuccess;
}

FAKECUDA_API int ncclRedOpCreatePreMulSum(int* operation, void*, int, int, const Communicator*) {
  constexpr int kFirstOwnOperation = 5;  // ncclNumOps
  *operation = kFirstOwnOperation;
  return kSuccess;
}

}  // namespace highwater::fakecuda
