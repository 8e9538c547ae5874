// Whether a launcher (mpirun, srun) has started several of this program, and what connects them.
#pragma once

#include <memory>

#include "tools/fleet/transport.hpp"

namespace highwater {

/// How many processes the launcher's environment variables tell of; 1 without a launcher. Those of
/// a Slurm batch script are none: it is one process, whatever the job has.
int launched_processes();

/// The connection to the others, from the library beside the program. To be called where
/// launched_processes() is more than 1, and nowhere else: it starts MPI.
/// @throws UsageError where the program was built without MPI, or for another launcher
std::unique_ptr<Transport> connect_to_launched(const char* version);

}  // namespace highwater
