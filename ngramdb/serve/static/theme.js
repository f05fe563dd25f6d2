// Before the first paint: the theme that was chosen here, else that of the system. Not a module, which would run later.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("ngramdb.theme");
  } catch {
    // Storage may be forbidden.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
