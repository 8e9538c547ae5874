// Light and dark: the system's choice unless the reader chooses. Printing is always light.

const themeListeners = [];

/** `listener` is called after the colours have changed. */
function onTheme(listener) {
  themeListeners.push(listener);
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
