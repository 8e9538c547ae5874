#include "tools/engine/titan_job.hpp"

#include <algorithm>
#include <iterator>

#include "tools/engine/engine_recording.hpp"
#include "tools/engine/python_process.hpp"
#include "tools/record/record_environment.hpp"
#include "tools/record/record_files.hpp"
#include "traces/error.hpp"

namespace highwater {

std::string titan_job(const std::string& python, const std::vector<std::string>& words) {
  const UnpackedRecordFiles files;
  const std::string log = (files.folder() / "log").string();
  std::vector<std::string> command{python, "-m", "highwater_engine.torchtitan_config"};
  std::ranges::copy(words, std::back_inserter(command));
  PythonProcess process(
      command,
      record_environment({}, files.folder(), files.folder() / "status", current_environment()),
      log);
  std::string job;
  for (std::string line = process.receive(); !line.empty(); line = process.receive()) {
    job.append(line).append(1, '\n');
  }
  process.end();
  if (job.empty()) {
    throw InputError("--python " + python, "", last_line(read_text(log)),
                     "name a Python that has the job's torchtitan by --python");
  }
  return job;
}

}  // namespace highwater
