// Launch lines and scripts taken apart.
#include "workloads/sources/settings/launch_line.hpp"

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/sources/settings/shell_script.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& script) {
  const auto commands = read_shell_script(script, "x.sh").commands;
  return commands.empty() ? Words{} : commands.back().words;
}

LaunchLine line_of(const std::string& script) {
  return read_launch_line(script, "x.sh");
}

}  // namespace

TEST_CASE("shell: quotes, escapes, comments and continued lines", "[plan][settings]") {
  CHECK(words_of("a 'b c' \"d e\" f\\ g # not this\n") == Words{"a", "b c", "d e", "f g"});
  CHECK(words_of("a \\\n  --b 1 \\\r\n  --c\n") == Words{"a", "--b", "1", "--c"});
  CHECK(words_of("a --b=\"c d\"e ''") == Words{"a", "--b=c de", ""});
  CHECK(words_of("a\f\v b") == Words{"a", "b"});
  CHECK_THROWS_WITH(words_of("a 'b"), Contains("byte 2") && Contains("never closed"));
}

TEST_CASE("shell: arguments that a script is not given leave variables alone", "[plan][settings]") {
  CHECK(words_of("M=gpt2\ncase $1 in -m) M=$1 ;; esac\nB=$2\nrun --m $M --b $B") ==
        Words{"run", "--m", "gpt2", "--b", "$2"});
}

TEST_CASE("shell: what a command prints is one word that is not known", "[plan][settings]") {
  CHECK(words_of("N=$(python 'count.py 1')\nA=\"--n $N --m 2\"\nrun $A") ==
        Words{"run", "--n", "$(python 'count.py 1')", "--m", "2"});
}

TEST_CASE("shell: variables that the script sets, arrays and products", "[plan][settings]") {
  CHECK(words_of("N=8; M=2\nrun --n $N --all $(($N*$M)) --x $OTHER ${P:-16}") ==
        Words{"run", "--n", "8", "--all", "16", "--x", "$OTHER", "16"});
  CHECK(words_of("A=\"--a 1 --b\"\nrun $A \"$A\"") == Words{"run", "--a", "1", "--b", "--a 1 --b"});
  CHECK(words_of("ARGS=(\n  --layers 96  # deep\n  --path \"a b\"\n)\nARGS+=(--c)\n"
                 "run ${ARGS[@]} \"${ARGS[@]}\"") == Words{"run", "--layers", "96", "--path", "a",
                                                           "b", "--c", "--layers", "96", "--path",
                                                           "a b", "--c"});
  CHECK(words_of("export N=4\nrun $N") == Words{"run", "4"});
}

TEST_CASE("shell: files beside the script, and quotes inside of a command", "[plan][settings]") {
  CHECK(words_of(
            "D=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nrun \"$D/a.yaml\" $(dirname $0)/b.toml") ==
        Words{"run", "./a.yaml", "./b.toml"});
  CHECK(words_of("run \"$(cat \"a b\")\" c") == Words{"run", "$(cat \"a b\")", "c"});
}

TEST_CASE("shell: where output goes is no word of the command", "[plan][settings]") {
  CHECK(read_shell_script("run --a 1 > out.txt 2>err.txt --b\n", "x.sh").commands.front().words ==
        Words{"run", "--a", "1", "--b"});
  CHECK(read_shell_script("run --a 2>&1 | tee log", "x.sh").commands.front().words ==
        Words{"run", "--a"});
}

// POSIX.1-2017, Shell Command Language, 2.6.2: which of word and parameter each form stands for.
TEST_CASE("shell: what stands for a variable that is not set, or empty", "[plan][settings]") {
  CHECK(words_of("E=\nS=4\nrun ${U:-a} ${U-b} ${E:-c} ${E-d} ${S:-e} ${S-f}") ==
        Words{"run", "a", "b", "c", "4", "4"});
  CHECK(words_of("S=4\nrun ${S:+--n $S} ${U:+--m $U} --end") == Words{"run", "--n", "4", "--end"});
  CHECK(words_of(": \"${N:=8}\"\n: ${M:=${N}}\nN=${N:=9}\nrun $N $M") == Words{"run", "8", "8"});
  CHECK(words_of("B=2\nrun ${A:-\"$B\"} ${A:-${C:-3}}") == Words{"run", "2", "3"});
}

// bash(1), Arrays and declare: assignments behind these builtins set variables as well.
TEST_CASE("shell: declared variables and arrays, and single items of them", "[plan][settings]") {
  CHECK(words_of("declare -a A=(\n --layers 32\n)\nA+=(--seq 8)\nrun \"${A[@]}\" \"${A[1]}\"") ==
        Words{"run", "--layers", "32", "--seq", "8", "32"});
  CHECK(words_of("local N=2\nreadonly M=3\nexport P=4 Q=5\nrun $N $M $P $Q") ==
        Words{"run", "2", "3", "4", "5"});
  CHECK(words_of("declare -A SIZE=([small]=2 [large]=\"4\")\nM=large\n"
                 "run ${SIZE[small]} ${SIZE[$M]}") == Words{"run", "2", "4"});
}

// POSIX.1-2017, 2.2.1 and 2.3: only a newline right behind the backslash goes on, and a comment
// ends a line; people write both and mean one command.
TEST_CASE("shell: a command that the shell cuts short is read on, and noted", "[plan][settings]") {
  const ShellScript blanks = read_shell_script("run --a False \\ \n--b 2 --c\\ \n --d 4\n", "x.sh");
  CHECK(blanks.commands.back().words ==
        Words{"run", "--a", "False", "--b", "2", "--c", "--d", "4"});
  CHECK(blanks.cut_lines == Words{"line 1: blanks behind the backslash"});
  const ShellScript comments =
      read_shell_script("run --a 1 \\\n  # the rate\n  # --x 1 \\\n  --b 2\nnext\n", "x.sh");
  REQUIRE(comments.commands.size() == 2);
  CHECK(comments.commands.front().words == Words{"run", "--a", "1", "--b", "2"});
  CHECK(comments.cut_lines == Words{"line 2: a comment between its lines"});
  CHECK(read_shell_script("run --a \\\n # end\nnext --b", "x.sh").commands.size() == 2);
}

// sbatch(1) of Slurm 24.05, OUTPUT ENVIRONMENT VARIABLES.
TEST_CASE("launch lines: Slurm's variables are those of the script's header", "[plan][settings]") {
  const LaunchLine line = line_of(
      "#!/bin/bash\n#SBATCH --nodes=2   # machines\n#SBATCH --gres=gpu:h100:4\n"
      "srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node $SLURM_GPUS_ON_NODE x.py");
  CHECK(line.launcher_options.text("nnodes") == "2");
  CHECK(line.launcher_options.text("nproc_per_node") == "4");
  CHECK(line_of("#SBATCH -N 4\ntorchrun --nnodes $SLURM_NNODES x.py")
            .launcher_options.text("nnodes") == "4");
}

TEST_CASE("shell: the branch that a script decides itself runs", "[plan][settings]") {
  const std::string sizes =
      "if [ $M = 1b ]; then N=16; D=2048\nelif [[ ${M} == 8b && 1 -lt 2 ]]; then N=32; D=4096\n"
      "else N=80; D=8192\nfi\nrun --n $N --d $D";
  CHECK(words_of("M=1b\n" + sizes) == Words{"run", "--n", "16", "--d", "2048"});
  CHECK(words_of("M=8b\n" + sizes) == Words{"run", "--n", "32", "--d", "4096"});
  CHECK(words_of("M=70b\n" + sizes) == Words{"run", "--n", "80", "--d", "8192"});
  const std::string cases =
      "case $M in\n  1b|2b)\n N=16\n A=(--a 1) ;;\n  8b) N=32 ;;\n  *) N=80 ;;\nesac\n"
      "run --n $N ${A[@]}";
  CHECK(words_of("M=2b\n" + cases) == Words{"run", "--n", "16", "--a", "1"});
  CHECK(words_of("M=8b\nA=\n" + cases) == Words{"run", "--n", "32"});
  CHECK(words_of("M=9b\nA=\n" + cases) == Words{"run", "--n", "80"});
  CHECK(words_of("X=\nif [ -z \"$X\" ] || [ 2 -le 1 ]; then run 1; fi") == Words{"run", "1"});
  CHECK(words_of("first\nif [ 2 -ne 2 ]; then\n  if [ 1 -eq 1 ]; then run 1; fi\nfi") ==
        Words{"first"});
}

TEST_CASE("shell: branches that a script leaves open are all read, and noted", "[plan][settings]") {
  const ShellScript script =
      read_shell_script("N=1\nif [ $1 = 8b ]; then N=32; M=a; else N=16; M=a; fi\nrun $N", "x.sh");
  CHECK(script.commands.back().words == Words{"run", "16"});
  CHECK(script.ambiguous == Words{"N"});
  const ShellScript called = read_shell_script(
      "N=1\nif [ $1 = 8b ]; then N=32; else N=16; fi\nrun $N", "x.sh", {{"1", "8b"}});
  CHECK(called.commands.back().words == Words{"run", "32"});
  CHECK(called.ambiguous.empty());
}

TEST_CASE("launch line: a script that is called with arguments", "[plan][settings]") {
  const auto call = read_script_call("SIZE=8b bash scripts/run.sh dsw 7B", "a line");
  REQUIRE(call);
  CHECK(call->script == "scripts/run.sh");
  CHECK(call->arguments == ShellEnvironment{{"1", "dsw"}, {"2", "7B"}, {"SIZE", "8b"}});
  CHECK(!read_script_call("bash -c 'python train.py'", "a line"));
  CHECK(!read_script_call("torchrun train.py --x y.sh", "a line"));
}

TEST_CASE("launch line: sh -c finds set what the script exports", "[plan][settings]") {
  const LaunchLine line = line_of(
      "export L=\"python -u -m torch.distributed.launch --nproc_per_node 4\"\n"
      "export CMD=\" `pwd`/pretrain_gpt.py --num-layers 24 \"\n"
      "srun bash -c '$L --node_rank $SLURM_PROCID $CMD'");
  CHECK(line.program == "pretrain_gpt.py");
  CHECK(line.options.text("num-layers") == "24");
  CHECK(line.launcher_options.text("nproc_per_node") == "4");
}

TEST_CASE("shell: here-documents are skipped", "[plan][settings]") {
  CHECK(words_of("cat > x.yaml <<EOF\npython wrong.py\nEOF\npython right.py\n") ==
        Words{"python", "right.py"});
}

TEST_CASE("launch line: torchrun and a script", "[plan][settings]") {
  const LaunchLine line = line_of(
      "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 8 --nnodes=2 "
      "/opt/m/pretrain_gpt.py --bf16 --seq-length 2048 --lr -1 --spec a b -k=v");
  CHECK(line.launcher == "torchrun");
  CHECK(line.program == "pretrain_gpt.py");
  CHECK(line.launcher_options.whole("nproc-per-node") == 8);
  CHECK(line.launcher_options.whole("nnodes") == 2);
  CHECK(line.options.is_on("bf16"));
  CHECK(line.options.whole("seq_length") == 2048);
  CHECK(line.options.whole("lr") == -1);
  CHECK(line.options.text("spec") == "a,b");
  CHECK(line.options.text("k") == "v");
  CHECK(line.environment.text("CUDA_VISIBLE_DEVICES") == "0,1");
}

TEST_CASE("launch line: dashes alone name no option", "[plan][settings]") {
  const LaunchLine line = line_of("python train.py --a 1 -- --- - --b 2");
  CHECK(line.options.text("a") == "1");
  CHECK(line.options.whole("b") == 2);
}

TEST_CASE("launch line: other launchers and tools", "[plan][settings]") {
  const LaunchLine accelerate =
      line_of("accelerate launch --config_file a.yaml --multi_gpu train.py cfg.yaml --fp16");
  CHECK(accelerate.launcher == "accelerate");
  CHECK(accelerate.launcher_options.text("config_file") == "a.yaml");
  CHECK(accelerate.launcher_options.is_on("multi_gpu"));
  CHECK(accelerate.options.text("argument") == "cfg.yaml");
  const LaunchLine module =
      line_of("python -m torch.distributed.run --nproc-per-node 4 -m axolotl.cli.train x.yml");
  CHECK(module.launcher == "torchrun");
  CHECK(module.program == "axolotl.cli.train");
  CHECK(line_of("srun --nodes 2 --ntasks-per-node 8 python train.py --a 1")
            .launcher_options.whole("ntasks_per_node") == 8);
  const LaunchLine tool = line_of("llamafactory-cli train a.yaml lora_rank=8 +model.x=2");
  CHECK(tool.program == "llamafactory-cli train");
  CHECK(tool.options.whole("lora_rank") == 8);
  CHECK(tool.options.whole("model.x") == 2);
  const LaunchLine tune =
      line_of("tune run --nproc_per_node 2 lora_finetune_distributed --config l/8B batch_size=4");
  CHECK(tune.program == "tune run lora_finetune_distributed");
  CHECK(tune.launcher_options.whole("nproc_per_node") == 2);
  CHECK(tune.options.text("config") == "l/8B");
}

TEST_CASE("launch line: the command that trains, of a whole script", "[plan][settings]") {
  const LaunchLine line = line_of(
      "#!/bin/bash\npip install x.whl\nG=8\npython prepare.py\n"
      "if [ $G -gt 1 ]; then\n  torchrun --nproc_per_node $G train.py --model a --batch 2\nfi\n");
  CHECK(line.program == "train.py");
  CHECK(line.launcher_options.whole("nproc_per_node") == 8);
  CHECK_THROWS_WITH(line_of("echo hello world"), Contains("no launch line"));
}

TEST_CASE("launch line: arrays without quotes are split, those with quotes are not",
          "[plan][settings]") {
  const std::string script = "A=(--split '1,2' \"--words 3\")\npython a.py ${A[@]}\n";
  const LaunchLine line = read_launch_line(script, "a.sh");
  CHECK(line.options.whole("words") == 3);
  const LaunchLine quoted =
      read_launch_line("A=(--name 'two words')\npython a.py \"${A[@]}\"\n", "a.sh");
  CHECK(quoted.options.text("name") == "two words");
}

TEST_CASE("launch line: a default in quotes, and what a shell is given to run",
          "[plan][settings]") {
  const LaunchLine line = read_launch_line(
      "N=${NODES:-\"2\"}\nRUN=\"python a.py --n ${N}\"\nsrun sh -c \"${RUN}\"\n", "a.sh");
  CHECK(line.program == "a.py");
  CHECK(line.options.whole("n") == 2);
}

TEST_CASE("shell: a command within double quotes is one piece", "[plan][settings]") {
  CHECK(words_of("run \"--a=$((2*(3)))\" \"--b $(echo $(date)) c\"") ==
        Words{"run", "--a=6", "--b $(echo $(date)) c"});
}

TEST_CASE("shell: variables have the size of what a program can be started with",
          "[plan][settings]") {
  std::string doubled = "A=aaaaaaaaaa\n";
  std::string array = "A=(" + std::string(100, 'a') + " b)\n";
  for (int i = 0; i < 24; ++i) {
    doubled += "A=$A$A\n";
    array += "A=(\"${A[@]}\" \"${A[@]}\")\n";
  }
  CHECK_THROWS_WITH(line_of(doubled + "python x.py $A"),
                    Contains("x.sh: line 18: the variable A becomes longer than 1 MiB; give the"));
  CHECK_THROWS_WITH(line_of(array + "python x.py \"${A[@]}\""),
                    Contains("the variable A becomes longer than 1 MiB"));
  // 1 MiB is allowed, a letter more is not.
  const std::string half(std::size_t{1} << 19, 'x');
  CHECK(words_of("A=" + half + "\nA+=$A\nrun $A").at(1).size() == std::size_t{1} << 20);
  CHECK_THROWS_WITH(words_of("A=" + half + "\nA+=$A\nA+=x\n"), Contains("line 3"));
  CHECK_THROWS_WITH(words_of("A=(" + half + ")\nA+=($A)\n"), Contains("1 MiB"));
}

TEST_CASE("shell: all that variables become is bounded", "[plan][settings]") {
  const std::string large = "A=" + std::string(std::size_t{1} << 19, 'x') + "\n";
  std::string many = large;
  std::string inner = "export " + large;
  for (int i = 0; i < 100; ++i) {
    many += "echo $A\n";
    inner += "bash -c 'echo $A'\n";
  }
  CHECK_THROWS_WITH(line_of(many),
                    Contains("become more than 32 MiB of text; give the launch line"));
  CHECK_THROWS_WITH(line_of(inner), Contains("become more than 32 MiB of text"));
  std::string letters = "A='";
  for (int i = 0; i < 100'000; ++i) {
    letters += "a ";
  }
  letters += "'\n";
  for (int i = 0; i < 20; ++i) {
    letters += "echo $A\n";
  }
  CHECK_THROWS_WITH(line_of(letters), Contains("become more than 32 MiB of text"));
}

TEST_CASE("shell: variables nested in one another", "[plan][settings]") {
  const auto nested = [](int depth) {
    std::string text = "run ";
    for (int i = 0; i < depth; ++i) {
      text += "${A:-";
    }
    text += "x";
    return text + std::string(static_cast<std::size_t>(depth), '}');
  };
  CHECK(words_of(nested(60)) == Words{"run", "x"});
  CHECK_THROWS_WITH(words_of(nested(200'000)), Contains("line 1: variables nested more than"));
}

TEST_CASE("shell: what appends, and what a script finds set", "[plan][settings]") {
  CHECK(words_of("A=a\nA+=b\nA+=c\nrun $A") == Words{"run", "abc"});
  CHECK(words_of("A=(a b)\nA+=(c)\nrun \"${A[@]}\" ${A[2]}") == Words{"run", "a", "b", "c", "c"});
  const ShellEnvironment set{{"A", "1"}, {"B", "2"}};
  const auto commands =
      read_shell_script("A+=0\nB=${B:-5}$C\nrun $A $B ${B:+x}", "x.sh", set).commands;
  CHECK(commands.back().words == Words{"run", "10", "2$C", "x"});
}

TEST_CASE("shell: a script with a NUL byte is refused", "[plan][settings]") {
  using namespace std::string_literals;
  CHECK_THROWS_WITH(line_of("export A=1\ntorchrun x.py --model gpt2\0 --bf16 1\n"s),
                    Contains("x.sh: line 2: a NUL byte"));
}

TEST_CASE("shell: nested branches that may run", "[plan][settings]") {
  const auto ambiguous = [](const std::string& script) {
    return read_shell_script(script, "x.sh").ambiguous;
  };
  CHECK(ambiguous("if [ $1 = a ]; then A=1\nif [ $2 = b ]; then A=2; fi; fi") == Words{"A"});
  CHECK(ambiguous("if [ $1 = a ]; then if [ $2 = b ]; then A=1; else A=2; fi\nB=1; fi") ==
        Words{"A"});
  CHECK(ambiguous("if [ a = a ]; then if [ $2 = b ]; then A=1; else A=2; fi; fi") == Words{"A"});
  CHECK(ambiguous("if [ $1 = a ]; then A=1; fi\nif [ $1 = b ]; then A=2; fi").empty());
  CHECK(ambiguous("if [ a = b ]; then if [ $1 = a ]; then A=1; else A=2; fi; fi").empty());
}

TEST_CASE("shell: tune run without a recipe", "[plan][settings]") {
  CHECK(read_launch_line("tune run", "a line").launcher_options.list().empty());
  CHECK(read_launch_line("tune run --nproc_per_node 4", "a line").options.list().size() == 1);
}
