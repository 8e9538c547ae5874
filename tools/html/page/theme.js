// Light and dark: the system's choice unless the reader chooses. Printing is always light.

const themeListeners = [];

/** `listener` is called after the colours have changed. */
function onTheme(listener) {
  themeListeners.push(listener);
}

const resizeListeners = [];
let resized = 0;

/** `listener` is called once the window has another size. */
function onResize(listener) {
  resizeListeners.push(listener);
}

function startResize() {
  addEventListener("resize", () => {
    cancelAnimationFrame(resized);
    resized = requestAnimationFrame(() => resizeListeners.forEach((listener) => listener()));
  });
}

/** What was drawn is gone: nobody listens any more. */
function forgetListeners() {
  themeListeners.length = 0;
  resizeListeners.length = 0;
}

function applyTheme() {
  const root = document.documentElement;
  const choice = root.dataset.theme;
  const dark = choice === "dark" ||
      (choice === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.toggleAttribute("data-dark", dark && !root.hasAttribute("data-printing"));
  root.style.colorScheme = dark ? "dark" : "light";
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
  }
  themeListeners.forEach((listener) => listener());
}

function startTheme() {
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = button.dataset.themeChoice;
      applyTheme();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  addEventListener("beforeprint", () => {
    document.documentElement.setAttribute("data-printing", "");
    applyTheme();
  });
  addEventListener("afterprint", () => {
    document.documentElement.removeAttribute("data-printing");
    applyTheme();
  });
  applyTheme();
}
