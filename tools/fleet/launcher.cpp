#include "tools/fleet/launcher.hpp"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// What says that this process is one of several, and what says of how many.
struct LauncherVariables {
  const char* rank;
  const char* size;
};

constexpr std::array<LauncherVariables, 3> kLaunchers{{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // mpirun of Open MPI
    {"PMI_RANK", "PMI_SIZE"},                          // srun --mpi=pmi2, mpirun of MPICH
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},             // srun --mpi=pmix
}};

constexpr std::string_view kLibrary = "libhighwater_mpi.so";

/// Beside the program, or where it is installed.
std::filesystem::path find_library() {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path installed = folder.parent_path() / "lib" / kLibrary;
  return std::filesystem::exists(installed, error) ? installed : folder / kLibrary;
}

[[noreturn]] void refuse(const std::string& problem) {
  throw UsageError(
      fmt::format("{}; build with ./tools/quickstart.sh --mpi and start it by Open "
                  "MPI's mpirun or srun --mpi=pmix, or use --shard i/N",
                  problem));
}

}  // namespace

int launched_processes() {
  for (const LauncherVariables& launcher : kLaunchers) {
    const char* const size = std::getenv(launcher.size);
    if (std::getenv(launcher.rank) != nullptr && size != nullptr) {
      return parse_number<int>(size).value_or(1);
    }
  }
  return 1;
}

std::unique_ptr<Transport> connect_to_launched(const char* version) {
  const int processes = launched_processes();
  // Open MPI's own components look for its symbols among those of the whole program.
  void* const library = ::dlopen(find_library().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    refuse(fmt::format("this is one of {} processes, but this program was built without MPI ({})",
                       processes, ::dlerror()));
  }
  using Connect = Transport* (*)(const char*);
  const auto connect = reinterpret_cast<Connect>(::dlsym(library, "highwater_transport"));
  std::unique_ptr<Transport> transport(connect == nullptr ? nullptr : connect(version));
  if (!transport) {
    refuse(fmt::format("{} is of another version of this program", find_library().string()));
  }
  if (transport->size() != processes) {
    refuse(
        fmt::format("the launcher started {} processes, MPI knows of {}: a launcher of another "
                    "MPI",
                    processes, transport->size()));
  }
  return transport;
}

}  // namespace highwater
