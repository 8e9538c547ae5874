// The state of a fake communicator.
#pragma once

namespace highwater::fakecuda {

struct Communicator {
  int rank, size, device;
  char opaque[4096];  // callers look into the struct, which NCCL leaves undocumented
};

}  // namespace highwater::fakecuda
