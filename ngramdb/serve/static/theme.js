// Set the chosen theme before the first paint. This is not a module, which would run too late.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("ngramdb.theme");
  } catch {
    // Storage may be disabled.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
