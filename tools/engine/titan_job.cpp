#include "tools/engine/titan_job.hpp"

#include <chrono>
#include <string_view>

#include "tools/engine/python_command.hpp"
#include "tools/engine/python_process.hpp"
#include "tools/record/record_environment.hpp"
#include "tools/record/record_files.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

constexpr std::chrono::seconds kLongestJob{300};  // torchtitan's imports on a busy machine
constexpr std::string_view kAsksForJob =
    "from highwater_engine import channel, torchtitan_config; "
    "channel.answer_once(torchtitan_config.job_text)";

}  // namespace

std::string titan_job(const std::string& python, const std::vector<std::string>& words) {
  const UnpackedRecordFiles files;
  const OneAnswer job = with_progress("asking torchtitan", [&] {
    return ask_once(python_command(python, kAsksForJob, words),
                    python_environment(record_environment(
                        {}, files.folder(), files.folder() / "status", current_environment())),
                    kLongestJob);
  });
  if (job.text.empty()) {
    throw InputError("--python " + python, "",
                     job.last_words.empty() ? "ended without a word" : job.last_words,
                     "name a Python that has the job's torchtitan by --python");
  }
  return job.text;
}

}  // namespace highwater
