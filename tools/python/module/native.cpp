// highwater._native: the commands as functions of Python, and snapshots that are held in memory.
//
// A call takes a command line and returns what the program would print, without the interpreter's
// lock; every error becomes an exception of highwater._errors. pybind11, because Debian has it: the
// tests build this module with the packages of the C++ build, the wheel with PyPI's.
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/library/command_call.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/memory_file.hpp"
#include "workloads/estimates/forms/deepspeed_zero2.hpp"
#include "workloads/estimates/forms/deepspeed_zero3.hpp"

namespace py = pybind11;

namespace highwater {
namespace {

py::object text_of(std::string_view text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// As the program prints it: what a file holds never reaches a terminal as it is.
py::object message_of(std::string_view text) {
  return text_of(printable(text));
}

/// Raises highwater._errors.NAME(*arguments).
template <class... Arguments>
[[noreturn]] void raise(const char* name, Arguments&&... arguments) {
  const py::object type = py::module_::import("highwater._errors").attr(name);
  const py::object error = type(std::forward<Arguments>(arguments)...);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

[[noreturn]] void raise_usage(const std::vector<std::string>& problems) {
  py::list list;
  for (const std::string& problem : problems) {
    list.append(message_of(problem));
  }
  raise("UsageError", list);
}

/// What the running exception is in Python.
[[noreturn]] void raise_current(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const UsageErrors& error) {
    raise_usage(error.problems());
  } catch (const UsageError& error) {
    raise_usage({error.what()});
  } catch (const InputError& error) {
    raise("InputError", message_of(error.what()), text_of(error.source()),
          message_of(error.where()), message_of(error.problem()), message_of(error.remedy()));
  } catch (const Error& error) {
    raise("InputError", message_of(error.what()));
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError,
                    "not enough memory on this machine for the answer; ask for less at a time, or "
                    "use a machine with more");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, (std::string("internal error: ") + error.what()).c_str());
  } catch (const Cancelled&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
  throw py::error_already_set();
}

/// Returns when the command has ended. @throws what a signal handler of Python raised
void wait_for(CommandCall& call) {
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  const py::gil_scoped_release released;
  while (!call.wait_for(kBetweenSignals)) {
    const py::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
  }
}

/// (what the program would print, the budgets exceeded). 0 threads: as many as there are cores
py::tuple call(const std::vector<std::string>& arguments, std::size_t threads) {
  auto running = std::make_unique<CommandCall>(arguments, threads);
  try {
    wait_for(*running);
  } catch (py::error_already_set&) {
    const py::gil_scoped_release released;
    running.reset();
    throw;
  }
  CommandAnswer answer;
  std::exception_ptr failure;
  try {
    answer = running->take();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    raise_current(failure);
  }
  py::list exceeded;
  for (const std::string& reason : answer.exceeded) {
    exceeded.append(text_of(reason));
  }
  return py::make_tuple(text_of(answer.text), exceeded);
}

/// Bytes that commands can open by name. It keeps them alive.
class HeldBytes {
 public:
  HeldBytes(std::string name, py::bytes bytes)
      : bytes_(std::move(bytes)), file_(std::move(name), view()) {}

  [[nodiscard]] const std::string& name() const { return file_.name(); }

 private:
  [[nodiscard]] std::span<const std::byte> view() const {
    const std::string_view view = bytes_;
    return std::as_bytes(std::span(view.data(), view.size()));
  }

  py::bytes bytes_;
  MemoryFile file_;
};

/// (bytes per node of the host, bytes per GPU), as DeepSpeed's estimators return them.
py::tuple to_tuple(const DeepspeedEstimate& estimate) {
  return py::make_tuple(static_cast<std::uint64_t>(estimate.host_bytes),
                        static_cast<std::uint64_t>(estimate.gpu.bytes()));
}

py::tuple zero2(double parameters, int gpus_per_node, int nodes, bool offload, double factor) {
  return to_tuple(deepspeed_zero2(parameters, {gpus_per_node, nodes, factor},
                                  DeepspeedZero2Rule::code_current, offload));
}

py::tuple zero3(double parameters, double largest_layer, int gpus_per_node, int nodes, bool offload,
                bool offload_parameters, bool zero_init, double factor) {
  const auto kind = !offload             ? DeepspeedOffload::none
                    : offload_parameters ? DeepspeedOffload::both
                                         : DeepspeedOffload::optimizer;
  return to_tuple(
      deepspeed_zero3(parameters, largest_layer, {gpus_per_node, nodes, factor}, kind, zero_init));
}

void define(py::module_& module) {
  show_progress(ProgressView::hidden);
  module.attr("__version__") = HIGHWATER_VERSION;
  module.def("call", &call, py::arg("arguments"), py::arg("threads") = 0);
  module.def(
      "show_progress",
      [](bool shown) { show_progress(shown ? ProgressView::shown : ProgressView::hidden); },
      py::arg("shown"));
  module.def("zero2", &zero2);
  module.def("zero3", &zero3);
  py::class_<HeldBytes>(module, "HeldBytes")
      .def(py::init<std::string, py::bytes>(), py::arg("name"), py::arg("data"))
      .def_property_readonly("name", &HeldBytes::name);
}

/// In a subinterpreter pybind11 would wait for ever for a lock that its own thread holds: its data
/// belong to the main interpreter, and its exceptions ask for them, too. (From 3.12 on Python asks
/// the same of modules, but only where the subinterpreter has a lock of its own.)
bool refuse_subinterpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
    return false;
  }
  PyErr_SetString(PyExc_ImportError,
                  "highwater cannot be imported in a subinterpreter; import it in the main "
                  "interpreter, or in a process of its own (multiprocessing, "
                  "concurrent.futures.ProcessPoolExecutor)");
  return true;
}

void execute(PyObject* object) {
  static PyObject* first = nullptr;  // types can be registered only once
  if (first != nullptr) {
    PyDict_Update(PyModule_GetDict(object), PyModule_GetDict(first));
    return;
  }
  PYBIND11_ENSURE_INTERNALS_READY
  auto module = py::reinterpret_borrow<py::module_>(object);
  define(module);
  first = py::object(module).release().ptr();
}

/// Runs for each interpreter that imports the module, also where another has done so before. 0, or
/// -1 with an ImportError.
int try_to_execute(PyObject* object) {
  if (refuse_subinterpreter()) {
    return -1;
  }
  try {
    execute(object);
    return 0;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  return -1;
}

}  // namespace
}  // namespace highwater

// PYBIND11_MODULE initialises in one phase, of which a subinterpreter only gets a copy: there is no
// moment at which it could be refused (PEP 489).
extern "C" PYBIND11_EXPORT PyObject* PyInit__native() {
  PYBIND11_CHECK_PYTHON_VERSION
  static PyModuleDef_Slot slots[] = {
      {Py_mod_exec, reinterpret_cast<void*>(&highwater::try_to_execute)}, {0, nullptr}};
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "_native", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  return PyModuleDef_Init(&definition);
}
