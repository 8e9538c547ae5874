// Command line: `simulate` and `generate`. The report's parts agree with each other and with a
// replay of the generated trace, and options move each category as they should.
#include <algorithm>
#include <array>
#include <fstream>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tests/tools/commands/simulated.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Contains;
using Catch::EndsWith;

namespace simulate_test {

namespace {

/// Highest allocated bytes of a phase over the whole run.
std::int64_t phase_peak(const Object& run, std::string_view name) {
  std::int64_t highest = 0;
  for (const auto& phase : run.at("phases").as_array()) {
    if (phase.at("phase").as_string() == name) {
      highest = std::max(highest, number(phase.at("peak").at("allocated_bytes")));
    }
  }
  return highest;
}

std::int64_t category(const Object& run, std::string_view name) {
  return number(run.at("breakdown_at_peak").at(name));
}

std::int64_t parameter_bytes(const Object& run, std::int64_t each) {
  return each * number(run.at("model").at("parameters"));
}

}  // namespace

TEST_CASE("simulate: the report's parts sum to and lie below the peak", "[cli][simulate][long]") {
  for (const std::string options :
       {"--model gpt2", "--model gpt2 --batch 4 --grad-accum 2 --precision amp-bf16",
        "--model llama-160m --checkpoint full --precision bf16 --capacity 900MiB",
        "--model gpt2 --optimizer sgd --mode eval"}) {
    const Object run = simulate_json(options);
    CAPTURE(options);
    CHECK(run.at("schema").as_string() == "highwater.simulate/1");
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : run.at("breakdown_at_peak").as_object()) {
      sum += number(bytes);
    }
    CHECK(sum == peak(run));
    for (const std::string curve : {"requested", "allocated", "active", "reserved"}) {
      std::int64_t highest = 0;
      for (const auto& phase : run.at("phases").as_array()) {
        highest = std::max(highest, number(phase.at("peak").at(curve + "_bytes")));
      }
      CHECK(highest == peak(run, curve));
      for (const auto& step : run.at("steps").as_array()) {
        CHECK(number(step.at("peak").at(curve + "_bytes")) <= peak(run, curve));
      }
    }
    std::int64_t last = 0;
    for (const auto& holder : run.at("holders_at_peak").as_array()) {
      CHECK((last == 0 || number(holder.at("requested_bytes")) <= last));
      last = number(holder.at("requested_bytes"));
    }
    CHECK(run.at("ranks").as_array().size() == 1);
    CHECK(run.at("rank") == 0);
    CHECK_FALSE(run.at("estimates").as_array().empty());
    std::int64_t parts = 0;
    for (const auto& [name, bytes] : run.at("parts_at_peak").as_object()) {
      parts += number(bytes);
    }
    CHECK(parts == peak(run, "reserved") + number(run.at("outside_allocator").at("bytes")));
    CHECK(number(run.at("outside_allocator").at("bytes")) > 0);
  }
}

TEST_CASE("simulate: the holders of the peak hold all of it", "[cli][simulate]") {
  PlannedRun planned;
  planned.plan.model = model_preset("gpt2");
  planned.plan.seq = {64};
  const Simulation simulation = highwater::simulate(planned, {});
  Bytes held;
  for (const SiteHolder& holder : simulation.holders) {
    held += holder.held;
    for (const std::string layer : {".0", ".1", ".11"}) {
      CHECK_FALSE((holder.origin.module + ".").find(layer + ".") != std::string::npos);
    }
  }
  const CategoryBytes& at_peak = simulation.peaks.run.at_peak;
  CHECK(held + at_peak.rounding == at_peak.total());
  CHECK(at_peak.total() == simulation.replay.result.peak.allocated);
}

TEST_CASE("simulate: the first step and the steady state are told apart", "[cli][simulate]") {
  const Object run = simulate_json("--model gpt2 --steps 4");
  const auto& steps = run.at("steps").as_array();
  REQUIRE(steps.size() == 4);
  CHECK(run.at("first_step_peak") == steps[0].at("peak"));
  CHECK(number(run.at("steady_peak").at("requested_bytes")) ==
        number(steps[1].at("peak").at("requested_bytes")));
  CHECK(steps[1].at("peak").at("requested_bytes") == steps[3].at("peak").at("requested_bytes"));
}

TEST_CASE("simulate: each format has the same numbers, the same input the same bytes",
          "[cli][simulate]") {
  const std::string options = "--model gpt2 --gpu v100-16";
  const Object run = simulate_json(options);
  const CommandRun csv = simulate(options + " --format csv");
  CHECK_THAT(csv.out,
             Contains("\npeak.reserved_bytes," + std::to_string(peak(run, "reserved")) + "\n"));
  CHECK_THAT(csv.out, Contains("\nsteps.1.peak.allocated_bytes,"));
  const CommandRun table = simulate(options);
  CHECK_THAT(table.out, Contains("FITS in v100-16 (") && Contains("optimizer state") &&
                            Contains("outside the allocator: about") &&
                            Contains("trust: PyTorch 2.15 model"));
  CHECK_THAT(simulate(options + " --format markdown").out, Contains("### Peak memory"));
  CHECK(table.out == simulate(options).out);
}

TEST_CASE("simulate: the context that was measured takes the place of the published one",
          "[cli][simulate][long]") {
  const std::string options = "--model gpt2 --gpu v100-16 --context ";
  const Object given = simulate_json(options + "1GiB");
  CHECK(number(given.at("outside_allocator").at("bytes")) == std::int64_t{1} << 30);
  const auto shown = static_cast<std::uint64_t>(peak(given, "reserved")) + (std::uint64_t{1} << 30);
  CHECK_THAT(simulate(options + "1GiB").out,
             Contains("nvidia-smi would show about " + to_iec(Bytes{shown}) + " of the GPU"));
  CHECK(simulate_json(options + "none") == simulate_json("--model gpt2 --gpu v100-16"));
  const CommandRun odd = simulate(options + "large");
  CHECK(odd.code == ExitCode::usage);
  CHECK_THAT(odd.err, Contains("--context large: not a size"));
}

TEST_CASE("simulate: a larger batch or sequence raises activations and nothing else",
          "[cli][simulate]") {
  for (const std::string model : {"gpt2", "llama-160m"}) {
    const Object one = simulate_json("--model " + model + " --steps 2");
    for (const std::string larger : {" --batch 4", " --seq 256"}) {
      const CommandRun result = run_line("simulate --model " + model + " --steps 2 --format json" +
                                         (larger == " --batch 4" ? larger + " --seq 64" : larger));
      REQUIRE(result.code == ExitCode::ok);
      const Object more = boost::json::parse(result.out).as_object();
      CAPTURE(model, larger);
      CHECK(phase_peak(more, "forward") > phase_peak(one, "forward"));
      CHECK(category(more, "parameter") == category(one, "parameter"));
      CHECK(number(more.at("model").at("parameters")) == number(one.at("model").at("parameters")));
    }
  }
}

TEST_CASE("simulate: each layer adds the same, parameter by parameter", "[cli][simulate]") {
  const test::TempDir folder;
  std::vector<Object> runs;
  for (const int layers : {2, 3, 4}) {
    const std::string path =
        (folder.path() / ("layers" + std::to_string(layers) + ".json")).string();
    std::ofstream(path) << boost::json::object{
        {"model_type", "llama"},        {"hidden_size", 256}, {"intermediate_size", 512},
        {"num_attention_heads", 4},     {"vocab_size", 1000}, {"num_hidden_layers", layers},
        {"max_position_embeddings", 64}};
    runs.push_back(simulate_json("--torch 2.6 --framework torch --model " + path));
  }
  // q, k, v, o; gate, up, down; two norms.
  const std::int64_t per_layer = 4 * 256 * 256 + 3 * 256 * 512 + 2 * 256;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    CHECK(number(runs[i].at("model").at("parameters")) -
              number(runs[i - 1].at("model").at("parameters")) ==
          per_layer);
    CHECK(category(runs[i], "parameter") - category(runs[i - 1], "parameter") == 4 * per_layer);
    CHECK(phase_peak(runs[i], "forward") > phase_peak(runs[i - 1], "forward"));
  }
  CHECK(peak(runs[2], "requested") - peak(runs[1], "requested") ==
        peak(runs[1], "requested") - peak(runs[0], "requested"));
}

TEST_CASE("simulate: precision halves parameters and optimizer states", "[cli][simulate][long]") {
  const Object fp32 = simulate_json("--model gpt2");
  const Object bf16 = simulate_json("--model gpt2 --precision bf16");
  const Object amp = simulate_json("--model gpt2 --precision amp-bf16");
  CHECK(category(fp32, "parameter") == parameter_bytes(fp32, 4));
  CHECK(category(bf16, "parameter") == parameter_bytes(bf16, 2));
  CHECK(category(amp, "parameter") == category(fp32, "parameter"));
  // Adam: two states of each parameter, and a step counter of 4 bytes on the device or none.
  CHECK(category(fp32, "optimizer_state") >= parameter_bytes(fp32, 8));
  CHECK(category(fp32, "optimizer_state") < parameter_bytes(fp32, 8) + kMiB);
  CHECK(category(bf16, "optimizer_state") < parameter_bytes(bf16, 4) + kMiB);
  CHECK(peak(bf16) < peak(fp32));
}

TEST_CASE("simulate: optimizers keep what they should", "[cli][simulate][long]") {
  const auto states = [](const std::string& optimizer) {
    const Object run = simulate_json("--model gpt2 --optimizer " + optimizer);
    return static_cast<double>(category(run, "optimizer_state")) /
           static_cast<double>(parameter_bytes(run, 1));
  };
  CHECK(states("sgd") == Approx(0).margin(0.01));
  CHECK(states("sgd-momentum") == Approx(4).margin(0.01));
  CHECK(states("adam") == Approx(8).margin(0.01));
  CHECK(states("adamw") == Approx(8).margin(0.01));
  CHECK(states("rmsprop") == Approx(4).margin(0.01));
  CHECK(states("adagrad") == Approx(4).margin(0.01));
}

TEST_CASE("simulate: checkpointing lowers what the forward leaves", "[cli][simulate][long]") {
  const auto forward = [](const std::string& checkpoint) {
    return phase_peak(simulate_json("--model gpt2 --batch 8 --checkpoint " + checkpoint),
                      "forward");
  };
  CHECK(forward("full") < forward("every-2"));
  CHECK(forward("every-2") < forward("none"));
}

TEST_CASE("simulate: closed forms are in tables on request, in JSON always", "[cli][simulate]") {
  const std::string plan = "--model gpt2 --steps 1";
  CHECK_THAT(simulate(plan).out, !Contains("Closed forms"));
  CHECK_THAT(simulate(plan + " --estimates").out, Contains("Closed forms compared"));
  CHECK_THAT(simulate(plan + " --bridge 4n").out,
             !Contains("Closed forms") && Contains("From 4n to the simulated process"));
  CHECK_FALSE(simulate_json(plan).at("estimates").as_array().empty());
}

TEST_CASE("simulate: a replay of the generated trace has the same peaks", "[cli][simulate]") {
  const test::TempDir folder;
  const Object simulated = simulate_json("--model gpt2 --batch 2");
  for (const std::string name : {"plan.trace", "plan.hwt.zst", "plan.trace.xz"}) {
    const std::string path = (folder.path() / name).string();
    const CommandRun generated =
        run({"generate", "--model", "gpt2", "--batch", "2", "--seq", "64", "--output", path});
    CAPTURE(name, generated.err);
    REQUIRE(generated.code == ExitCode::ok);
    const CommandRun replayed = run({"replay", path, "--format", "json"});
    REQUIRE(replayed.code == ExitCode::ok);
    const Object device = boost::json::parse(replayed.out).at("devices").at(0).as_object();
    CHECK(device.at("peak") == simulated.at("peak"));
    CHECK(device.at("counts") == simulated.at("counts"));
  }
}

TEST_CASE("simulate: a trace carries its release, and a later one is the newest known",
          "[cli][simulate]") {
  const test::TempDir folder;
  const std::string path = (folder.path() / "plan.hwt").string();
  for (const auto& [release, preset] :
       {std::pair{"2.9", "2.8"}, {"2.15", "2.15"}, {"9.1", "2.15"}}) {
    REQUIRE(run({"generate", "--model", "gpt2", "--seq", "16", "--steps", "1", "--torch", release,
                 "--output", path})
                .code == ExitCode::ok);
    const auto device = json_of("replay " + path).at("devices").at(0).as_object();
    CAPTURE(release);
    CHECK(device.at("torch") == preset);
  }
  CHECK_THAT(run({"replay", path}).out, Contains("PyTorch 9.1 is later than any release known"));
  CHECK_THAT(run_line("simulate --model gpt2 --seq 16 --steps 1 --transformers 9.1").out,
             Contains("transformers 9.1 is later than any release known here and is taken as"));
}

TEST_CASE("simulate: bad plans exit with 2 and tell all mistakes, one per line",
          "[cli][simulate]") {
  const CommandRun result = run_line(
      "simulate --model gpt2 --batch 0 --capacity 12Q --memory-fraction 3 --format yaml "
      "--find-batch --alloc-conf max_splt_size_mb:64 --checkpoint-impl reentrant");
  CHECK(result.code == ExitCode::usage);
  CHECK(result.out.empty());
  for (const std::string message :
       {"--batch 0: use a number", "--capacity 12Q: not a size", "--memory-fraction 3: not a",
        "--format yaml: unknown format", "--find-batch chooses the batch",
        "did you mean max_split_size_mb?", "checkpoint-impl reentrant: nothing is checkpointed"}) {
    CHECK_THAT(result.err, Contains("highwater: ") && Contains(message));
  }
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 7);

  CHECK(run_line("simulate --model gpt2 --find-batch").code == ExitCode::usage);
  CHECK(run_line("simulate --batch 2").code == ExitCode::usage);
  CHECK(run_line("generate --model gpt2").code == ExitCode::usage);
  CHECK(run_line("generate --model gpt2 --output x.json").code == ExitCode::usage);
}

TEST_CASE("simulate: a bad model file exits with 3", "[cli][simulate]") {
  const CommandRun missing = run_line("simulate --model no/such/config.json");
  CHECK(missing.code != ExitCode::ok);
  CHECK_THAT(missing.err, Contains("no/such/config.json"));
}

TEST_CASE("simulate: what a config.json leaves to its family is a note", "[cli][simulate]") {
  const test::TempDir folder;
  const std::string path = (folder / "config.json").string();
  test::write_file(path, R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4})");
  const std::string note = "missing from the file; using the family's defaults: vocab_size 50257, ";
  const std::string options = " --model " + path + " --seq 16 --steps 1";
  CHECK_THAT(run_line("simulate" + options).out, Contains("note: " + path + ": " + note));
  CHECK_THAT(run_line("simulate" + options + " --format json").out, Contains(note));
  CHECK_THAT(run_line("estimate" + options).out, Contains(note));
  CHECK_THAT(run_line("models " + path).out, Contains(note));
  CHECK_THAT(run_line("sweep" + options + " --set batch=1").out,
             Contains("note: " + path + ": " + note) && EndsWith("1 combination: 1 fit, 0 out of "
                                                                 "memory, 0 impossible\n"));
  const std::string trace = (folder / "plan.hwt").string();
  CHECK_THAT(run_line("generate" + options + " --output " + trace).out,
             Contains("note: " + path + ": " + note));
  test::write_file(path, R"({"model_type": "gpt2", "n_layer": null})");
  const CommandRun refused = run_line("simulate" + options);
  CHECK(refused.code == ExitCode::bad_input);
  CHECK_THAT(refused.err, Contains("n_layer is null, which transformers refuses"));
}

TEST_CASE("simulate: a model is read once, so that it may come from a pipe", "[cli][simulate]") {
  const auto with_piped_model = [](const std::string& line) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const std::string config = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4})";
    REQUIRE(::write(ends[1], config.data(), config.size()) == static_cast<ssize_t>(config.size()));
    ::close(ends[1]);
    const CommandRun result =
        run_line(line + " --seq 16 --steps 1 --model /dev/fd/" + std::to_string(ends[0]));
    ::close(ends[0]);
    CAPTURE(line, result.err);
    CHECK(result.code == ExitCode::ok);
    return result.out;
  };
  CHECK_THAT(with_piped_model("simulate --capacity 20MiB"),
             Contains("DOES NOT FIT") && Contains("using the family's defaults"));
  CHECK_THAT(with_piped_model("sweep --set batch=1,2"), Contains("2 combinations: 2 fit"));
}

TEST_CASE("simulate: the rank that needs most is named", "[cli][simulate]") {
  const CommandRun result = run_line(
      "simulate --framework megatron --transformer-impl local --model llama-160m --pp 2 "
      "--grad-accum 2 --seq 64 --steps 1");
  CHECK_THAT(result.out, Contains("rank 0 of 2 (stage 0 of 2, with the embedding) needs most: ") &&
                             Contains(" reserved, ") && Contains(" times the mean"));
}

TEST_CASE("generate: the GPU's memory goes into the trace, two outputs need two names",
          "[cli][generate]") {
  const test::TempDir folder;
  const std::string trace = (folder / "t.trace").string();
  const std::string plan = "generate --model gpt2 --seq 16 --steps 1 --gpu v100-16 --output ";
  REQUIRE(run_line(plan + trace).code == ExitCode::ok);
  CHECK_THAT(run({"replay", trace, "--format", "json"}).out, !Contains("\"capacity_bytes\":null"));
  CHECK(run_line(plan + trace + " --graph " + trace).code == ExitCode::usage);
}

TEST_CASE("simulate: the ranks of a node add up in host memory", "[cli][simulate]") {
  const std::string plan =
      "--model " HIGHWATER_TEST_DATA "/loops/llama.json --dp 16 --dp-kind fsdp2 --init cpu";
  const Object node = simulate_json(plan).at("host_memory").at("node").as_object();
  CHECK(number(node.at("ranks")) == 8);
  const auto& making = node.at("peaks").as_array().front();
  CHECK(making.at("part").as_string() == "model construction");
  CHECK(number(making.at("rank_bytes")) > 0);
  CHECK(number(making.at("node_bytes")) == 8 * number(making.at("rank_bytes")));
  CHECK_THAT(simulate(plan).out, Contains("Host memory of a node of 8 ranks, at the peaks"));
}

}  // namespace simulate_test
