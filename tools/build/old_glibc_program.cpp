// What a program needs beside old_glibc.cpp to start under glibc 2.28. From 2.34 on, glibc's own
// start-up code runs the constructors of a program, and crt1.o passes none to __libc_start_main; an
// older glibc runs what is passed and nothing else. So they are passed here, to the older version
// of it, which newer ones keep for programs of that time (glibc's bug 23323 has the change).
extern "C" {

using Main = int(int, char**, char**);
using Constructor = void(int, char**, char**);
using Function = void();

extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
void _init();

int first_libc_start_main(Main* main, int count, char** words, Constructor* constructors,
                          Function* destructors, Function* loader_exit, void* stack_end);
#if defined(__x86_64__)
asm(".symver first_libc_start_main, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
asm(".symver first_libc_start_main, __libc_start_main@GLIBC_2.17");
#endif

static void run_constructors(int count, char** words, char** environment) {
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(count, words, environment);
  }
}

// Destructors are the dynamic loader's to run, in every glibc: its exit function comes as
// `loader_exit`.
__attribute__((visibility("hidden"))) int __libc_start_main(Main* main, int count, char** words,
                                                            Constructor*, Function*,
                                                            Function* loader_exit,
                                                            void* stack_end) {
  return first_libc_start_main(main, count, words, run_constructors, nullptr, loader_exit,
                               stack_end);
}
}
