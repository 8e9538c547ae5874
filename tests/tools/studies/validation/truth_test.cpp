// Simulation against recorded truth: cases described by their plans alone, compared with what real
// PyTorch asked for and peaked at.
#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include "tools/studies/validation/validate_run.hpp"

using namespace highwater;

namespace {

std::vector<CaseValidation> validated(const std::vector<CaseFiles>& files) {
  Fleet fleet;
  return validate_cases(files, fleet);
}

const std::string kBundled = HIGHWATER_SOURCE "/traces/recorded/fake";
const std::string kDeepspeed19 = HIGHWATER_SOURCE "/traces/recorded/zero3-ds19";
const std::string kReleases = HIGHWATER_SOURCE "/traces/recorded/releases";
const std::string kDecoders = HIGHWATER_SOURCE "/traces/recorded/decoders";
const std::string kShared = HIGHWATER_SHARED_DATA "/truth";

// Autocast frees its cache of weights in the order of a hash table of addresses.
bool is_autocast(const CaseValidation& validation) {
  return validation.id.find("amp") != std::string::npos;
}

void check_requests(const CaseValidation& validation) {
  const auto& sequence = validation.sequence;
  INFO("first difference in " << sequence.first_difference);
  CHECK((is_autocast(validation) ? sequence.equal_from_step_1_any_free_order
                                 : sequence.equal_from_step_1));
}

void check_peaks(const CaseValidation& validation, double tolerance) {
  CHECK(worst_error(validation, &Usage::requested) <= tolerance);
  CHECK(worst_error(validation, &Usage::allocated) <= tolerance);
  CHECK(worst_error(validation, &Usage::reserved) <= tolerance);
  CHECK(validation.ends_alike());
}

/// The case of the list of releases whose requests are freed in another order, with the same peaks;
/// the cause is in tools/docs/releases.md.
bool is_freed_otherwise(const CaseValidation& validation) {
  return validation.id == "plain-fsdp2x2-tp4-sp";
}

// Every seventh recording, all of them on demand.
std::vector<CaseFiles> chosen(std::vector<CaseFiles> files) {
  if (std::getenv("HIGHWATER_ALL_RECORDINGS") != nullptr) {
    return files;
  }
  std::vector<CaseFiles> some;
  for (std::size_t i = 0; i < files.size(); i += 7) {
    some.push_back(files[i]);
  }
  return some;
}

}  // namespace

TEST_CASE("truth: bundled cases are simulated request by request", "[cli][truth][long]") {
  const auto cases = validated(find_cases(kBundled));
  REQUIRE(cases.size() >= 20);
  for (const auto& validation : cases) {
    CAPTURE(validation.id, validation.unsupported_reason);
    CHECK(validation.is_simulated());
    check_requests(validation);
    check_peaks(validation, 1e-12);
  }
}

TEST_CASE(
    "truth: every family of decoders that shares LLaMA's forward is simulated request by request",
    "[cli][truth][long]") {
  const auto cases = validated(find_cases(kDecoders));
  REQUIRE(cases.size() >= 71);
  for (const auto& validation : cases) {
    CAPTURE(validation.id, validation.unsupported_reason);
    CHECK(validation.is_simulated());
    INFO("first difference in " << validation.sequence.first_difference);
    CHECK(validation.sequence.equal_from_step_1_any_free_order);
    check_peaks(validation, 1e-12);
  }
}

// Small tensors that it makes to log its arguments are not modelled.
TEST_CASE("truth: DeepSpeed 0.19's stage 3 has the recorded peaks", "[cli][truth]") {
  const auto cases = validated(find_cases(kDeepspeed19));
  REQUIRE(cases.size() >= 2);
  for (const auto& validation : cases) {
    CAPTURE(validation.id, validation.unsupported_reason);
    CHECK(validation.is_simulated());
    CHECK(worst_error(validation, &Usage::allocated) <= 1e-12);
    CHECK(worst_error(validation, &Usage::reserved) <= 1e-12);
    CHECK(validation.ends_alike());
  }
}

TEST_CASE(
    "truth: one list of cases has the recorded peaks under the oldest and newest releases, and "
    "where a release between them changes something",
    "[cli][truth][long]") {
  const auto cases = validated(find_cases(kReleases));
  REQUIRE(cases.size() >= 126);
  for (const auto& validation : cases) {
    CAPTURE(validation.path, validation.unsupported_reason);
    CHECK(validation.is_simulated());
    check_peaks(validation, 1e-12);
    if (!is_freed_otherwise(validation)) {
      check_requests(validation);
    }
  }
}

TEST_CASE("truth: the plainest cases are equal from the first request on", "[cli][truth]") {
  for (const std::string id : {"gpt2-fp32-sdpa", "gpt2-bf16-sdpa", "gpt2-fp32-eager",
                               "llama-160m-fp32", "llama-160m-bf16-eager"}) {
    const auto files = case_files(kBundled + "/" + id + ".json.xz");
    REQUIRE(files.has_value());
    CAPTURE(id);
    CHECK(validate_case(*files).sequence.equal);
  }
}

TEST_CASE("truth: recordings are met within 5 % of reserved at worst", "[cli][truth][long]") {
  if (!std::filesystem::exists(kShared)) {
    WARN("skipped: shared data absent");
    return;
  }
  std::vector<CaseValidation> simulated;
  for (auto& validation : validated(chosen(find_cases(kShared)))) {
    if (validation.is_simulated()) {
      simulated.push_back(std::move(validation));
    }
  }
  REQUIRE(simulated.size() >= 40);
  for (const auto figure : {&Usage::allocated, &Usage::reserved}) {
    const ErrorSummary errors = summarise_errors(simulated, figure);
    CHECK(errors.median <= 0.0001);
    CHECK(errors.p95 <= 0.001);
    CHECK(errors.worst <= 0.05);
  }
}
